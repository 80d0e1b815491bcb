"""A switch: every NPU has one port of bandwidth B, and every other NPU is one step away."""

from __future__ import annotations

from typing import assert_never

from simcore.network.base import Block, Exchange, Pattern, Send, Shift, Slice, Spread, StepCost, Tree


class Switch(Block):
    """Full bandwidth to any one peer, shared among peers; any part of a switch is a switch."""

    def step(self, pattern: Pattern, part: Slice) -> StepCost:
        """See `Block.step`."""
        match pattern:
            case Shift(steps):
                return StepCost(steps, steps)
            case Exchange() | Send():
                return StepCost(1, 1)
            case Spread():
                return StepCost(part.members - 1, 1)
            case Tree(depth):
                # Inner node of one tree, leaf of the other: 3/2 + 1/2 of the buffer leave each port.
                return StepCost(2, 2 * depth)
            case _:
                assert_never(pattern)
