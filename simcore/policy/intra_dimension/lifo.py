"""Last in, first out: the collective that was issued last is served first."""

from __future__ import annotations

from collections.abc import Sequence

from simcore.policy.intra_dimension.base import IntraDimension


class Lifo(IntraDimension):
    """The key falls with every issue."""

    issue_weight = -1

    def key(self, priority: Sequence[str], group: str, size: int) -> int:
        """See `IntraDimension.key`."""
        return 0
