"""Who is where: the coordinates of every NPU, its stage, and with whom it shares each dimension of each group.

NPUs are numbered innermost dimension first. Of a group that takes `members` NPUs `stride` apart of a dimension, an
NPU's peers are those that differ from it in that digit alone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from simcore.design.design import Design
from simcore.system.placement import GroupSlice, Placement


@dataclass(frozen=True)
class NpuGroups:
    """The NPUs of a design and the groups they form."""

    design: Design
    placement: Placement
    known_peers: dict[tuple[int, str, int], tuple[int, ...]] = field(default_factory=dict)

    @property
    def strides(self) -> tuple[int, ...]:
        """See `Cluster.strides`."""
        return self.design.cluster.strides

    def slice_rank(self, npu: int, where: GroupSlice) -> int:
        """Rank of an NPU among its peers on a slice."""
        coordinate = npu // self.strides[where.dimension] % where.part.size
        return coordinate // where.part.stride % where.part.members

    def rank(self, npu: int, group: str) -> int:
        """Rank of an NPU in its group."""
        rank, weight = 0, 1
        for where in self.placement[group]:
            rank += self.slice_rank(npu, where) * weight
            weight *= where.part.members
        return rank

    def npu_at(self, npu: int, group: str, rank: int) -> int:
        """The NPU that has `rank` in the group of `npu`."""
        for where in self.placement[group]:
            target, rank = rank % where.part.members, rank // where.part.members
            step = self.strides[where.dimension] * where.part.stride
            npu += (target - self.slice_rank(npu, where)) * step
        return npu

    def peers(self, npu: int, where: GroupSlice) -> tuple[int, ...]:
        """The NPUs of a slice that has `npu`, in rank order."""
        step = self.strides[where.dimension] * where.part.stride
        first = npu - self.slice_rank(npu, where) * step
        return tuple(first + step * i for i in range(where.part.members))

    def peers_on(self, npu: int, group: str, dimension: int) -> tuple[int, ...]:
        """The members of the group of `npu` that differ from it in one dimension alone, in rank order."""
        key = npu, group, dimension
        if key not in self.known_peers:
            self.known_peers[key] = self.peers(npu, self.slice_of(group, dimension))
        return self.known_peers[key]

    def members(self, npu: int, group: str) -> tuple[int, ...]:
        """All members of the group of `npu`, in an order in which neighbours differ in one dimension by one place."""
        members: list[int] = [npu]
        for where in self.placement[group]:
            rows = [self.peers(member, where) for member in members]
            members = [row[i] for i in range(where.part.members) for row in (rows if i % 2 == 0 else rows[::-1])]
        return tuple(members)

    def slice_of(self, group: str, dimension: int) -> GroupSlice:
        """What a group takes of a dimension."""
        return next(where for where in self.placement[group] if where.dimension == dimension)


@dataclass(frozen=True)
class GivenGroups(NpuGroups):
    """NPUs in groups side by side (`WorkloadKind.groups`), which may be unequal."""

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where each group begins on the innermost dimension."""
        sizes = [slices[0].part.members for slices in self.placement.values()]
        return tuple(accumulate(sizes, initial=0))[:-1]

    def _locate_npu(self, npu: int) -> tuple[int, int]:
        """Number of the group of an NPU, and its rank there."""
        place = npu % self.design.cluster.dimensions[0].size
        number = bisect_right(self.starts, place) - 1
        return number, place - self.starts[number]

    def group_of(self, npu: int) -> str:
        """The group of an NPU."""
        return tuple(self.placement)[self._locate_npu(npu)[0]]

    def slice_rank(self, npu: int, where: GroupSlice) -> int:
        """See `NpuGroups.slice_rank`."""
        return self._locate_npu(npu)[1]


def slowdowns(design: Design) -> Sequence[float]:
    """By how much each NPU's compute is slower than its data sheet."""
    factors = [1.0] * design.cluster.npus
    for straggler in design.cluster.stragglers:
        factors[straggler.npu] = straggler.slowdown
    return factors
