"""Blocks whose groups share links, and meet there in ways that depend on what they send.

A part of a ring or of a switch is a ring or a switch with a known share of the links. A part of a Clos, a torus or a
graph is not: groups of 4 under leaves of 8 share the uplinks, and how much of them each one gets depends on where its
messages go. `wiring` and `routes` of such a block are therefore those of the whole dimension, whatever the part, and
what a step costs is counted with all groups of the dimension doing the same at once. One alone may be faster; groups
that do different things are the matter of the flow engine.

A `routing` says which of the block's ways a message takes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from simcore.network.base import Block
from simcore.network.loads import loads_of
from simcore.network.pattern import Listed, Loads, Pattern, Spread, StepCost
from simcore.network.routing import ROUTINGS, Routing
from simcore.network.sent import Floats
from simcore.network.together import Rounds, cost_together
from simcore.network.wiring import Link, Route, Slice

MOST_COUNTED = 64
"""Members of a group whose messages from everybody to everybody are counted one by one."""


@dataclass(frozen=True)
class SharedBlock(Block):
    """See the module."""

    routing: str = ""
    """Empty: the block's usual one."""
    routing_seed: int = 0
    connections: int = 1
    """Ways that the messages between two NPUs are spread over, each by a hash of its own."""

    @property
    def slowed(self) -> float:
        """See `Block.slowed`: not at all, since `wiring` says which messages are."""
        return 1.0

    @property
    def routed(self) -> Routing:
        """Its routing."""
        return ROUTINGS[self.routing or self.routings[0]]

    @property
    def sprayed(self) -> bool:
        """See `Block.sprayed`."""
        return self.routed.everywhere

    @abstractmethod
    def links(self, size: int) -> tuple[Link, ...]:
        """All links of a dimension of `size` NPUs; nodes from `size` on are switches."""

    @abstractmethod
    def ways(self, size: int, source: int, target: int) -> Sequence[Route]:
        """The ways between two NPUs from which its routing chooses."""

    def rounds(self, part: Slice, window: int) -> Rounds | None:
        """What a Spread costs, where there is a closed form."""
        return None

    def step(self, pattern: Pattern, part: Slice) -> StepCost:
        """See `Block.step`: for all groups of the dimension at once."""
        return cost_together(pattern, self, part)

    def listed(self, pattern: Listed, part: Slice) -> tuple[StepCost, dict[int, Loads]]:
        """See `Block.listed`: for all groups of the dimension at once, of which the busiest link counts alone."""
        cost = cost_together(pattern, self, part)
        return cost, {0: cost.loads}

    def carried(self, pattern: Pattern, part: Slice) -> Floats:
        """See `Block.carried`: of each pool, where all groups of the dimension do the same at once."""
        rate = self.pools(part.size).rate
        if isinstance(pattern, Spread) and part.members > MOST_COUNTED:  # no other steps are in a phase with these
            return np.full(len(rate), self.step(pattern, part).load)
        return loads_of(self, pattern, part) / rate

    def wiring(self, part: Slice) -> tuple[Link, ...]:
        """See `Block.wiring`: all links of the dimension, which other groups use as well, at their full rates.

        NPUs of the first group come first among the nodes, then the other ones, then the switches.
        """
        return _wiring(self, part)

    def routes(self, part: Slice, source: int, target: int) -> tuple[Route, ...]:
        """See `Block.routes`: those of the first group."""
        return self.chosen(part.size, source * part.stride, target * part.stride)

    def chosen(self, size: int, source: int, target: int) -> tuple[Route, ...]:
        """The ways that messages between two NPUs of a dimension take.

        Of one that takes all ways the first part goes by the sender's own, so that senders side by side do not meet.
        """
        ways = self.ways(size, source, target)
        if self.routed.everywhere:
            return tuple(ways[(source + way) % len(ways)] for way in range(len(ways)))
        return tuple(ways[number] for number in self.picks(len(ways), source, target))

    def picks(self, ways: int, source: int, target: int) -> list[int]:
        """The numbers of the ways that the connections between two NPUs take."""
        count, begin, end = np.array([ways]), np.array([source]), np.array([target])
        return [int(self.routed.pick(count, begin, end, self.seed_of(c))[0]) for c in range(self.connections)]

    def seed_of(self, connection: int) -> int:
        """The seed of a connection's hash."""
        return self.routing_seed * 1_000_003 + connection


@lru_cache(maxsize=64)
def _wiring(block: SharedBlock, part: Slice) -> tuple[Link, ...]:
    links = block.links(part.size)
    if part.members == part.size:
        return links
    mine = range(0, part.members * part.stride, part.stride)
    others = sorted(set(range(part.size)) - set(mine))
    place = {node: number for number, node in enumerate([*mine, *others])}
    return tuple(
        link._replace(source=place.get(link.source, link.source), target=place.get(link.target, link.target))
        for link in links
    )
