"""A ring: two links of B / 2 per NPU and direction, one to each neighbour.

A group that spans the ring uses both ways round at once: every message of a Shift, and of an Exchange with the
opposite member, is split in halves; a Spread passes on, hop by hop, what has further to go, in floor(n/2) steps. A
contiguous group that does not span it is a line and does as on a mesh. A group of stride s passes s - 1 foreign NPUs
at each hop and shares every link with s - 1 other groups, so its messages take s hops at 1/s of the rate.
"""

from __future__ import annotations

from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from simcore.network.base import Block
from simcore.network.mesh import Mesh, crossings
from simcore.network.pattern import Chain, Exchange, Loads, Pattern, Send, Shift, Spread, StepCost, Tree
from simcore.network.wiring import Link, Route, Shape, Slice

_LINE = Mesh()
_HALVES: Loads = ((1.0, 0.5),)
"""Every message in two halves, one each way round."""


class Ring(Block):
    """Neighbours only; messages to others pass through them."""

    short = "Ring"
    takes_any_groups = True

    def step(self, pattern: Pattern, part: Slice) -> StepCost:
        """See `Block.step`; the load is that of the busiest link."""
        if not _is_closed(part):
            return _LINE.step(pattern, part)
        n, stride = part.members, part.stride
        per_link = 2.0 * stride  # a message at the rate of one link, shared by the groups
        match pattern:
            case Shift(steps):
                return StepCost(steps * per_link / 2, steps * stride, _HALVES)
            case Exchange(distance):
                if 2 * distance == n:
                    return StepCost(distance / 2 * per_link, distance * stride, _HALVES)
                return StepCost(distance * per_link, distance * stride)
            case Spread():
                # Distances 1 … floor(n/2) over each link; of an even n, the last is split between both ways.
                crossing = n**2 // 8 if n % 2 else n**2 / 8
                return StepCost(crossing * per_link, n // 2 * stride, _relayed_loads(n))
            case Tree():
                return super().step(pattern, part)
            case Chain(pieces):
                return StepCost((pieces + n - 2) * per_link / 2, (n - 1) * stride, _HALVES)
            case Send(distance):
                short = min(distance, n - distance)
                if 2 * distance == n:
                    return StepCost(per_link / 2, short * stride, _HALVES)
                return StepCost(per_link, short * stride)
            case _:
                assert_never(pattern)

    def carried(self, pattern: Pattern, part: Slice) -> NDArray[np.float64]:
        """See `Block.carried`: the links onward; those back have the same loads."""
        if not _is_closed(part):
            return _LINE.carried(pattern, part)
        n, per_link = part.members, 2.0 * part.stride
        match pattern:
            case Exchange(distance) if 2 * distance < n:
                return per_link * crossings(np.arange(n), distance)
            case Chain(pieces):
                return np.full(n, pieces * per_link / 2)
            case Shift() | Exchange() | Spread() | Tree() | Send():
                return np.full(n, self.step(pattern, part).load)
            case _:
                assert_never(pattern)

    def shape(self, part: Slice) -> Shape:
        """See `Block.shape`."""
        return Shape("ring") if _is_closed(part) else _LINE.shape(part)

    def wiring(self, part: Slice) -> tuple[Link, ...]:
        """See `Block.wiring`: link 2 i leads from i to i + 1, link 2 i + 1 back, the last pair over the wrap."""
        links = _LINE.wiring(part)
        if not _is_closed(part):
            return links
        rate, hops, end = 0.5 / part.stride, part.stride, part.members - 1
        return (*links, Link(end, 0, rate, hops), Link(0, end, rate, hops))

    def routes(self, part: Slice, source: int, target: int) -> tuple[Route, ...]:
        """See `Block.routes`: the shorter way round, or both."""
        if not _is_closed(part):
            return _LINE.routes(part, source, target)
        n = part.members
        ahead = (target - source) % n
        forward = tuple(2 * ((source + i) % n) for i in range(ahead))
        back = tuple(2 * ((source - 1 - i) % n) + 1 for i in range(n - ahead))
        if len(forward) == len(back):
            return forward, back
        return (min(forward, back, key=len),)


def _is_closed(part: Slice) -> bool:
    return part.members * part.stride == part.size


def _relayed_loads(n: int) -> Loads:
    """The messages of a Spread: in each step what still has so far to go, put together."""
    steps = [n // 2 - step if n % 2 else n // 2 - step - 0.5 for step in range(n // 2)]
    return tuple((pieces / sum(steps), pieces) for pieces in steps)
