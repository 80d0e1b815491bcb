"""The phases of a chunk over several dimensions: scattered from one to the next and gathered back, or by one tree.

Along an order of dimensions a chunk is reduce-scattered, its bytes shrinking, and gathered back in the opposite order.
Where switches reduce on all dimensions that follow one another, one tree goes over them all (NCCL: NVLS with CollNet):
each NPU sends the whole chunk of S bytes into it once and receives the sum, and of what a dimension joins one sum goes
on to the next. The NPUs share the links by which it leaves, so that each carries S over the number of NPUs below. Where
only inner dimensions reduce (NCCL: NVLSTree), their switches do the halves of the all-reduce around what lies further
out (`simcore.system.phase_cost`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from simcore.design.design import Design
from simcore.system.placement import GroupSlice

P_co = TypeVar("P_co", covariant=True)


class PhaseMaker(Protocol[P_co]):
    """What knows the phases of one dimension."""

    @property
    def design(self) -> Design:
        """Whose `system.reduction` counts."""
        ...

    def phase(
        self,
        kind: str,
        where: GroupSlice,
        size: float,
        entering: float,
        of_two: bool = False,
        ring_steps: int | None = None,
    ) -> P_co:
        """A phase with a buffer of `size` [B] whose chunk enters with `entering` [B].

        `of_two`: it is the reduce-scatter or the all-gather of an all-reduce. `ring_steps`: steps to a neighbour that a
        ring over more than this slice takes on it; those of the dimension's algorithm unless given.
        """
        ...

    def has_tree(self, where: GroupSlice) -> bool:
        """Whether the switches of a dimension add up and copy for a group."""
        ...


def goes_by_tree(maker: PhaseMaker[P_co], kind: str, group: Sequence[GroupSlice]) -> bool:
    """Whether one tree over all dimensions of a group does all of a collective."""
    able = kind in ("all_reduce", "broadcast") and bool(group) and all(map(maker.has_tree, group))
    return able and maker.design.system.reduction == "tree"


def tree_phases(maker: PhaseMaker[P_co], kind: str, group: Sequence[GroupSlice], size: float) -> list[P_co]:
    """The phases of a chunk of `size` [B] by a tree over dimensions, one for what goes up and down on each of them."""
    phases = []
    for where in group:
        phases.append(maker.phase(kind, where, size, size))
        size /= where.part.members
    return phases


def _turn(maker: PhaseMaker[P_co], order: Sequence[GroupSlice]) -> list[GroupSlice]:
    """Where an all-reduce along `order` turns round: on the last dimension, or the last ones by a tree."""
    first = len(order) - 1
    while maker.design.system.reduction == "tree" and first and all(map(maker.has_tree, order[first - 1 :])):
        first -= 1
    return sorted(order[first:], key=lambda where: where.dimension)


def phases_in_order(
    maker: PhaseMaker[P_co],
    kind: str,
    order: Sequence[GroupSlice],
    size: float,
    merge: bool,
    known: dict[tuple[int, float], tuple[P_co | None, P_co | None]] | None = None,
) -> list[P_co]:
    """Phases of a chunk of `size` [B] (what it is when whole) that scatters along `order` and gathers back.

    `merge`: where an all-reduce turns round it is one phase a dimension, not two. `known` keeps the phases for other
    orders of the same collective, by dimension and size.
    """
    turn = _turn(maker, order) if merge and kind == "all_reduce" else []
    known = {} if known is None else known
    path: list[P_co] = []
    gather: list[P_co] = []
    of_two = kind == "all_reduce"
    for where in order[: len(order) - len(turn)]:
        members, place = where.part.members, (where.dimension, size)
        if place not in known:
            known[place] = (
                None if kind == "all_gather" else maker.phase("reduce_scatter", where, size, size, of_two),
                None if kind == "reduce_scatter" else maker.phase("all_gather", where, size, size / members, of_two),
            )
        there, back = known[place]
        if there is not None:
            path.append(there)
        if back is not None:
            gather.append(back)
        size /= members
    return [*path, *tree_phases(maker, kind, turn, size), *reversed(gather)]
