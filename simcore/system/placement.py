"""Which part of which dimension each parallel group takes.

Groups take dimensions innermost first, in the order of `cluster.placement` (`WorkloadKind.degrees`). A group that
takes a factor of a dimension is contiguous; the next group on that dimension has stride of what lies inside. Sizes must
divide: a degree that does not fit into what is left of a dimension, and does not fill it, is a problem that names both
sizes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from typing import NamedTuple

from simcore.design.degrees import views_of
from simcore.design.design import Design
from simcore.design.dimension import block_of
from simcore.design.once import once
from simcore.document.problem import Problem
from simcore.network import Slice
from simcore.workload.base import kind_of


class GroupSlice(NamedTuple):
    """What a group takes of dimension `dimension`."""

    dimension: int
    part: Slice
    crosses: bool = False
    """Whether the group has several NPUs of what lies further in, but not all: its rings enter and leave by different
    ones, which in a node of few NICs have different NICs (see `Dimension.affinity`)."""


Placement = dict[str, tuple[GroupSlice, ...]]


@once
def place(design: Design) -> tuple[Placement, list[Problem]]:
    """The slices of every group, and the problems that keep the degrees from filling the dimensions."""
    kind = kind_of(design.workload)
    groups = kind.groups(design.workload)
    if groups is not None:
        return _side_by_side(groups, design.cluster.dimensions[0].size), []
    sizes = [dimension.size for dimension in design.cluster.dimensions]
    if (placed := kind.placement(design)) is not None:
        own = {group: tuple(GroupSlice(*part) for part in parts) for group, parts in placed.items()}
        return {group: _mark_crossing(its, sizes) for group, its in own.items()}, []
    degrees = kind.degrees(design)
    slices: Placement = {}
    problems: list[Problem] = []
    dimension, stride = 0, 1
    for group, degree in degrees.items():
        left, taken = degree, []
        while left > 1 and dimension < len(sizes):
            room = sizes[dimension] // stride
            if room == 1:
                dimension, stride = dimension + 1, 1
                continue
            members = min(left, room)
            if left % members or room % members:
                problems.append(_uneven_problem(group, degree, left, dimension, sizes[dimension], room))
                break
            taken.append(GroupSlice(dimension, Slice(sizes[dimension], members, stride)))
            left //= members
            stride *= members
        slices[group] = tuple(taken)
    if not problems and degrees.get("data"):
        problems += _add_derived_groups(design, slices)
        problems += _add_groups_of_layers(design, slices)
    for name, (group, members) in kind.inner_groups(design).items() if not problems else ():
        slices[name], _ = _split_slices(group, members, slices[group], problems)
    slices |= {name: slices[group] for name, group in kind.same_group.items()}
    return {group: _mark_crossing(taken, sizes) for group, taken in slices.items()}, problems


def stages_between(design: Design, placement: Placement, where: GroupSlice) -> int:
    """How many stages have NPUs between the members of a group, on links that they share; 1 where only its own does.

    A phase takes as long as if all of them did the same at once. Where a library passes over memory, too, it always
    does.
    """
    dimension = design.cluster.dimensions[where.dimension]
    taken = [other.part for other in placement.get("pipeline", ()) if other.dimension == where.dimension]
    library = design.library_of(dimension)
    if not taken or not block_of(dimension).shares or (library is not None and library.adds):
        return 1
    return taken[0].members if taken[0].stride < where.part.stride else 1


def find_crossing(design: Design) -> Iterator[tuple[str, int]]:
    """Each group, and dimension, whose collectives `Dimension.affinity` slows down."""
    for group, slices in place(design)[0].items():
        for where in slices:
            if where.crosses and design.cluster.dimensions[where.dimension].affinity < 1.0:
                yield group, where.dimension


def _mark_crossing(slices: tuple[GroupSlice, ...], sizes: Sequence[int]) -> tuple[GroupSlice, ...]:
    """The slices of a group, innermost first, each with whether it crosses."""
    out, members = [], 1
    for where in slices:
        crosses = 1 < members < math.prod(sizes[: where.dimension])
        out.append(GroupSlice(where.dimension, where.part, crosses))
        members *= where.part.members
    return tuple(out)


def _add_derived_groups(design: Design, slices: Placement) -> list[Problem]:
    """Add the groups that reuse the ranks of data and context.

    Expert parallelism takes the innermost NPUs of data x context (`expert`, the rest is `expert_data`), and so does a
    shard group (`shard`, of an expert's copies `expert_shard`; the rest is `replica`). All together are `data_context`.
    Experts that are cut over a part of the tensor group alone (`expert_tensor`) take the innermost of tensor x context
    x data.
    """
    p = design.parallelism
    if p.context == 1 and p.expert == 1 and p.shard_group is None and not p.folded:
        return []
    problems: list[Problem] = []
    joined = _side_by_side_groups(design, slices, ("context", "data"), problems)
    around = _side_by_side_groups(design, slices, ("tensor", "context", "data"), problems) if p.folded else joined
    if problems:
        return problems[:1]
    slices["data_context"] = joined
    shards, whole = p.shard_group or design.copies, p.tensor * design.copies
    if whole % p.expert_npus or design.copies % shards or shards * p.tensor % p.expert_npus or p.tensor % p.folds:
        return []  # said by the check of the degrees themselves
    if p.folded:
        slices["expert_tensor"], around = _split_slices("expert_tensor", p.folds, around, problems)
    slices["expert"], slices["expert_data"] = _split_slices("expert", p.expert, around, problems)
    if p.shard_group is not None:
        slices["shard"], slices["replica"] = _split_slices("shard_group", shards, joined, problems)
        few = design.expert_sharding_npus
        slices["expert_shard"], _ = _split_slices("shard_group", few, slices["expert_data"], problems)
    return problems[:1]


def _add_groups_of_layers(design: Design, slices: Placement) -> list[Problem]:
    """Add the groups of layers with degrees of their own: their tensor group is the innermost of tensor x data.

    And those between tensor groups of two sizes (`simcore.workload.transformer.ways`).
    """
    section, problems = design.parallelism.degrees, list[Problem]()
    views = views_of(design)
    sizes = sorted({section.tensor, *(degrees.tensor for degrees in views)})
    if any(larger % smaller for smaller, larger in pairwise(sizes)) or not all(view.data for view in views.values()):
        return []  # said by the check of the degrees themselves
    joined = _side_by_side_groups(design, slices, ("tensor", "data"), problems) if len(sizes) > 1 else ()
    for degrees, view in views.items():
        own = {group: slices[group] for group in ("tensor", "context", "data")}
        if degrees.tensor != section.tensor:
            own["tensor"], own["data"] = _split_slices("tensor", degrees.tensor, joined, problems)
        problems += [] if problems else _add_derived_groups(view, own)
        slices |= {degrees.name_group(group, section): its for group, its in own.items()}
    for one, other in combinations(sizes, 2):
        _, outside = _split_slices("tensor", one, joined, problems)
        slices[f"reshard {one}-{other}"], _ = _split_slices("tensor", other // one, outside, problems)
    return [replace(problem, path=("parallelism", "layers")) for problem in problems[:1]]


_WHY = {
    ("context", "data"): "gradients are reduced over both",
    ("tensor", "context", "data"): "expert parallelism takes NPUs of all three",
    ("tensor", "data"): "layers with another tensor degree take NPUs of both",
}


def _side_by_side_groups(
    design: Design, slices: Placement, groups: tuple[str, ...], problems: list[Problem]
) -> tuple[GroupSlice, ...]:
    """The slices of several groups as those of one; a problem where others lie between them on a dimension."""
    order = [group for group in design.cluster.placement if group in groups]
    joined = _join_slices([where for group in order for where in slices[group]])
    twice = {where.dimension for where in joined if [w.dimension for w in joined].count(where.dimension) > 1}
    if twice:
        names = " and ".join((", ".join(groups[:-1]), groups[-1]))
        problems.append(
            Problem(
                ("cluster", "placement"),
                f"{names} side by side where {'both' if len(groups) == 2 else 'they'} are on "
                f"cluster.dimensions[{min(twice)}]",
                ", ".join(design.cluster.placement),
                f"write them next to each other: {_WHY[groups]}",
                rule=f"{groups[0]} beside data",
            )
        )
    return joined


Slices = tuple[GroupSlice, ...]


def _split_slices(name: str, degree: int, slices: Slices, problems: list[Problem]) -> tuple[Slices, Slices]:
    """The innermost `degree` NPUs of a group, and the rest of it; a problem where they do not fit its dimensions."""
    inner, outer, left = [], [], degree
    for where in slices:
        part = where.part
        taken = math.gcd(left, part.members)
        if left > 1 and taken < min(left, part.members):
            problems.append(_uneven_problem(name, degree, left, where.dimension, part.size, part.members))
            return (), ()
        left //= taken
        if taken > 1:
            inner.append(GroupSlice(where.dimension, Slice(part.size, taken, part.stride)))
        if taken < part.members:
            outer.append(GroupSlice(where.dimension, Slice(part.size, part.members // taken, part.stride * taken)))
    return tuple(inner), tuple(outer)


def _join_slices(slices: list[GroupSlice]) -> tuple[GroupSlice, ...]:
    """Slices of one dimension that follow each other without a gap as one."""
    out: list[GroupSlice] = []
    for where in slices:
        part = where.part
        if out and out[-1].dimension == where.dimension:
            before = out[-1].part
            if before.stride * before.members == part.stride:
                out[-1] = GroupSlice(where.dimension, Slice(part.size, before.members * part.members, before.stride))
                continue
        out.append(where)
    return tuple(out)


def _uneven_problem(group: str, degree: int, left: int, dimension: int, size: int, room: int) -> Problem:
    what = f"{degree}" if left == degree else f"{degree} (of which {left} are left)"
    inside = f"{room} free of its {size}" if room != size else f"{size}"
    return Problem(
        ("parallelism", group),
        f"a degree that fills or divides cluster.dimensions[{dimension}] ({inside} NPUs)",
        what,
        "choose sizes that divide each other, or another placement",
        rule=f"{group} on dimension {dimension}",
    )


def _side_by_side(groups: Sequence[int], size: int) -> Placement:
    """Groups that follow one another on the innermost dimension, of `size` NPUs, each for itself."""
    return {f"group {i}": (GroupSlice(0, Slice(size, members, 1)),) for i, members in enumerate(groups)}
