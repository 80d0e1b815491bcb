"""The phase-level network: every dimension of every NPU a resource that serves one phase at a time.

A chunk's phase occupies the dimension of each member for its serialization time. Once every member of its slice has
served it, the chunk flies for the phase's latency and arrives, everywhere at once, at its next phase. Where members
differ (stragglers), the slowest one decides; where they do not, all finish at the same picosecond. A chunk keeps its
slot (`active_chunks`) on each member for that member's own service and latency, so that no two members wait for each
other's slots.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import simpy

from simcore.collective.served import served_of
from simcore.engine.reference.clock import NETWORK, PICK, Moment, now
from simcore.engine.reference.cluster import NpuGroups
from simcore.engine.reference.processor import Processor
from simcore.engine.reference.transport import Transport, Use
from simcore.policy.intra_dimension import INTRA_DIMENSION
from simcore.system.chunks import FLAT, Chunker, Chunks, Phase
from simcore.system.interference import slowdowns
from simcore.system.steps import as_served
from simcore.system.streamed import STREAMED, count_queues

Order = tuple[int, int, int, int, int]
"""Policy key, arrival [ps], issue, chunk, phase: the smallest is served first."""


class Queue:
    """One dimension of one NPU: chunks wait in order, one is served at a time, `slots` may be inside (0: any).

    `serve` is told when a service begins (1) and ends (-1).
    """

    def __init__(self, env: simpy.Environment, slots: int, serve: Callable[[int], None]) -> None:
        self.env, self.slots, self.serve = env, slots, serve
        self.waiting: list[tuple[Order, Phase, Callable[[], None]]] = []
        self.inside = 0
        self.serving = self.about_to_pick = False
        self.busy, self.sent = 0, 0.0

    def arrive(self, order: Order, phase: Phase, served: Callable[[], None]) -> None:
        """A chunk joins the queue; `served` is called when its serialization is over."""
        heapq.heappush(self.waiting, (order, phase, served))
        self._pick_soon()

    def _leave(self) -> None:
        """A chunk gives back its slot."""
        self.inside -= 1
        self._pick_soon()

    def _can_pick(self) -> bool:
        return bool(self.waiting) and not self.serving and not (self.slots and self.inside >= self.slots)

    def _pick_soon(self) -> None:
        if self._can_pick() and not self.about_to_pick:
            self.about_to_pick = True
            Moment(self.env, 0, PICK, self._pick)

    def _pick(self) -> None:
        self.about_to_pick = False
        if not self._can_pick():
            return
        _, phase, served = heapq.heappop(self.waiting)
        self.serving = True
        self.serve(1)
        self.inside += 1 if self.slots else 0
        self.busy += phase.serialization
        self.sent += phase.sent
        Moment(self.env, phase.serialization, NETWORK, lambda: self._end_phase(phase, served))

    def _end_phase(self, phase: Phase, served: Callable[[], None]) -> None:
        self.serving = False
        self.serve(-1)
        if self.slots:
            Moment(self.env, phase.latency, NETWORK, self._leave)
        self._pick_soon()
        served()


def _goes_alone(kind: str) -> bool:
    """Whether no member of a group waits for another."""
    served = served_of(kind)
    return served is not None and served.alone


@dataclass
class PhaseLevelPart:
    """One member's part of a collective: its chunks on their way through the phases."""

    npu: int
    group: str
    sequence: int
    """How many collectives this NPU had issued over the group before: equal for all members of one collective."""
    issue: int
    paths: list[list[Phase]]
    left: int
    done: simpy.Event
    alone: bool = False
    """A message, or a push to servers that waits for nobody: no other member takes part."""


