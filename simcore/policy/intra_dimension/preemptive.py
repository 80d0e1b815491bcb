"""Priority between steps: as `priority`, and a phase in service lets groups of the list before its own go first."""

from __future__ import annotations

from collections.abc import Sequence

from simcore.policy.intra_dimension.base import IntraDimension
from simcore.policy.intra_dimension.priority import Priority

_BY_RANK = Priority()


class Preemptive(IntraDimension):
    """The key is the group's place in the list; a phase that has begun goes before those of its place that have not."""

    ranks_groups = True
    by_steps = True

    def key(self, priority: Sequence[str], group: str, size: int) -> int:
        """See `IntraDimension.key`."""
        return _BY_RANK.key(priority, group, size)

    def key_of_step(self, key: int, begun: bool) -> int:
        """See `IntraDimension.key_of_step`."""
        return 2 * key + (0 if begun else 1)
