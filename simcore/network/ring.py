"""A ring: two links of B / 2 per NPU and direction, one to each neighbour.

A group that spans the ring uses both ways round at once. A contiguous group that does not is a line: what wraps
around goes back through the links the other way. A group of stride s passes s - 1 foreign NPUs at each hop and
shares every link with s - 1 other groups, so its messages take s hops at 1/s of the rate.
"""

from __future__ import annotations

from typing import assert_never

from simcore.network.base import Block, Exchange, Pattern, Send, Shift, Slice, Spread, StepCost, Tree


class Ring(Block):
    """Neighbours only; messages to others pass through them."""

    def step(self, pattern: Pattern, part: Slice) -> StepCost:
        """See `Block.step`; the load is that of the busiest link."""
        members, stride = part.members, part.stride
        closed = members * stride == part.size
        per_link = 2.0 * stride  # a message at the rate of one link, shared by the groups
        match pattern:
            case Shift(steps):
                if closed:
                    return StepCost(steps * per_link / 2, steps * stride)
                return StepCost(steps * per_link, (steps - 1 + members - 1) * stride)
            case Exchange(distance):
                crossing = distance / 2 if closed and 2 * distance == members else distance
                return StepCost(crossing * per_link, distance * stride)
            case Spread():
                # Messages over the busiest link and direction: bisection of the ring (both ways) or of the line.
                crossing = members**2 // 8 if closed and members % 2 else members**2 / 8 if closed else members**2 // 4
                return StepCost(crossing * per_link, (members // 2 if closed else members - 1) * stride)
            case Tree(depth):
                # An in-order tree has one edge of each level over a link; two trees carry half of the bytes each.
                return StepCost(depth * per_link, 2 * (members - 1) * stride)
            case Send(distance):
                short = min(distance, members - distance) if closed else distance
                return StepCost(per_link, short * stride)
            case _:
                assert_never(pattern)
