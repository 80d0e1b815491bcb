"""Direct: every member sends each other member its 1/n of the buffer at once, a + S(n-1)/n/B."""

from __future__ import annotations

from simcore.collective.base import Algorithm, Step, mirrored
from simcore.network import Spread


class Direct(Algorithm):
    """One step each way: the lowest latency where every peer is a neighbour."""

    def steps(self, kind: str, members: int) -> tuple[Step, ...]:
        """See `Algorithm.steps`."""
        step = (Step(Spread(), 1 / members),)
        return step if kind == "all_to_all" else mirrored(step, kind)
