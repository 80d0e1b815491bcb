"""Which NPUs do the same at the same time: classes of NPUs, by colour refinement.

NPUs begin with a colour each: their stage, how much slower they compute, and whatever else the caller says that
distinguishes them. Two of one colour are told apart if the colours of their peers differ on any slice of any group,
so on until no round tells any more apart: the coarsest equitable partition (McKay, "Practical graph isomorphism",
1981). Then all NPUs of a class meet NPUs of the same classes everywhere, so one of them speaks for all. Where nothing
but the stage distinguishes NPUs the classes are the stages, and nothing is done per NPU.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simcore.design.design import Design
from simcore.system.placement import GroupSlice, Placement

Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]


@dataclass(frozen=True)
class Classes:
    """The classes of the NPUs of one job, numbered by stage and then by their first NPU."""

    design: Design
    placement: Placement
    stages: tuple[int, ...]
    """The stage of each class; of groups side by side, the number of the group."""
    slowdowns: tuple[float, ...]
    """How many times as long as the data sheet says the NPUs of each class compute."""
    representatives: tuple[int, ...]
    """The first NPU of each class."""
    sizes: tuple[int, ...]
    """How many NPUs each class has."""
    refined: Ints | None = None
    """The class of each NPU, `[npus]`; None where it is its stage."""

    @cached_property
    def numbers(self) -> Ints:
        """The class of each NPU, `[npus]`."""
        return self.stage_numbers if self.refined is None else self.refined

    @cached_property
    def stage_numbers(self) -> Ints:
        """The stage of each NPU, or the number of its group, `[npus]`."""
        return _stages(self.design, self.placement, np.arange(self.design.cluster.npus))

    @cached_property
    def simple(self) -> bool:
        """Whether no NPU meets one of another class: the classes are the stages."""
        return self.refined is None

    def meeting(self, its: int, group: str, dimension: int | None) -> tuple[int, ...]:
        """The classes that peers of class `its` belong to, itself among them, in ascending order.

        Peers are the members of its group that differ in one dimension alone, or, without a dimension, all members.
        """
        if self.simple:
            return (its,)
        slices = self.placement[group]
        chosen = slices if dimension is None else [where for where in slices if where.dimension == dimension]
        npus = np.array([self.representatives[its]])
        for where in chosen:
            npus = _peers(self.design, self.placement, npus, where, group)
        return tuple(np.unique(self.numbers[npus]).tolist())

    @cached_property
    def receivers(self) -> Ints:
        """The class that gets what each class sends to each stage, `[classes, stages]`."""
        stages = max(self.stages) + 1
        if self.simple:
            return np.tile(np.arange(stages), (len(self.stages), 1))
        targets = _at_stage(self.design, self.placement, np.array(self.representatives), np.arange(stages))
        return self.numbers[targets]


def find_classes(design: Design, placement: Placement, colours: Ints | None = None) -> Classes:
    """The classes of a design's NPUs.

    `colours` `[npus]` distinguishes NPUs beside their stages and how fast they compute. The placement is that of one
    job, or groups side by side (`WorkloadKind.groups`).
    """
    stages = _count_stages(placement)
    if colours is None and not design.cluster.stragglers:
        firsts = _first_of_stages(design, placement, stages)
        sizes = _stage_sizes(design, placement, stages)
        return Classes(design, placement, tuple(range(stages)), (1.0,) * stages, firsts, sizes)
    npus = design.cluster.npus
    slowdowns = np.ones(npus)
    for straggler in design.cluster.stragglers:
        slowdowns[straggler.npu] = straggler.slowdown
    of_stage = _stages(design, placement, np.arange(npus))
    first = [of_stage, np.unique(slowdowns, return_inverse=True)[1]]
    if colours is not None:
        first.append(np.unique(colours, return_inverse=True)[1])
    refined = _refine(_number(np.stack(first)), _rows(design, placement))
    found, counts = np.unique(refined, return_index=True, return_counts=True)[1:]
    order = np.lexsort((found, of_stage[found]))
    found, counts = found[order], counts[order]
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return Classes(
        design,
        placement,
        tuple(of_stage[found].tolist()),
        tuple(slowdowns[found].tolist()),
        tuple(found.tolist()),
        tuple(counts.tolist()),
        rank[refined],
    )


def _are_side_by_side(placement: Placement) -> bool:
    """Whether the groups of a placement follow one another on the innermost dimension."""
    return "pipeline" not in placement and "group 0" in placement


def _count_stages(placement: Placement) -> int:
    if _are_side_by_side(placement):
        return len(placement)
    return math.prod(where.part.members for where in placement.get("pipeline", ()))


def _strides(design: Design) -> list[int]:
    """How far apart in number two neighbours of each dimension are."""
    return [math.prod(d.size for d in design.cluster.dimensions[:i]) for i in range(len(design.cluster.dimensions))]


def _starts(placement: Placement) -> Ints:
    """Where each of the groups side by side begins on the innermost dimension, and where the last one ends."""
    return np.cumsum([0, *(slices[0].part.members for slices in placement.values())])


def _ranks(design: Design, npus: Ints, where: GroupSlice) -> Ints:
    """The rank of each NPU among its peers on a slice."""
    part = where.part
    return npus // _strides(design)[where.dimension] % part.size // part.stride % part.members


def _stages(design: Design, placement: Placement, npus: Ints) -> Ints:
    """The stage of each NPU; of groups side by side, the number of its group."""
    if _are_side_by_side(placement):
        return np.searchsorted(_starts(placement), npus % design.cluster.dimensions[0].size, side="right") - 1
    stages, weight = np.zeros_like(npus), 1
    for where in placement.get("pipeline", ()):
        stages += weight * _ranks(design, npus, where)
        weight *= where.part.members
    return stages


def _at_stage(design: Design, placement: Placement, npus: Ints, stages: Ints) -> Ints:
    """The NPU that each NPU sends to if it sends to each stage, `[npus, stages]`."""
    targets, left, strides = np.repeat(npus[:, None], len(stages), axis=1), stages, _strides(design)
    for where in placement.get("pipeline", ()):
        left, rank = np.divmod(left, where.part.members)
        apart = rank[None, :] - _ranks(design, npus, where)[:, None]
        targets = targets + apart * strides[where.dimension] * where.part.stride
    return targets


def _first_of_stages(design: Design, placement: Placement, stages: int) -> tuple[int, ...]:
    """The first NPU of each stage."""
    if _are_side_by_side(placement):
        return tuple(_starts(placement)[:-1].tolist())
    return tuple(_at_stage(design, placement, np.zeros(1, np.int64), np.arange(stages))[0].tolist())


def _stage_sizes(design: Design, placement: Placement, stages: int) -> tuple[int, ...]:
    if _are_side_by_side(placement):
        others = design.cluster.npus // design.cluster.dimensions[0].size
        return tuple(others * slices[0].part.members for slices in placement.values())
    return (design.cluster.npus // stages,) * stages


def _peers(design: Design, placement: Placement, npus: Ints, where: GroupSlice, group: str) -> Ints:
    """The peers of each of several NPUs on a slice, in one array."""
    stride = _strides(design)[where.dimension]
    if _are_side_by_side(placement):
        number = list(placement).index(group)
        places = np.arange(*_starts(placement)[number : number + 2])
        return (npus[:, None] - npus[:, None] % design.cluster.dimensions[0].size + places).reshape(-1)
    step = stride * where.part.stride
    firsts = npus - _ranks(design, npus, where) * step
    return (firsts[:, None] + step * np.arange(where.part.members)).reshape(-1)


def _rows(design: Design, placement: Placement) -> list[Ints]:
    """For each different slice of the groups, the number of the row of peers that each NPU is in there, `[npus]`."""
    npus = np.arange(design.cluster.npus)
    if _are_side_by_side(placement):
        size = design.cluster.dimensions[0].size
        return [npus // size * len(placement) + _stages(design, placement, npus)]
    strides = _strides(design)
    slices = {(where.dimension, where.part): where for taken in placement.values() for where in taken}
    return [
        npus - _ranks(design, npus, where) * strides[where.dimension] * where.part.stride for where in slices.values()
    ]


def _refine(colours: Ints, rows: Sequence[Ints]) -> Ints:
    """The coarsest partition within `colours` whose NPUs have peers of the same classes in each of their `rows`.

    The colours of a row are compared by the sum of 64-bit hashes.
    """
    count = int(colours.max()) + 1
    while True:
        keys = _mix(colours.astype(np.uint64))
        for number, row in enumerate(rows, 1):
            sums = np.zeros(colours.size, np.uint64)
            np.add.at(sums, row, _mix(colours.astype(np.uint64)))
            keys = _mix(keys + np.uint64(number) * sums[row])
        refined = np.unique(keys, return_inverse=True)[1].astype(np.int64)
        if int(refined.max()) + 1 == count:
            return colours
        colours, count = refined, int(refined.max()) + 1


def _mix(values: Hashes) -> Hashes:
    """Numbers that look random, different ones for different values (splitmix64: Steele et al., OOPSLA 2014)."""
    mixed = values + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _number(properties: Ints) -> Ints:
    """A number for each different column of `properties` `[properties, npus]`."""
    return np.unique(properties, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)
