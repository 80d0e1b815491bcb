"""Direct: every member sends each other member its 1/n of the buffer at once, a + S(n-1)/n/B.

`direct[w]` sends to w members at a time and waits until those messages have arrived: ceil((n-1)/w) times the latency.
"""

from __future__ import annotations

from dataclasses import dataclass

from simcore.collective.base import GATHERING, SCATTERING, Algorithm, Plan, Step, mirror_steps
from simcore.collective.spread import add_spread, spread_parts
from simcore.network import Shape, Spread


@dataclass(frozen=True)
class Direct(Algorithm):
    """One step each way: the lowest latency where every peer is a neighbour."""

    window: int = 0

    def does(self, kind: str, shape: Shape) -> bool:
        """See `Algorithm.does`: to broadcast, neighbours pass on instead."""
        return kind != "broadcast" or shape.kind == "star"

    def steps(self, kind: str, members: int) -> tuple[Step, ...]:
        """See `Algorithm.steps`."""
        window = self.window if self.window < members - 1 else 0
        if kind == "broadcast":
            return (Step(Spread(window), 1.0),)
        step = (Step(Spread(window), 1 / members),)
        return step if kind == "all_to_all" else mirror_steps(step, kind)

    def plan(self, kind: str, members: int, shape: Shape) -> Plan:
        """See `Algorithm.plan`."""
        if kind == "broadcast":
            return self._plan_broadcast(members, shape)
        plan = Plan(members, spread_parts(members, shape))
        if kind == "all_to_all":
            add_spread(plan, members, shape, "exchange", window=self.window)
        arrived = None
        if kind in SCATTERING:
            arrived = add_spread(plan, members, shape, "reduce", window=self.window)
        if kind in GATHERING:
            add_spread(plan, members, shape, "gather", arrived, self.window)
        return plan

    def _plan_broadcast(self, members: int, shape: Shape) -> Plan:
        plan = Plan(1)
        order = list(shape.peers(0, members))
        window = self.window or len(order)
        before: list[int] = []
        for begin in range(0, len(order), window):
            before = [plan.send(0, j, plan.block_pieces(0), before) for j in order[begin : begin + window]]
        return plan
