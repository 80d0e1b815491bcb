"""Keys of designs, in sixteen bytes: a study remembers that of every design that it has proposed."""

from __future__ import annotations

import hashlib

DIGESTS = "S16"
"""Type of an array of digests."""


def key_digest(key: str) -> bytes:
    """Sixteen bytes of a key. That two of a billion designs share them has a chance of 1e-21."""
    return hashlib.blake2b(key.encode(), digest_size=16).digest()
