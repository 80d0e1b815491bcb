"""Adaptive: packets are sprayed over all shortest ways, so that each of them carries an even share."""

from __future__ import annotations

from simcore.network.routing.base import Ints, Routing


class Adaptive(Routing):
    """The best that a fabric's switches can do for a step in which all do the same."""

    everywhere = True

    def pick(self, ways: Ints, source: Ints, target: Ints, seed: int) -> Ints:
        """See `Routing.pick`."""
        raise NotImplementedError("messages take all ways")
