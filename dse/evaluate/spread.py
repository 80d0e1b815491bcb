"""A few of many, evenly spread, for what cannot show all."""

from __future__ import annotations


def spread_indices(count: int, limit: int, keep: frozenset[int] = frozenset()) -> list[int]:
    """At most about `limit` of the indices 0 … count-1, evenly, with the first, the last and those of `keep`."""
    if count <= limit:
        return list(range(count))
    step = (count - 1) / max(1, limit - 1)
    return sorted({round(index * step) for index in range(limit)} | keep)
