"""Priority: groups are served in the order of `system.priority`, those that it does not list last."""

from __future__ import annotations

from collections.abc import Sequence

from simcore.policy.groups import group_kind
from simcore.policy.intra_dimension.base import IntraDimension

_KNOWN_AS = dict.fromkeys(("data_context", "expert_data", "shard", "expert_shard", "replica"), "data")
_KNOWN_AS["reshard"] = "tensor"
"""Groups over which gradients are reduced, and parameters gathered, count as data parallel."""


class Priority(IntraDimension):
    """The key is the group's place in the list."""

    ranks_groups = True

    def key(self, priority: Sequence[str], group: str, size: int) -> int:
        """See `IntraDimension.key`."""
        group = _KNOWN_AS.get(group_kind(group), group_kind(group))
        return priority.index(group) if group in priority else len(priority)
