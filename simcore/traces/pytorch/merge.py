"""One rank's execution trace and timeline as one list of drafts: operators of the host, kernels, communication.

A kernel belongs to the operator that its launch runs in: kernel and launch share a correlation, launch and operator an
external id; where there is none, the operator is the innermost that runs when the launch does, on its thread. Without
devices, a collective is what gloo ran for it: its run takes the same tensors, or is the next that starts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from simcore.traces.base import refuse
from simcore.traces.pytorch import communication as comm
from simcore.traces.pytorch.communication import Communication
from simcore.traces.pytorch.files import text
from simcore.traces.pytorch.host import HostOp, HostTrace
from simcore.traces.pytorch.spans import Interval, shares
from simcore.traces.pytorch.timeline import BLOCKING, Event, Timeline


@dataclass
class Draft:
    """A node in the making: recorded times in [µs]; `lane` is its thread or stream, `after` the drafts it follows."""

    name: str
    start: float
    end: float
    duration: float
    lane: str
    device: bool
    op: HostOp | None = None
    communication: Communication | None = None
    launcher: Draft | None = None
    after: list[Draft] = field(default_factory=list)
    number: int = -1


@dataclass(frozen=True)
class Merged:
    """The drafts of a rank, those of each lane in the order of their starts; `waits` are calls that wait for devices.

    `orphans` counts kernels whose launch the timeline lacks; `idle` is the time under some label that ran no operator
    [µs].
    """

    drafts: tuple[Draft, ...]
    waits: tuple[Event, ...]
    has_devices: bool
    orphans: int
    idle: float


class Merge:
    """Merges the two records of one rank."""

    def __init__(self, host: HostTrace, timeline: Timeline) -> None:
        self.host, self.timeline = host, timeline
        self._by_record = {op.record: op for op in host.operators.values() if op.record > 0}
        self._children: dict[int, list[HostOp]] = defaultdict(list)
        for op in host.operators.values():
            if op.parent != op.id:
                self._children[op.parent].append(op)
        self._drafts: list[Draft] = []
        self._of_event: dict[int, Draft] = {}
        self._threads: dict[str, list[Draft]] = {}
        self._orphans = 0

    def merge(self) -> Merged:
        """The drafts.

        Raises `InputError` where the two are of different runs, or communication cannot be told.
        """
        waits = tuple(event for event in self.timeline.launches if BLOCKING.fullmatch(event.name))
        runs = self._runs()
        self._add_host(runs, waits)
        heard = self._add_device()
        self._add_host_communication(runs, heard)
        spans = [(draft.start, draft.end) for draft in self._drafts if not draft.device]
        busy = sum(draft.duration for draft in self._drafts if not draft.device and draft.communication is None)
        idle = max((end for _, end in spans), default=0.0) - min((start for start, _ in spans), default=0.0) - busy
        return Merged(tuple(self._drafts), waits, bool(self.timeline.device), self._orphans, max(0.0, idle))

    def _op(self, event: Event) -> HostOp | None:
        return self._by_record.get(event.record)

    def _runs(self) -> list[tuple[Event, HostOp | None]]:
        """What gloo ran, in the order of the starts."""
        return [(event, self._op(event)) for event in self.timeline.host if event.name.startswith("gloo:")]

    def _add_host(self, runs: Sequence[tuple[Event, HostOp | None]], waits: Sequence[Event]) -> None:
        """A draft for every operator of the host that is no part of a collective's own run."""
        inside: dict[str, list[Interval]] = defaultdict(list)
        for run, _ in runs:
            inside[run.thread].append((run.start, run.end))
        threads: dict[str, list[Event]] = defaultdict(list)
        for event in self.timeline.host:
            if event.category == "cpu_op" and not _is_inside(event, inside[event.thread]):
                threads[event.thread].append(event)
        matched = 0
        for thread, events in threads.items():
            holes = [(wait.start, wait.end) for wait in waits if wait.thread == thread]
            lane = self._threads.setdefault(thread, [])
            for event, share in zip(events, shares(events, holes), strict=True):
                op = self._op(event)
                matched += op is not None
                draft = Draft(event.name, event.start, event.end, share, f"thread {thread}", False, op)
                self._of_event[id(event)] = draft
                lane.append(draft)
            self._drafts += lane
        if not matched:
            fix = "both are recorded at once: profile(execution_trace_observer=…)"
            refuse(str(self.timeline.path), f"a timeline of the same run as {self.host.path}", "none of its ids", fix)

    def _add_device(self) -> set[int]:
        """A draft for every kernel, copy and fill; the ids of the c10d operators whose kernels these are."""
        launches = {event.correlation: event for event in self.timeline.launches if event.correlation >= 0}
        operators = {event.external: event for event in self.timeline.host if id(event) in self._of_event}
        heard: set[int] = set()
        for event in self.timeline.device:
            launch = launches.get(event.correlation)
            launcher = self._launcher(event, launch, operators)
            self._orphans += launcher is None
            op = launcher.op if launcher else None
            lane = f"stream {event.stream}"
            draft = Draft(event.name, event.start, event.end, event.duration, lane, True, op, launcher=launcher)
            if comm.is_device_communication(event):
                draft.op, draft.communication = self._device_communication(event, op, heard)
            self._drafts.append(draft)
        return heard

    def _launcher(self, event: Event, launch: Event | None, operators: dict[int, Event]) -> Draft | None:
        """The operator that launched a kernel: that of the external id if it runs at the launch, else the innermost."""
        external = launch.external if launch is not None and launch.external >= 0 else event.external
        named = self._of_event[id(operators[external])] if external in operators else None
        if launch is None or (named is not None and _runs_at(named, launch)):
            return named
        lane = self._threads.get(launch.thread, [])
        place = bisect_right(lane, launch.start, key=lambda draft: draft.start)
        return next((draft for draft in reversed(lane[:place]) if launch.start <= draft.end), None)

    def _device_communication(
        self, event: Event, op: HostOp | None, heard: set[int]
    ) -> tuple[HostOp | None, Communication]:
        """What a kernel communicates: as the c10d operator above it asked, else as its own arguments say."""
        chain = (op, *self.host.callers(op)) if op is not None else ()
        asked = next((caller for caller in chain if comm.is_communication(caller)), None)
        if asked is None or asked.id in heard:
            return op, comm.of_kernel(event, self.host)
        heard.add(asked.id)
        wanted = self._asked(asked)
        group = wanted.group or text(event.arguments, "Process Group Name") or None
        return asked, _in_group(wanted, group)

    def _asked(self, op: HostOp) -> Communication:
        wanted = comm.of_operator(op, self.host)
        return wanted if wanted.group else _in_group(wanted, comm.record_of(self._children[op.id]))

    def _add_host_communication(self, runs: Sequence[tuple[Event, HostOp | None]], heard: set[int]) -> None:
        """A draft for every c10d operator that no kernel belongs to."""
        asked = [draft for draft in self._drafts if self._is_unheard(draft, heard)]
        asked.sort(key=lambda draft: draft.start)
        taken = dict(_matches(asked, runs))
        for draft in asked:
            assert draft.op is not None
            run = taken.get(id(draft))
            if run is None and self.timeline.device:
                where = f"{self.timeline.path}: {draft.name}"
                refuse(where, "the kernel of every collective", "none", "profile until the last collective is done")
            start = max(draft.start, run.start) if run else draft.end
            end = max(start, run.end) if run else start
            wanted = self._asked(draft.op)
            lane = f"group {wanted.group or 'all'}"
            name = draft.name
            self._drafts.append(Draft(name, start, end, end - start, lane, False, draft.op, wanted, draft))

    def _is_unheard(self, draft: Draft, heard: set[int]) -> bool:
        if draft.device or draft.op is None or not comm.is_communication(draft.op) or draft.op.id in heard:
            return False
        return not any(comm.is_communication(caller) for caller in self.host.callers(draft.op))


