"""Largest chunk first: long services begin early."""

from __future__ import annotations

from collections.abc import Sequence

from simcore.policy.intra_dimension import IntraDimension


class LargestChunkFirst(IntraDimension):
    """The key falls with the size of the chunk."""

    def key(self, priority: Sequence[str], group: str, size: int) -> int:
        return -size


LARGEST_CHUNK_FIRST = LargestChunkFirst()
