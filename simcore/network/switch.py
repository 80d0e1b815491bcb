"""A switch: every NPU has one port of bandwidth B, and every other NPU is one step away."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simcore.network.base import Block, Seen
from simcore.network.fat_tree import FatTree
from simcore.network.pattern import Pattern, StepCost
from simcore.network.reduction import Rung, SwitchTree
from simcore.network.wiring import Link, Route, Shape, Slice


class Switch(Block):
    """Full bandwidth to any one peer, shared among peers; any part of a switch is a switch.

    It is a fat tree of one leaf.
    """

    short = "SW"
    switched = True
    shares = False
    reduces = True
    takes_any_groups = True

    def step(self, pattern: Pattern, part: Slice) -> StepCost:
        """See `Block.step`."""
        return FatTree(part.size).step(pattern, part)

    def seen_from(self, size: int, places: Sequence[int]) -> Seen:
        """See `Block.seen_from`: any part of a switch is a switch."""
        return Seen()

    def carried(self, pattern: Pattern, part: Slice) -> NDArray[np.float64]:
        """See `Block.carried`."""
        return FatTree(part.size).carried(pattern, part)

    def shape(self, part: Slice) -> Shape:
        """See `Block.shape`."""
        return Shape("star", part.members)

    def wiring(self, part: Slice) -> tuple[Link, ...]:
        """See `Block.wiring`."""
        return FatTree(part.size).wiring(part)

    def routes(self, part: Slice, source: int, target: int) -> tuple[Route, ...]:
        """See `Block.routes`."""
        return FatTree(part.size).routes(part, source, target)

    def tree(self, part: Slice) -> SwitchTree:
        """See `Block.tree`."""
        return FatTree(part.size).tree(part)

    def ladder(self, part: Slice, node: int) -> tuple[Rung, ...]:
        """See `Block.ladder`."""
        return FatTree(part.size).ladder(part, node)
