"""A two-level fat tree: leaf switches of `leaf` NPUs each, joined by spines, oversubscribed `oversubscription` : 1.

Every NPU has one port of bandwidth B at its leaf, and its share B / k of the leaf's links to and from the spines.
A message inside a leaf passes at B and is one step; one that leaves the leaf passes at B / k and is two steps, up to a
spine and down. An NPU sends one message at a time, each at the rate of its way.

Where the members of a group are spread over several leaves, and k > 1, a Shift mixes fast and slow hops. The closed
form charges every step of it at the slow rate; messages that wait for nothing on fast hops do a little better.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from simcore.network.base import Block, Seen, seen_by_switches
from simcore.network.from_links import loads_from_links
from simcore.network.pattern import Chain, Exchange, Pattern, Send, Shift, Spread, StepCost, Tree
from simcore.network.reduction import Level, Rung, SwitchTree
from simcore.network.wiring import Link, Route, Shape, Slice

_ALL_BUSY = 8
"""With so many members some NPU is inside one tree, with two children and a parent, and a leaf of the other."""


class FatTree(Block):
    """See the module."""

    switched = True
    shares = False
    leaves = True
    reduces = True

    @property
    def slowed(self) -> float:
        """See `Block.slowed`: not at all, since `wiring` says which messages are."""
        return 1.0

    @property
    def levels(self) -> float:
        """See `Block.levels`: the second one is thinned by the oversubscription."""
        return 1.0 + 1.0 / self.oversubscription

    def needs(self, part: Slice) -> str | None:
        """See `Block.needs`: members must be spread over the leaves alike."""
        span = part.stride * part.members
        alike = all(one % self.leaf == 0 or self.leaf % one == 0 for one in (part.stride, span))
        return None if alike else "leaves that groups fill or divide"

    def members_on_leaf(self, part: Slice) -> int:
        """Members of a group that share a leaf."""
        return max(1, min(part.members, self.leaf // part.stride))

    def step(self, pattern: Pattern, part: Slice) -> StepCost:
        """See `Block.step`."""
        n, near = part.members, self.members_on_leaf(part)
        leaves = n // near
        slow = self.oversubscription if leaves > 1 else 1.0
        far = 2 if leaves > 1 else 1
        match pattern:
            case Shift(steps):
                crossings = min(steps, leaves) if leaves > 1 else 0
                return StepCost(steps * slow, steps + crossings)
            case Exchange(distance) | Send(distance):
                return StepCost(slow, far) if distance >= near else self._leaf_cost()
            case Spread(window):
                rounds = self._count_hops(n, near, window)
                return StepCost(near - 1 + (n - near) * slow, rounds)
            case Tree(depth) if leaves == 1:
                # Inner node of one tree, leaf of the other: 3/2 + 1/2 of the buffer leave each port.
                return StepCost(2.0, 2 * depth)
            case Tree():
                cost = super().step(pattern, part)
                return StepCost(max(2.0, cost.load), cost.hops)
            case Chain(pieces):
                crossings = leaves - 1
                along = n - 1 - crossings + crossings * slow
                return StepCost(along + (pieces - 1) * slow, n - 1 + crossings)
            case _:
                assert_never(pattern)

    def carried(self, pattern: Pattern, part: Slice) -> NDArray[np.float64]:
        """See `Block.carried`: an NPU's port, and its share of the links to the spines."""
        n, near = part.members, self.members_on_leaf(part)
        slow = self.oversubscription if n > near else 0.0
        match pattern:
            case Shift(steps):
                return np.array([steps, steps * slow])
            case Exchange(distance) | Send(distance):
                return np.array([1.0, slow if distance >= near else 0.0])
            case Spread():
                return np.array([n - 1, (n - near) * slow])
            case Tree() if n == near >= _ALL_BUSY:
                return np.array([2.0, 0.0])
            case Tree():
                loads = loads_from_links(pattern, self, part).reshape(n, 4)
                return np.array([loads[:, :2].max(), loads[:, 2:].max()])
            case Chain(pieces):
                return np.array([pieces, pieces * slow], float)
            case _:
                assert_never(pattern)

    def _leaf_cost(self) -> StepCost:
        return StepCost(1.0, 1)

    def _count_hops(self, n: int, near: int, window: int) -> int:
        """Hops of a Spread: one or two a round, near peers first."""
        if not window:
            return 2 if near < n else 1
        ends = range(window, n - 1 + window, window)
        return sum(1 if min(end, n - 1) <= near - 1 else 2 for end in ends)

    def seen_from(self, size: int, places: Sequence[int]) -> Seen:
        """See `Block.seen_from`: leaves with those of its NPUs alone, each with its share of the uplinks."""
        return Seen({"leaf": seen_by_switches(self.leaf, places, "leaves")})

    def shape(self, part: Slice) -> Shape:
        """See `Block.shape`."""
        return Shape("star", self.members_on_leaf(part))

    def wiring(self, part: Slice) -> tuple[Link, ...]:
        """See `Block.wiring`: of each NPU, its port to and from the leaf, its share of the links to and from a spine.

        Nodes n … are the leaves, then one spine for each place in a leaf. Latency counts at the end of a way down.
        """
        n, near = part.members, self.members_on_leaf(part)
        leaves, slow = n // near, 1 / self.oversubscription
        links: list[Link] = []
        for i in range(n):
            leaf, spine = n + i // near, n + leaves + i % near
            links += [Link(i, leaf, 1.0, 0), Link(leaf, i, 1.0, 1)]
            links += [Link(leaf, spine, slow, 0), Link(spine, leaf, slow, 1)]
        return tuple(links)

    def routes(self, part: Slice, source: int, target: int) -> tuple[Route, ...]:
        """See `Block.routes`: across leaves by the sender's own share upwards and the receiver's downwards."""
        near = self.members_on_leaf(part)
        if source // near == target // near:
            return ((4 * source, 4 * target + 1),)
        return ((4 * source, 4 * source + 2, 4 * target + 3, 4 * target + 1),)

    def tree(self, part: Slice) -> SwitchTree:
        """See `Block.tree`: a leaf passes its sum on over the shares of its members, each to a spine of its own."""
        near, leaves = self.members_on_leaf(part), part.size // self.leaf
        crossed = part.members // near
        levels = (Level(1, 1.0, 1), Level(near, 1 / self.oversubscription, near))[: 1 if crossed == 1 else 2]
        spines = leaves // crossed if crossed > 1 else 0
        return SwitchTree(levels, max(self.leaf // near, spines))

    def ladder(self, part: Slice, node: int) -> tuple[Rung, ...]:
        """See `Block.ladder`."""
        first = 4 * node
        leaf = node // self.members_on_leaf(part)
        return Rung((first,), (first + 1,), leaf), Rung((first + 2,), (first + 3,), 0)
