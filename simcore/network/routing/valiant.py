"""Valiant: by way of a random intermediate group, and on by the shortest way (Valiant 1982; Kim et al. 2008).

It halves what uniform traffic gets, and makes any traffic uniform. A message is spread over all intermediates.
"""

from __future__ import annotations

from simcore.network.routing.base import Ints, Routing


class Valiant(Routing):
    """Evenly over all detours."""

    everywhere = True
    detours = True

    def pick(self, ways: Ints, source: Ints, target: Ints, seed: int) -> Ints:
        """See `Routing.pick`."""
        raise NotImplementedError("messages take all ways")
