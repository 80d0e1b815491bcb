"""First in, first out: whatever arrived first is served first."""

from __future__ import annotations

from collections.abc import Sequence

from simcore.policy.intra_dimension.base import IntraDimension


class Fifo(IntraDimension):
    """All keys are equal, and ties go by arrival."""

    by_arrival = True

    def key(self, priority: Sequence[str], group: str, size: int) -> int:
        """See `IntraDimension.key`."""
        return 0
