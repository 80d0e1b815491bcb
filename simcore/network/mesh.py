"""A mesh: a ring without its wrap link, two links of B / 2 per NPU (one at the ends), one to each neighbour.

Any group on it is a line. A group of stride s passes s - 1 foreign NPUs at each hop and shares every link with s - 1
other groups, so its messages take s hops at 1/s of the rate. How the patterns run on a line:

- Shift: a sweep from each end at once (from the left, what is meant for the members further right, farthest first), so
  that the first link passes n - 1 messages and the last one arrives after n - 1 hops;
- Exchange at distance d: d hops in step, each link passing one message a hop;
- Tree: the busiest link carries its trees' edges one after the other, the longest way goes up one tree and down again;
- Spread: n - 1 steps between neighbours, each of 1/(n - 1) of what the middle link has to carry, floor(n/2) ceil(n/2)
  messages; what has farthest to go leaves first, and everything is home after the last step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from simcore.network.base import Block, Seen
from simcore.network.pattern import Chain, Exchange, Pattern, Send, Shift, Spread, StepCost, Tree
from simcore.network.wiring import Link, Route, Shape, Slice


class Mesh(Block):
    """Neighbours only, in a row."""

    short = "Mesh"
    takes_any_groups = True

    def step(self, pattern: Pattern, part: Slice) -> StepCost:
        """See `Block.step`; the load is that of the busiest link."""
        n, stride = part.members, part.stride
        per_link = 2.0 * stride  # a message at the rate of one link, shared by the groups
        match pattern:
            case Shift(steps):
                return StepCost(steps * per_link, steps * stride)
            case Exchange(distance):
                return StepCost(distance * per_link, distance * stride)
            case Spread():
                return StepCost(n**2 // 4 * per_link, (n - 1) * stride, ((1.0, n**2 // 4 / (n - 1)),))
            case Tree():
                return super().step(pattern, part)
            case Chain(pieces):
                return StepCost((pieces + n - 2) * per_link, (n - 1) * stride)
            case Send(distance):
                return StepCost(per_link, distance * stride)
            case _:
                assert_never(pattern)

    def seen_from(self, size: int, places: Sequence[int]) -> Seen:
        """See `Block.seen_from`: a row of neighbours is a mesh."""
        return Seen() if places[-1] - places[0] == len(places) - 1 else super().seen_from(size, places)

    def carried(self, pattern: Pattern, part: Slice) -> NDArray[np.float64]:
        """See `Block.carried`: the links onward; those back have the same loads."""
        n, per_link = part.members, 2.0 * part.stride
        place = np.arange(n - 1)
        match pattern:
            case Exchange(distance):
                return per_link * crossings(place, distance)
            case Spread():
                return per_link * ((place + 1) * (n - 1 - place)).astype(float)
            case Chain(pieces):
                return np.full(n - 1, pieces * per_link)
            case Shift(steps, gathers):
                return per_link * np.minimum(steps, place + 1 if gathers else n - 1 - place)
            case Tree() | Send():
                return np.full(n - 1, self.step(pattern, part).load)
            case _:
                assert_never(pattern)

    def shape(self, part: Slice) -> Shape:
        """See `Block.shape`."""
        return Shape("line")

    def wiring(self, part: Slice) -> tuple[Link, ...]:
        """See `Block.wiring`: link 2 i leads from i to i + 1, link 2 i + 1 back."""
        rate, hops = 0.5 / part.stride, part.stride
        links: list[Link] = []
        for i in range(part.members - 1):
            links += [Link(i, i + 1, rate, hops), Link(i + 1, i, rate, hops)]
        return tuple(links)

    def routes(self, part: Slice, source: int, target: int) -> tuple[Route, ...]:
        """See `Block.routes`."""
        if source < target:
            return (tuple(2 * i for i in range(source, target)),)
        return (tuple(2 * i - 1 for i in range(source, target, -1)),)


def crossings(place: NDArray[np.int64], distance: int) -> NDArray[np.float64]:
    """Messages of an Exchange that pass the links from each `place` to the next one.

    Of each 2 x `distance` members one half exchanges with the other: the nearer to their middle, the more pass.
    """
    here = place % (2 * distance)
    return np.minimum(here + 1, 2 * distance - 1 - here).astype(float)
