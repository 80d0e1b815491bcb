"""Equal-cost multipath: a hash of source and target picks one of the shortest ways, whatever else is on it (RFC 2992).

The hash is that of SplitMix64 (Steele, Lea, Flood 2014), in place of the vendors' own, which are not published. Two
messages that meet on a link stay there as long as their sources and targets stay: the collisions are those of one
seed, and another `routing_seed` has others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcore.network.routing.base import Ints, Routing

_GOLDEN = 0x9E3779B97F4A7C15
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


class Ecmp(Routing):
    """Fixed by source, target and seed."""

    drawn = True

    def pick(self, ways: Ints, source: Ints, target: Ints, seed: int) -> Ints:
        """See `Routing.pick`."""
        first = _mix(source.astype(np.uint64) + np.uint64(seed * _GOLDEN % 2**64))
        mixed = _mix(first ^ (target.astype(np.uint64) * np.uint64(_GOLDEN)))
        picked: Ints = (mixed % ways.astype(np.uint64)).astype(np.int64)
        return picked


def _mix(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    value = (value ^ (value >> np.uint64(30))) * _FIRST
    value = (value ^ (value >> np.uint64(27))) * _SECOND
    return value ^ (value >> np.uint64(31))