def _in_group(wanted: Communication, group: str | None) -> Communication:
    return replace(wanted, group=group)


def _runs_at(draft: Draft, launch: Event) -> bool:
    return draft.lane == f"thread {launch.thread}" and draft.start <= launch.start <= draft.end


def _is_inside(event: Event, runs: Sequence[Interval]) -> bool:
    """Whether an event lies in one of the intervals of its thread, which are in order and do not overlap."""
    place = bisect_right(runs, (event.start, float("inf")))
    return place > 0 and event.end <= runs[place - 1][1]


def _matches(
    asked: Sequence[Draft], runs: Sequence[tuple[Event, HostOp | None]]
) -> Iterator[tuple[int, Event]]:  # fmt: skip
    """Each draft (by identity) with what gloo ran for it: first by common tensors, then in the order of the starts."""
    left = list(runs)
    open_drafts = []
    for draft in asked:
        assert draft.op is not None
        touched = draft.op.read | draft.op.written
        run = next((run for run in left if run[0].start >= draft.start and run[1] and run[1].read & touched), None)
        if run is not None:
            left.remove(run)
            yield id(draft), run[0]
        else:
            open_drafts.append(draft)
    for draft in open_drafts:
        later = next((run for run in left if run[0].start >= draft.start), None)
        if later is not None:
            left.remove(later)
            yield id(draft), later[0]
