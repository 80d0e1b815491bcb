"""What sharding has whole for a while: pieces of a model between their shards."""

from __future__ import annotations

from typing import NamedTuple


class Moving(NamedTuple):
    """Bytes of what is whole.

    ZeRO-3 that gathers before each use has the parameters of two pieces, the one at work and the next (what is gathered
    for longer counts as weights). Sharded gradients are whole in the piece that computes them and in the bucket that is
    being reduced, which the piece before may have filled.
    """

    gathered: float
    """Bytes of a parameter."""
    reduced: float
    """Bytes of a gradient."""
    bucket: float
    """Bytes of a bucket, the least."""

    def bytes_of(self, own: float, following: float, before: float) -> float:
        """Bytes while a piece of `own` parameters goes backward, between pieces of `before` and of `following`."""
        return self.gathered * (own + following) + self.reduced * own + max(self.reduced * before, self.bucket)

    def largest(self, parameters: float) -> float:
        """Bytes where pieces of so many parameters follow each other."""
        return self.bytes_of(parameters, parameters, parameters)
