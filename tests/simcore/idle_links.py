"""One collective of one chunk on the idle links of one dimension: what the closed forms of `simcore.network` claim."""

from __future__ import annotations

from dataclasses import dataclass, field

import simpy

from simcore.collective import Plan, plan_for
from simcore.design.efficiency import EfficiencyTable
from simcore.engine.reference.clock import now
from simcore.engine.reference.exchange import PlanExchange
from simcore.engine.reference.links import LinkNetwork, Switching
from simcore.engine.reference.switch_exchange import SwitchExchange
from simcore.network import Block, Slice
from simcore.network.ways import Worn


@dataclass(frozen=True)
class Idle:
    """A dimension on which nothing else happens."""

    block: Block
    bandwidth: float
    """Injection bandwidth of an NPU [B/s]."""
    latency: float
    """One step [s]."""
    switching: Switching = "cut_through"
    worn: Worn = field(default_factory=dict)
    efficiency: float | EfficiencyTable = 1.0

    def collective(self, algorithm: str, kind: str, part: Slice, size: float, in_network: bool = False) -> int:
        """Time of `kind` with a buffer of `size` [B] among one group on `part` that has its share of the links [ps]."""
        shape = self.block.shape(part)
        network = self._network(simpy.Environment(), part)
        members = range(part.members)
        if in_network and (tree := self.block.tree(part)):
            return self._run(network, [SwitchExchange(kind, network, members, len(tree.levels), size)])
        plan = plan_for(algorithm, kind, part.members, shape)
        return self.plan(plan, part, size)

    def plan(self, plan: Plan, part: Slice, size: float) -> int:
        """Time of the messages of a plan among one group on `part` [ps]."""
        network = self._network(simpy.Environment(), part)
        return self._run(network, [PlanExchange(plan, network, range(part.members), size)])

    def all_groups(self, algorithm: str, kind: str, part: Slice, size: float) -> int:
        """Time of `kind` by all groups that share the dimension like `part`, at once, over the same links [ps]."""
        shape = self.block.shape(part)
        plan = plan_for(algorithm, kind, part.members, shape)
        network = self._network(simpy.Environment(), Slice(part.size, part.size, 1))
        span = part.members * part.stride
        firsts = [first + offset for first in range(0, part.size, span) for offset in range(part.stride)]
        groups = [range(first, first + span, part.stride) for first in firsts]
        return self._run(network, [PlanExchange(plan, network, nodes, size) for nodes in groups])

    def send(self, part: Slice, distance: int, size: float) -> int:
        """Time of a message between members `distance` apart [ps]."""
        network = self._network(simpy.Environment(), part)
        network.send((0, distance), size, 0, lambda: None)
        network.env.run()
        return now(network.env)

    def _network(self, env: simpy.Environment, part: Slice) -> LinkNetwork:
        rest = (self.switching, self.worn, self.efficiency)
        return LinkNetwork(env, self.block, part, self.bandwidth, self.latency, *rest)

    def _run(self, network: LinkNetwork, exchanges: list[PlanExchange] | list[SwitchExchange]) -> int:
        """Let every member of every exchange begin at once; the time at which the last one is done."""
        done: list[int] = []
        members = 0
        for exchange in exchanges:
            for member in range(len(exchange.nodes)):
                members += 1
                exchange.begin(member, lambda: done.append(now(network.env)))
        network.env.run()
        assert len(done) == members, "messages wait for each other"
        return max(done)
