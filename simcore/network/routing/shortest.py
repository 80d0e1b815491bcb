"""One shortest way for each target, as the forwarding tables of a subnet manager have it (D-mod-k, Zahavi 2010).

Targets take the ways in turn, so that a shift between neighbouring leaves of a Clos meets on no link.
"""

from __future__ import annotations

from simcore.network.routing.base import Ints, Routing


class Shortest(Routing):
    """Fixed by the target alone."""

    def pick(self, ways: Ints, source: Ints, target: Ints, seed: int) -> Ints:
        """See `Routing.pick`."""
        return target % ways
