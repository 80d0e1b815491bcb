"""Fully connected: n - 1 links of B / (n - 1), one to each other NPU of the dimension.

An algorithm that talks to one peer at a time uses one link; a group that takes part of the dimension uses only the
links inside the group. A library whose collectives have channels (NCCL) lays a ring for each channel, in an order of
its own (src/graph/search.cc of NCCL): together they use all links inside the group alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, assert_never

import numpy as np
from numpy.typing import NDArray

from simcore.network.base import Block, Seen
from simcore.network.cycles import both_ways
from simcore.network.pattern import Chain, Exchange, Pattern, Send, Shift, Spread, StepCost, Tree
from simcore.network.tree import shared_edges
from simcore.network.wiring import Link, Route, Shape, Slice


@dataclass(frozen=True)
class FullyConnected(Block):
    """A dedicated link between each two NPUs."""

    channels: bool = False
    """Whether rings go round in several orders at once."""

    keys: ClassVar[tuple[str, ...]] = ("channels",)
    short = "FC"
    shares = False
    takes_any_groups = True

    @classmethod
    def default_algorithm(cls, size: int) -> str:
        """See `Block.default_algorithm`: every peer is a neighbour."""
        return "direct"

    def step(self, pattern: Pattern, part: Slice) -> StepCost:
        """See `Block.step`."""
        links, n = part.size - 1, part.members
        ways = self._ways(part)
        split = ((1.0, 1 / ways),)
        match pattern:
            case Shift(steps):
                return StepCost(steps * links / ways, steps, split)
            case Exchange() | Send():
                return StepCost(links, 1)
            case Spread(window):
                rounds = -(-(n - 1) // window) if window else 1
                return StepCost(rounds * links, rounds)
            case Tree(depth):
                # As at a switch's port, but at the bandwidth of one link: a member talks to one peer at a time.
                return StepCost(2 * links, 2 * depth)
            case Chain(pieces):
                return StepCost((pieces + n - 2) * links / ways, n - 1, split)
            case _:
                assert_never(pattern)

    def seen_from(self, size: int, places: Sequence[int]) -> Seen:
        """See `Block.seen_from`: its links to others' NPUs are of no use to it."""
        return Seen(bandwidth=max(1, len(places) - 1) / (size - 1))

    def carried(self, pattern: Pattern, part: Slice) -> NDArray[np.float64]:
        """See `Block.carried`: the links from the first member to the 1st, 2nd, … other one."""
        links, n = float(part.size - 1), part.members
        loads, ways = np.zeros(n - 1), self._ways(part)
        match pattern:
            case Shift(steps):
                loads[:ways] = steps * links / ways
            case Exchange(distance) | Send(distance):
                loads[distance - 1] = links
            case Spread():
                loads[:] = links
            case Tree():  # of its edges the one with most to pass, half of the buffer for each tree, wherever it is
                loads[:] = shared_edges(n) / 2 * links
            case Chain(pieces):
                loads[:ways] = pieces * links / ways
            case _:
                assert_never(pattern)
        return loads

    def shape(self, part: Slice) -> Shape:
        """See `Block.shape`."""
        return Shape("star", part.members, _orders(part.members) if self._ways(part) > 1 else ())

    def wiring(self, part: Slice) -> tuple[Link, ...]:
        """See `Block.wiring`: link i (n - 1) + k leads from i to the k-th other member."""
        n = part.members
        rate = 1 / (part.size - 1)
        return tuple(Link(i, j, rate, 1) for i in range(n) for j in range(n) if i != j)

    def routes(self, part: Slice, source: int, target: int) -> tuple[Route, ...]:
        """See `Block.routes`."""
        return ((source * (part.members - 1) + target - (target > source),),)

    def _ways(self, part: Slice) -> int:
        """Links of each member that a ring's messages are split over."""
        return part.members - 1 if self.channels else 1


@lru_cache(maxsize=64)
def _orders(members: int) -> tuple[tuple[int, ...], ...]:
    """Cycles through all members that use each link between two of them alike: once, of an even number twice.

    The last member, then the others in a zigzag (0, 1, -1, 2, -2, … modulo their number), which begins at each of them
    in turn; of an even number of members in either direction (Walecki's construction: Lucas 1892; Alspach 2008).
    """
    others = members - 1
    zigzag = [(place + 1) // 2 * (1 if place % 2 else -1) for place in range(others)]
    turned = tuple((others, *((first + place) % others for place in zigzag)) for first in range(others))
    return turned if members % 2 else both_ways(turned)
