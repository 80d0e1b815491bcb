"""Names of groups of NPUs: what a group is for, then, where layers have degrees of their own, which layers it is of."""

from __future__ import annotations


def group_kind(group: str) -> str:
    """What a group of NPUs is for, whichever layers it is of: `data` of `data t4`."""
    return group.partition(" ")[0]
