"""Bandwidth-aware: every chunk visits the dimensions by falling bandwidth.

A chunk shrinks with every dimension that it has scattered over, so the fastest dimension gets the whole of it and the
slowest one the smallest piece. Where dimensions get slower from the innermost to the outermost, as they usually do,
that is the baseline; where an outer dimension is faster, or a group gets only part of an inner one, it is not.
"""

from __future__ import annotations

from collections.abc import Sequence

from simcore.policy.inter_dimension.base import ChunkOrders, InterDimension


class BandwidthAware(InterDimension):
    """One fixed order; ties go to the lower dimension. The turn is one all-reduce phase on the slowest dimension."""

    @property
    def merges_turn(self) -> bool:
        """See `InterDimension.merges_turn`."""
        return True

    def orders(self, sizes: Sequence[int], rates: Sequence[float], chunks: int) -> ChunkOrders:
        """See `InterDimension.orders`."""
        return ChunkOrders([tuple(sorted(range(len(sizes)), key=lambda d: -rates[d]))], [0] * chunks)
