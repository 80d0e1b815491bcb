"""The length of one phase of one chunk where all NPUs of a team do the same at the same time.

Then one NPU stands for all, exactly: what it receives is the mirror image of what it sends. That holds for
ring, direct and halving-doubling as long as a message of a given number takes the same time for every member
of the team; a double binary tree never qualifies. With the congestion-aware back end it also takes links
that no two messages ever want at once.
"""

from __future__ import annotations

from simcore.astra.algorithms.collective import Level, QueuedPhase
from simcore.astra.algorithms.direct import plan_direct
from simcore.astra.algorithms.halving_doubling import plan_halving_doubling
from simcore.astra.algorithms.ring import plan_ring
from simcore.astra.engine.packets import PacketPlan, PhaseTime, time_lone_phase
from simcore.astra.files.network import DimensionBlock, Network
from simcore.astra.files.system import AlgorithmFamily, SystemSettings

RENDEZVOUS_BYTES = 8192
"""Size of the request that a receive sends first under the rendezvous protocol [B]."""

GROUP_ENDPOINT_DELAY = 10
"""Endpoint delay inside a communicator group, whatever the system file says [ns]."""


def packet_plan(phase: QueuedPhase) -> PacketPlan:
    """Return the packets of a phase (any family but the double binary tree).

    A chunk of fewer bytes than NPUs makes messages of 0 B (1.0 only): they cost their latency like any other.
    """
    family, nodes = phase.algorithm.family, phase.level.size
    if family is AlgorithmFamily.DIRECT:
        return plan_direct(phase.kind, nodes, phase.size, phase.algorithm.window, local=bool(phase.level.members))
    if family is AlgorithmFamily.HALVING_DOUBLING:
        return plan_halving_doubling(phase.kind, nodes, phase.size)
    return plan_ring(phase.kind, nodes, phase.size)


class PhaseTimer:
    """Times phases on a network, each distinct one once."""

    def __init__(
        self, network: Network, system: SystemSettings, queues: int = 1, aware: bool = False, rendezvous: bool = False
    ) -> None:
        self._network = network
        self._system = system
        self._aware = aware
        self._rendezvous = rendezvous
        self._times: dict[QueuedPhase, PhaseTime] = {}
        self._alike: dict[QueuedPhase, bool] = {}
        self._links: dict[tuple[Level, bool, int, bool], tuple[int, int] | None] = {}
        self._sole = queues == 1 and system.active_chunks == 1  # one phase of a dimension at a time

    def time(self, phase: QueuedPhase) -> PhaseTime:
        """Return the time of a phase that `is_alike` has accepted."""
        if phase not in self._times:
            plan = packet_plan(phase)
            delays = {distance: self._link(phase, distance, plan.exchange) for distance in set(plan.distances)}
            links = {link for link in delays.values() if link is not None}

            def delay(packet: int) -> int:
                link = delays[plan.distance(packet)]
                assert link is not None
                return self._message_ns(link, plan.size(packet))

            self._times[phase] = time_lone_phase(
                plan, delay, self.endpoint_delay(phase), self._system.reduction_ns, alike=len(links) == 1
            )
        return self._times[phase]

    def endpoint_delay(self, phase: QueuedPhase) -> int:
        """Return the endpoint delay of a phase [ns]."""
        return GROUP_ENDPOINT_DELAY if phase.level.members else self._system.endpoint_delay

    def is_alike(self, phase: QueuedPhase) -> bool:
        """Return whether one NPU can stand for the whole team."""
        if phase not in self._alike:
            self._alike[phase] = self._find_alike(phase)
        return self._alike[phase]

    def _find_alike(self, phase: QueuedPhase) -> bool:
        if phase.algorithm.family is AlgorithmFamily.DOUBLE_BINARY_TREE:
            return False
        plan = packet_plan(phase)
        links = [self._link(phase, distance, plan.exchange) for distance in set(plan.distances)]
        if self._aware and self._physical_dimension(phase.level) is None:
            return False
        if self._aware and not all(link is not None and self._is_uncontended(plan, link) for link in links):
            return False
        return None not in links

    def _is_uncontended(self, plan: PacketPlan, link: tuple[int, int]) -> bool:
        """Return whether no two messages of the plan can meet on a link of this kind."""
        block = self._network.dimensions[link[0]].block
        if not self._sole or self._rendezvous:
            return False
        if block is DimensionBlock.FULLY_CONNECTED:
            return True
        if block is DimensionBlock.SWITCH and plan.exchange:
            return True
        neighbours_only = plan.window == 1 and len(plan.distances) == 1
        return neighbours_only and (block is DimensionBlock.SWITCH or link[1] == 1)

    def _message_ns(self, link: tuple[int, int], size: int) -> int:
        if self._aware:  # one store-and-forward stop after the other
            return link[1] * self._network.message_ns((link[0], 1), size)
        time = self._network.message_ns(link, size)
        return time + self._network.message_ns(link, RENDEZVOUS_BYTES) if self._rendezvous else time

    def _link(self, phase: QueuedPhase, distance: int, exchange: bool) -> tuple[int, int] | None:
        """Return the one link that packets of a distance use on every NPU, or None when they differ."""
        key = (phase.level, phase.clockwise, distance, exchange)
        if key not in self._links:
            self._links[key] = self._common_link(phase.level, phase.clockwise, distance, exchange)
        return self._links[key]

    def _common_link(self, level: Level, clockwise: bool, distance: int, exchange: bool) -> tuple[int, int] | None:
        dimension = self._physical_dimension(level)
        if dimension is not None:
            block = self._network.dimensions[dimension].block
            return dimension, block.hops(level.size, distance)
        team = level.members or level.team(0)[1]
        found = set()
        for position, npu in enumerate(team):
            if exchange:
                partner = position ^ distance
            else:
                partner = (position + (distance if clockwise else -distance)) % len(team)
            found.add(self._network.link(npu, team[partner]))
            if len(found) > 1:
                return None
        return found.pop()

    def _physical_dimension(self, level: Level) -> int | None:
        """Return the network dimension that a level is, if it is one."""
        stride = 1
        for index, dimension in enumerate(self._network.dimensions):
            if level.size == dimension.size and level.stride == stride:
                return index
            stride *= dimension.size
        return None
