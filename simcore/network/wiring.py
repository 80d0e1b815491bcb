"""The part of a dimension that a group takes, how its members are connected, and its links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, Protocol


class Slice(NamedTuple):
    """The part of a dimension that a group takes."""

    size: int
    members: int
    stride: int


class Shape(NamedTuple):
    """What an algorithm must know of the links between members to say who sends what to whom.

    `ring`: neighbours only, closed; `line`: neighbours only, open; `star`: everyone reaches everyone in one step, and
    the `leaf` members that follow one another from a multiple of `leaf` on are nearer to each other than to others.
    """

    kind: Literal["ring", "line", "star"]
    leaf: int = 0
    cycles: tuple[tuple[int, ...], ...] = ()
    """The orders in which a ring goes round the members of a star, each with an even share; else that of members.
    """

    def orders(self, members: int) -> Sequence[Sequence[int]]:
        """The orders in which rings go round the members at once; of a closed ring of neighbours, both ways round."""
        if self.kind == "ring" and members > 2:
            return range(members), range(members)[::-1]
        return self.cycles or (range(members),)

    def peers(self, member: int, members: int) -> Iterator[int]:
        """The others in the order in which `member` of a star sends to them: its leaf, then the leaves that follow."""
        leaf = self.leaf
        first, place = member - member % leaf, member % leaf
        for leaves in range(members // leaf):
            for places in range(leaf):
                if leaves or places:
                    yield (first + leaves * leaf) % members + (place + places) % leaf


class Link(NamedTuple):
    """A one-way link from node to node: nodes 0 … members - 1 are the NPUs, those above are switches."""

    source: int
    target: int
    rate: float
    """Its bandwidth, as a factor on the injection bandwidth B of an NPU."""
    hops: float
    """Its latency, in steps between neighbours."""


Route = tuple[int, ...]
"""Links by number, from the sender to the receiver."""


class Wired(Protocol):
    """What has links: a topology block."""

    def shape(self, part: Slice) -> Shape:
        """See `simcore.network.base.Block.shape`."""

    def wiring(self, part: Slice) -> tuple[Link, ...]:
        """See `simcore.network.base.Block.wiring`."""

    def routes(self, part: Slice, source: int, target: int) -> tuple[Route, ...]:
        """See `simcore.network.base.Block.routes`."""
