"""Fully connected: n - 1 links of B / (n - 1), one to each other NPU of the dimension.

An algorithm that talks to one peer at a time uses one link; a group that takes part of the dimension uses only the
links inside the group.
"""

from __future__ import annotations

from typing import assert_never

from simcore.network.base import Block, Exchange, Pattern, Send, Shift, Slice, Spread, StepCost, Tree


class FullyConnected(Block):
    """A dedicated link between each two NPUs."""

    def step(self, pattern: Pattern, part: Slice) -> StepCost:
        """See `Block.step`."""
        links = part.size - 1
        match pattern:
            case Shift(steps):
                return StepCost(steps * links, steps)
            case Exchange() | Send() | Spread():
                return StepCost(links, 1)
            case Tree(depth):
                return StepCost(2 * links, 2 * depth)
            case _:
                assert_never(pattern)
