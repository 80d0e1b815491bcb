"""Keys of designs, in sixteen bytes: a study remembers that of every design that it has proposed."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

DIGESTS = "S16"
"""Type of an array of digests."""
LATEST = 1 << 15
"""Digests that are held one by one, until they are put among the others."""


def key_digest(key: str) -> bytes:
    """Sixteen bytes of a key. That two of a billion designs share them has a chance of 1e-21."""
    return hashlib.blake2b(key.encode(), digest_size=16).digest()


class Digests:
    """A set of digests that only grows: sorted in one array, where each takes its sixteen bytes, the latest in a set.

    A set of a million of Python's bytes would take a hundred each.
    """

    def __init__(self) -> None:
        self._sorted: NDArray[np.bytes_] = np.empty(0, dtype=DIGESTS)
        self._latest: set[bytes] = set()

    def __len__(self) -> int:
        return len(self._sorted) + len(self._latest)

    def __contains__(self, digest: bytes) -> bool:
        if digest in self._latest:
            return True
        wanted = np.frombuffer(digest, dtype=DIGESTS)
        place = int(self._sorted.searchsorted(wanted)[0])
        return place < len(self._sorted) and bool(self._sorted[place] == wanted[0])

    def add(self, digest: bytes) -> bool:
        """Put one more in; whether it is new."""
        if digest in self:
            return False
        self._latest.add(digest)
        if len(self._latest) >= LATEST:
            self.update(np.empty(0, dtype=DIGESTS))
        return True

    def update(self, digests: NDArray[np.bytes_]) -> None:
        """Put many in at once, which need not be new."""
        known = np.frombuffer(b"".join(self._latest), dtype=DIGESTS)
        self._latest.clear()
        merged = np.concatenate([self._sorted, known, digests])
        merged.sort(kind="stable")  # numpy's `unique` of texts takes a hundred bytes of each, and ten times as long
        self._sorted = merged[np.append(merged[1:] != merged[:-1], True)] if len(merged) else merged
