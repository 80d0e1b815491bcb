"""Halving-doubling: log2(n) exchanges of halves, quarters, … of the buffer (Thakur, Rabenseifner, Gropp 2005).

log2(n) a + S(n-1)/n/B each way; n must be a power of two.
"""

from __future__ import annotations

from simcore.collective.base import Algorithm, Step, mirrored
from simcore.network import Exchange


class HalvingDoubling(Algorithm):
    """Bandwidth-optimal with logarithmic latency."""

    def steps(self, kind: str, members: int) -> tuple[Step, ...]:
        """See `Algorithm.steps`; partners are 1, 2, 4, … ranks away while messages halve."""
        depth = members.bit_length() - 1
        halving = tuple(Step(Exchange(1 << level), 0.5 ** (level + 1)) for level in range(depth))
        return mirrored(halving, kind)
