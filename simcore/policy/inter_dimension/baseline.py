"""Baseline: every chunk visits the dimensions innermost first."""

from __future__ import annotations

from collections.abc import Sequence

from simcore.policy.inter_dimension.base import ChunkOrders, InterDimension


class Baseline(InterDimension):
    """One fixed order; the turn is one all-reduce phase on the outermost dimension."""

    @property
    def merges_turn(self) -> bool:
        """See `InterDimension.merges_turn`."""
        return True

    def orders(self, sizes: Sequence[int], rates: Sequence[float], chunks: int) -> ChunkOrders:
        """See `InterDimension.orders`."""
        return ChunkOrders([tuple(range(len(sizes)))], [0] * chunks)
