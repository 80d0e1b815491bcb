"""Every NPU by itself: the event-by-event simulation, for whatever is not the same everywhere.

Events of one instant run in the order they were registered. As in ASTRA-sim, the events of one NPU for one
instant are kept together and run when the first of them is due, which decides ties on shared links.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any

from simcore.astra.algorithms.collective import Chunk, QueuedPhase
from simcore.astra.algorithms.double_binary_tree import TreePhase, build_tree
from simcore.astra.engine.aware import AwareNetwork
from simcore.astra.engine.mailbox import COLLECTIVE_TAGS, RENDEZVOUS_TAGS, Action, Mailbox
from simcore.astra.engine.packets import PacketPlan
from simcore.astra.engine.phase_time import GROUP_ENDPOINT_DELAY, packet_plan
from simcore.astra.files.network import Network
from simcore.astra.files.system import AlgorithmFamily, SystemSettings


class EventQueue:
    """Time [ns], and what is due at each instant, first registered first."""

    def __init__(self) -> None:
        self.now = 0
        self._times: list[int] = []
        self._due: dict[int, list[tuple[Callable[..., None], tuple[Any, ...]]]] = {}
        self._own: dict[tuple[int, int], list[tuple[Callable[..., None], tuple[Any, ...]]]] = {}

    def schedule(self, delay: int, action: Callable[..., None], *arguments: Any) -> None:
        """Call `action` after `delay`."""
        time = self.now + delay
        due = self._due.get(time)
        if due is None:
            due = self._due[time] = []
            heapq.heappush(self._times, time)
        due.append((action, arguments))

    def schedule_own(self, npu: int, delay: int, action: Callable[..., None], *arguments: Any) -> None:
        """Call `action` after `delay`, together with what the NPU has due then."""
        key = (npu, self.now + delay)
        bucket = self._own.get(key)
        if bucket is None:
            bucket = self._own[key] = []
            self.schedule(delay, self._run_own, key)
        bucket.append((action, arguments))

    def _run_own(self, key: tuple[int, int]) -> None:
        for action, arguments in self._own[key]:  # grows while it runs
            action(*arguments)
        del self._own[key]

    def run(self) -> None:
        """Run until nothing is due any more."""
        while self._times:
            time = self.now = heapq.heappop(self._times)
            for action, arguments in self._due[time]:  # grows while it runs
                action(*arguments)
            del self._due[time]


class _Lane:
    """One queue of one NPU: chunks in order, the running ones first."""

    __slots__ = ("order", "running")

    def __init__(self) -> None:
        self.order: list[_Stream] = []
        self.running = 0


class _Stream:
    """One chunk on one NPU, and the port through which its phase acts."""

    __slots__ = ("chunk", "collective", "machine", "npu", "phase", "place", "priority", "tag", "team", "work")

    def __init__(
        self, machine: Machine, npu: int, tag: int, chunk: Chunk, collective: list[Any], priority: int
    ) -> None:
        self.machine = machine
        self.npu = npu
        self.tag = tag
        self.chunk = chunk
        self.collective = collective  # [chunks left, action when none is]
        self.priority = priority
        self.place = 0
        self.phase = chunk[0]
        self.team: tuple[int, ...] = ()
        self.work: TreePhase | _PacketPhase

    def start(self) -> None:
        """Begin the current phase."""
        position, self.team = self.phase.level.team(self.npu)
        if self.phase.algorithm.family is AlgorithmFamily.DOUBLE_BINARY_TREE:
            node = build_tree(len(self.team), self.phase.tree == 1)[position]
            self.work = TreePhase(self, node, self.phase.size)
        else:
            self.work = _PacketPhase(self, self.machine.packet_plan(self.phase), position)
        self.work.start()

    def prepare(self, size: int, reduce: bool) -> None:
        """Pay the endpoint delay, and the reduction, before the phase goes on."""
        machine = self.machine
        delay = GROUP_ENDPOINT_DELAY if self.phase.level.members else machine.system.endpoint_delay
        if reduce:
            machine.events.schedule_own(self.npu, delay, self._reduce, size)
        else:
            machine.events.schedule_own(self.npu, delay, self.work.on_prepared)

    def _reduce(self, size: int) -> None:
        delay = self.machine.system.reduction_ns(size)
        self.machine.events.schedule_own(self.npu, delay, self.work.on_prepared)

    def send(self, position: int, size: int) -> None:
        """Send to a position of the team."""
        self.machine.mail.send(self.npu, self.team[position], size, self.tag, None)

    def receive(self, position: int, size: int) -> None:
        """Post a receive from a position of the team."""
        self.machine.mail.receive(self.team[position], self.npu, size, self.tag, self.work.on_received)

    def leave(self) -> None:
        """End the phase."""
        self.machine.proceed(self)


class _PacketPhase:
    """One phase of one chunk on one NPU, for the packet families."""

    __slots__ = ("free", "inserted", "plan", "port", "position", "received", "sent", "sign")

    def __init__(self, port: _Stream, plan: PacketPlan, position: int) -> None:
        self.port = port
        self.plan = plan
        self.position = position
        self.sign = 1 if port.phase.clockwise else -1
        self.inserted = self.sent = self.received = self.free = 0

    def start(self) -> None:
        """Prepare the first packets."""
        for _ in range(self.plan.window):
            self._insert()

    def _insert(self) -> None:
        packet = self.inserted
        self.inserted += 1
        self.port.prepare(self.plan.size(packet), self.plan.is_reduced(packet))

    def on_received(self) -> None:
        """A message is in: prepare the next packet."""
        self.received += 1
        self._insert()

    def on_prepared(self) -> None:
        """A packet is ready: send what may go, and leave when all is done."""
        plan = self.plan
        self.free += 1
        if plan.barrier and plan.sends - self.sent <= plan.barrier:
            if self.received < plan.barrier:
                return
            for _ in range(plan.window):
                self._send()
        else:
            self._send()
        if self.sent == plan.sends and self.free == plan.window:
            self.port.leave()

    def _send(self) -> None:
        plan, packet = self.plan, self.sent
        if packet == self.inserted or packet == plan.sends or self.free == 0:
            return
        self.sent += 1
        self.free -= 1
        distance, size, nodes = plan.distance(packet), plan.size(packet), len(self.port.team)
        if plan.exchange:
            to = origin = self.position ^ distance
        else:
            to = (self.position + self.sign * distance) % nodes
            origin = (self.position - self.sign * distance) % nodes
        self.port.send(to, size)
        self.port.receive(origin, size)


class Machine:
    """NPUs with their queues on one network; collectives and messages of any of them."""

    def __init__(
        self, network: Network, system: SystemSettings, queues: int, aware: bool = False, rendezvous: bool = False
    ) -> None:
        self.network = network
        self.system = system
        self.events = EventQueue()
        self.mail = Mailbox(self, rendezvous)
        self._slots = -(-system.active_chunks // queues)
        self._aware = AwareNetwork(network, self.events.schedule) if aware else None
        self._lanes: dict[tuple[int, int], _Lane] = {}
        self._links: dict[tuple[int, int], tuple[int, int]] = {}
        self._delays: dict[tuple[tuple[int, int], int], int] = {}
        self._plans: dict[int, tuple[QueuedPhase, PacketPlan]] = {}

    def carry(self, source: int, destination: int, size: int, arrive: Action) -> None:
        """Move a message over the network."""
        if self._aware is not None:
            self._aware.carry(source, destination, size, arrive)
            return
        link = self._links.get((source, destination))
        if link is None:
            link = self._links[source, destination] = self.network.link(source, destination)
        delay = self._delays.get((link, size))
        if delay is None:
            delay = self._delays[link, size] = self.network.message_ns(link, size)
        self.events.schedule(delay, arrive)

    def soon(self, action: Action) -> None:
        """Call back at the same instant."""
        self.events.schedule(0, action)

    def packet_plan(self, phase: QueuedPhase) -> PacketPlan:
        """Return the packets of a phase; phases are shared between NPUs, so look them up by identity."""
        found = self._plans.get(id(phase))
        if found is None:
            found = self._plans[id(phase)] = (phase, packet_plan(phase))
        return found[1]

    def issue(self, npu: int, chunks: Sequence[Chunk], stream: int, done: Action, priority: int = 0) -> None:
        """Start a collective on one NPU; `stream` is the number of its first chunk."""
        collective = [len(chunks), done]
        for number, chunk in enumerate(chunks, start=stream):
            tag = number % (RENDEZVOUS_TAGS - COLLECTIVE_TAGS) + COLLECTIVE_TAGS
            self._enter(_Stream(self, npu, tag, chunk, collective, priority))

    def proceed(self, stream: _Stream) -> None:
        """Move a chunk from the phase it has ended to its next one."""
        lane = self._lanes[stream.npu, stream.phase.queue]
        stream.place += 1
        if stream.place == len(stream.chunk):
            stream.collective[0] -= 1
            if stream.collective[0] == 0:
                stream.collective[1]()
        lane.order.remove(stream)
        lane.running -= 1
        if stream.place == len(stream.chunk):
            self._refill(lane)
            return
        stream.phase = stream.chunk[stream.place]
        following = self._insert(stream)
        self._refill(lane)
        self._refill(following)

    def _enter(self, stream: _Stream) -> None:
        self._refill(self._insert(stream))

    def _insert(self, stream: _Stream) -> _Lane:
        """Put a chunk behind those that run and those of at least its priority."""
        lane = self._lanes.setdefault((stream.npu, stream.phase.queue), _Lane())
        place = len(lane.order)
        while place > lane.running and lane.order[place - 1].priority < stream.priority:
            place -= 1
        lane.order.insert(place, stream)
        return lane

    def _refill(self, lane: _Lane) -> None:
        while lane.running < len(lane.order) and lane.running < self._slots:
            lane.running += 1
            lane.order[lane.running - 1].start()
