"""Round robin: each chunk begins one dimension further out than the chunk before it."""

from __future__ import annotations

from collections.abc import Sequence

from simcore.policy.inter_dimension import ChunkOrders, InterDimension


class RoundRobin(InterDimension):
    """As many orders as dimensions, taken in turn."""

    @property
    def merges_turn(self) -> bool:
        return False

    def orders(self, sizes: Sequence[int], rates: Sequence[float], chunks: int) -> ChunkOrders:
        n = len(sizes)
        rotations = [tuple((first + i) % n for i in range(n)) for first in range(n)]
        return ChunkOrders(rotations, [chunk % n for chunk in range(chunks)])


ROUND_ROBIN = RoundRobin()
