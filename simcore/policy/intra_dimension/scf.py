"""Smallest chunk first (Rashidi et al., ISCA 2022, arXiv 2110.04478)."""

from __future__ import annotations

from collections.abc import Sequence

from simcore.policy.intra_dimension.base import IntraDimension


class SmallestChunkFirst(IntraDimension):
    """The key is the size of the chunk."""

    def key(self, priority: Sequence[str], group: str, size: int) -> int:
        """See `IntraDimension.key`."""
        return size
