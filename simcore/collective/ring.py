"""Ring: n - 1 steps in each of which every member passes 1/n of the buffer on (Patarasuk, Yuan 2009).

Reduce-scatter and all-gather take (n - 1)(a + S/n/B) each.
"""

from __future__ import annotations

from simcore.collective.base import Algorithm, Step, mirrored
from simcore.network import Shift, Spread


class Ring(Algorithm):
    """Bandwidth-optimal; latency grows with n. All-to-all relays along the shortest way round."""

    def steps(self, kind: str, members: int) -> tuple[Step, ...]:
        """See `Algorithm.steps`."""
        if kind == "all_to_all":
            return (Step(Spread(), 1 / members),)
        return mirrored((Step(Shift(members - 1), 1 / members),), kind)