@dataclass
class PhaseLevel(Transport):
    """See the module."""

    env: simpy.Environment
    cluster: NpuGroups
    issued: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    sequences: dict[tuple[int, str], int] = field(default_factory=lambda: defaultdict(int))
    meetings: dict[tuple[object, ...], list[Callable[[], None]]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        design = self.cluster.design
        self.chunker, self.policy = Chunker(design), INTRA_DIMENSION[design.system.intra_dimension]
        self.priority = design.system.priority
        slots = 0 if design.system.active_chunks == "overlap" else design.system.active_chunks
        self.dimensions = len(design.cluster.dimensions)
        self.processors = [Processor(self.env, slowdowns(design)) for _ in range(design.cluster.npus)]
        self.queues = [
            [Queue(self.env, slots, partial(processor.serve, d)) for d in range(count_queues(design))]
            for processor in self.processors
        ]
        self._paths: dict[tuple[object, ...], Chunks] = {}

    def issue_collective(self, npu: int, kind: str, group: str, size: float) -> simpy.Event:
        """See `Transport.issue_collective`."""
        key = (kind, group, size)
        if key not in self._paths:
            split = self.chunker.split_collective(kind, self.cluster.placement[group], size)
            self._paths[key] = as_served(self.cluster.design, split)
        sequence = self.sequences[npu, group]
        self.sequences[npu, group] += 1
        return self._issue(npu, group, sequence, self._paths[key], alone=_goes_alone(kind))

    def send_message(self, npu: int, group: str, target: int, size: float) -> simpy.Event:
        """See `Transport.send_message`: it occupies the sender's queues alone."""
        slices = self.cluster.placement[group]
        hops = self.chunker.hops(slices, self.cluster.rank(npu, group), target)
        key = (group, hops, size)
        if key not in self._paths:
            self._paths[key] = as_served(self.cluster.design, self.chunker.split_message(slices, hops, size))
        return self._issue(npu, group, -1, self._paths[key], alone=True)

    def use_of(self, npu: int) -> Use:
        """See `Transport.use_of`."""
        queues = self.queues[npu][: self.dimensions]
        return Use([queue.busy for queue in queues], [queue.sent for queue in queues])

    def _issue(self, npu: int, group: str, sequence: int, split: Chunks, alone: bool = False) -> simpy.Event:
        paths = [split.paths[path] for path in split.chosen]
        part = PhaseLevelPart(npu, group, sequence, self.issued[npu], paths, len(paths), self.env.event(), alone)
        self.issued[npu] += 1
        for chunk in range(len(paths)):
            self._enter(part, chunk, 0)
        return part.done

    def _enter(self, part: PhaseLevelPart, chunk: int, index: int) -> None:
        """A chunk arrives at a phase, or, after its last one, where it belongs."""
        if index == len(part.paths[chunk]):
            part.left -= 1
            if not part.left:
                part.done.succeed()
            return
        phase = part.paths[chunk][index]
        rank = self.policy.key(self.priority, part.group, int(phase.size))
        key = self.policy.key_of_step(rank, phase.begun) + self.policy.issue_weight * part.issue
        order = (key, now(self.env), part.issue, chunk, index)
        self.queues[part.npu][phase.dimension].arrive(order, phase, lambda: self._finish_phase(part, chunk, index))

    def _finish_phase(self, part: PhaseLevelPart, chunk: int, index: int) -> None:
        """A member has served the phase; the last of its slice to do so lets the chunk fly."""
        phase = part.paths[chunk][index]
        if part.alone or phase.kind in STREAMED:
            peers: tuple[int, ...] = (part.npu,)
        elif phase.kind.startswith(FLAT):
            peers = self.cluster.members(self.cluster.npu_at(part.npu, part.group, 0), part.group)
        else:
            peers = self.cluster.peers_on(part.npu, part.group, phase.dimension)
        meeting = (part.group, part.sequence, part.issue if part.alone else -1, peers, chunk, index)
        present = self.meetings[meeting]
        present.append(lambda: self._enter(part, chunk, index + 1))
        if len(present) == len(peers):
            del self.meetings[meeting]
            Moment(self.env, phase.latency, NETWORK, lambda: [go() for go in present])
