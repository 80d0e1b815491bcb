"""The flow engine's model in SimPy: the queues of the phase level, whose services go at the pace that links allow.

Short and plain, one process an NPU: what the compiled engine, and what links say of streams, are compared with.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import simpy
from simpy.events import EventPriority

from simcore.design.design import Design
from simcore.engine.flow.classes import Classes, find_classes
from simcore.engine.flow.links import find_links
from simcore.engine.flow.shared import Served, SharedLinks
from simcore.engine.reference.clock import NETWORK, Moment, now
from simcore.engine.reference.cluster import NpuGroups
from simcore.engine.reference.phase_level import PhaseLevel, Queue
from simcore.memory.plan import program_of
from simcore.system.placement import place

SOLVE = EventPriority(3)
"""After everything else of a picosecond."""


def max_min_paces(shared: SharedLinks, served: set[Served]) -> dict[Served, float]:
    """The pace of each stream: the rate of all messages rises until a link is full; those on it stay, and so on."""
    streams = {one: shared.stream(one) for one in served}
    room = [link.capacity for link in shared.links]
    rates: dict[Served, float] = {}
    while left := [one for one in served if one not in rates]:
        counts: dict[int, float] = {}
        for one in left:
            for link, count in streams[one].links:
                counts[link] = counts.get(link, 0.0) + count
        level = {link: room[link] / count for link, count in counts.items() if count}
        caps = {one: streams[one].rate * streams[one].fastest for one in left}
        lowest = min([*level.values(), *caps.values()])
        done = [
            one
            for one in left
            if caps[one] <= lowest * (1 + 1e-12)
            or any(level[link] <= lowest * (1 + 1e-12) for link, count in streams[one].links if count)
        ]
        for one in done:
            rates[one] = lowest
            for link, count in streams[one].links:
                room[link] = max(0.0, room[link] - count * lowest)
    return {one: rates[one] / streams[one].rate for one in served}


@dataclass
class Service:
    """A phase in service on one NPU."""

    queue: PacedQueue
    served: Served
    left: float
    """Time that it still takes alone [ps]."""
    finish: Any
    pace: float = 0.0
    since: int = 0
    version: int = 0


@dataclass
class Pacing:
    """All services, and the pace of each."""

    env: simpy.Environment
    shared: SharedLinks
    inside: list[Service] = field(default_factory=list)
    about_to_solve: bool = False

    def begin(self, service: Service) -> None:
        """A phase begins to be served."""
        service.since = now(self.env)
        self.inside.append(service)
        self._solve_soon()

    def _solve_soon(self) -> None:
        if not self.about_to_solve:
            self.about_to_solve = True
            Moment(self.env, 0, SOLVE, self._solve)

    def _solve(self) -> None:
        self.about_to_solve = False
        paces = max_min_paces(self.shared, {service.served for service in self.inside})
        for service in self.inside:
            if paces[service.served] != service.pace:
                self._change(service, paces[service.served])

    def _change(self, service: Service, pace: float) -> None:
        time = now(self.env)
        service.left -= (time - service.since) * service.pace
        service.pace, service.since, service.version = pace, time, service.version + 1
        version = service.version
        Moment(self.env, max(0, round(service.left / pace)), NETWORK, lambda: self._end(service, version))

    def _end(self, service: Service, version: int) -> None:
        if version == service.version:
            self.inside.remove(service)
            self._solve_soon()
            service.finish()


class PacedQueue(Queue):
    """See the module."""

    pacing: Pacing
    npus: int
    dimension: int

    def _pick(self) -> None:
        self.about_to_pick = False
        if not self._can_pick():
            return
        import heapq

        _, phase, served = heapq.heappop(self.waiting)
        self.serving = True
        self.serve(1)
        self.inside += 1 if self.slots else 0
        self.busy += phase.serialization
        self.sent += phase.sent
        who = Served(self.npus, served.group, phase.dimension, phase.kind, served.target)
        self.pacing.begin(Service(self, who, float(phase.serialization), lambda: self._end_phase(phase, served)))


@dataclass(frozen=True)
class Finish:
    """What to call when a phase has been served, with what it was."""

    action: Any
    group: str
    target: int

    def __call__(self) -> None:
        self.action()


@dataclass
class PacedLevel(PhaseLevel):
    """See the module."""

    classes: Classes | None = None
    shared: SharedLinks | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        assert self.classes is not None
        assert self.shared is not None
        pacing = Pacing(self.env, self.shared)
        for npu, row in enumerate(self.queues):
            for dimension, queue in enumerate(row):
                paced = PacedQueue(self.env, queue.slots, queue.serve)
                paced.pacing, paced.npus, paced.dimension = pacing, int(self.classes.numbers[npu]), dimension
                row[dimension] = paced
        self.targets: dict[tuple[int, int], int] = {}

    def send_message(self, npu: int, group: str, target: int, size: float) -> simpy.Event:
        self.targets[npu, self.issued[npu]] = target
        return super().send_message(npu, group, target, size)

    def _enter(self, part: Any, chunk: int, index: int) -> None:
        if index == len(part.paths[chunk]):
            super()._enter(part, chunk, index)
            return
        phase = part.paths[chunk][index]
        key = self.policy.key(self.priority, part.group, int(phase.size)) + self.policy.issue_weight * part.issue
        order = (key, now(self.env), part.issue, chunk, index)
        target = self.targets.get((part.npu, part.issue), -1) if part.alone else -1
        finish = Finish(lambda: self._finish_phase(part, chunk, index), part.group, target)
        self.queues[part.npu][phase.dimension].arrive(order, phase, finish)


def paced_time(design: Design, colours: Any = None) -> float:
    """Time of a design by this model [s]."""
    import simcore.engine.reference.run as run

    program, placement = program_of(design), place(design)[0]
    classes = find_classes(design, placement, colours)
    shared = find_links(design, program, classes)

    def transport(env: simpy.Environment, cluster: NpuGroups, links: bool) -> PacedLevel:
        del links
        return PacedLevel(env, cluster, classes=classes, shared=shared)

    usual = run._transport
    run._transport = transport
    try:
        if (single := program.single) is not None:
            return run.time_collective(design, single).total * 1e-12
        return run.time_program(design, program, placement).total * 1e-12
    finally:
        run._transport = usual
