"""From lowered jobs to the arrays of the global loop (`tables`): ways, streams, and room for what is played."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from simcore.engine.fast.state import LEVELS_AT as NET_LEVELS_AT
from simcore.engine.fast.state import NEVER, PHASE_SIZE, SERIALIZATION, new_state
from simcore.engine.fast.tables import SPENT
from simcore.engine.flow import tables
from simcore.engine.flow.lowered import Flags, Lowered, Way
from simcore.engine.flow.period import KEPT, MACHINES_OF
from simcore.engine.flow.rates import pack_flows
from simcore.engine.flow.room import room_for_passages
from simcore.engine.flow.shared import Served, SharedLinks, Stream, Tail, overload
from simcore.engine.flow.tables import Floats, Ints, World
from simcore.program import Category
from simcore.schedule import ORDERS
from simcore.system.chunks import FLAT
from simcore.system.streamed import count_queues

_OF_TAIL = 1 << 30


@dataclass
class _Rows:
    """Numbers for the rows of classes that meet."""

    known: dict[tuple[object, ...], int] = field(default_factory=dict)

    def number(self, job: int, way: Way, classes: tuple[int, ...]) -> int:
        """The row of classes of a job that meet on a way; -1 where there is but one."""
        if way.message or len(classes) == 1:
            return -1
        where = None if way.kind.startswith(FLAT) else way.dimension
        return self.known.setdefault((job, way.group, where, classes), len(self.known))


@dataclass
class _Streams:
    """The streams of what classes serve, numbered as they are met first."""

    shared: SharedLinks | None
    known: dict[Served, int] = field(default_factory=dict)
    found: list[Stream] = field(default_factory=list)
    servers: list[int] = field(default_factory=list)
    """The class of each."""

    def number(self, served: Served) -> int:
        """The number of a stream; -1 where it shares no link."""
        if self.shared is None:
            return -1
        if served not in self.known:
            stream = self.shared.stream(served)
            self.known[served] = len(self.found) if stream.links else -1
            if stream.links:
                self.found.append(stream)
                self.servers.append(served.npus)
        return self.known[served]

    def tail(self, served: Served, half: bool) -> float:
        """See `Tail`."""
        found = Tail() if self.shared is None else self.shared.stream(served).tail
        return found.half if half else found.whole


def build_world(
    jobs: Sequence[Lowered], shared: SharedLinks | None, iterations: Sequence[int], log_rows: int = 0
) -> World:
    """All arrays that the loop plays: so many `iterations` of each job, at least.

    With `log_rows` everything is played, and noted in so many rows (`log`).
    """
    streams, rows = _Streams(shared), _Rows()
    ways = [_ways_of(number, jobs, streams, rows) for number in range(len(jobs))]
    capacities = [] if shared is None else [link.capacity for link in shared.links]
    flows, numbers = pack_flows(streams.found, streams.servers, capacities)
    for lowered in jobs:
        lowered.check_length(max(lowered.paces) * overload(streams.found, capacities))
    alone = numbers[len(streams.found) : 2 * len(streams.found)]
    plan, inputs = _plan(jobs, ways, iterations, not rows.known, alone)
    if log_rows:
        _play_everything(jobs, plan)
    states = _states(jobs, both=bool(rows.known))
    play = _play(jobs, plan, inputs, states.shape[1], bool(rows.known), len(capacities), log_rows)
    if not log_rows:
        _write_collectives(jobs, plan, play)
    programs = _stack([program for lowered in jobs for program in lowered.programs])
    segments = max(len(lowered.lowering.segments) for lowered in jobs)
    learnt = np.zeros((len(programs), segments, SPENT + len(Category)), np.int64)
    orders = [lowered.orders.reshape(-1) for lowered in jobs]
    order = orders[0] if len(orders) == 1 else np.concatenate(orders)
    return _stack([lowered.net for lowered in jobs]), states, programs, order, plan, play, learnt, flows, numbers


def _stack(arrays: list[Ints]) -> Ints:
    """Arrays of different length as rows of one."""
    if len(arrays) == 1:
        return arrays[0].reshape(1, -1)
    out = np.zeros((len(arrays), max(array.size for array in arrays)), np.int64)
    for row, array in zip(out, arrays, strict=True):
        row[: array.size] = array
    return out


def _ways_of(number: int, jobs: Sequence[Lowered], streams: _Streams, rows: _Rows) -> Ints:
    """Stream, row, classes that meet and tail of each class of a job and each way, `[classes, ways, WAY_SIZE]`.

    Tails are in parts of `_OF_TAIL` of what a phase is served for alone; `_expand` has those of phases.
    """
    lowered = jobs[number]
    classes = lowered.job.classes
    first = sum(len(earlier.job.classes.stages) for earlier in jobs[:number])
    ways = lowered.ways[0]
    out = np.empty((len(classes.stages), len(ways), tables.WAY_SIZE), np.int64)
    if streams.shared is None and classes.simple:
        out[:, :, : tables.WAY] = (-1, -1, 1)
        out[:, :, tables.WAY] = np.arange(len(ways))
        out[:, :, tables.TAIL] = 0
        return out
    stages = max(classes.stages) + 1
    for c, stage in enumerate(classes.stages):
        for w, way in enumerate(ways):
            target = -1 if way.onward is None else (stage + (1 if way.onward else -1)) % stages
            served = Served(first + c, way.group, way.dimension, way.kind, target)
            meeting: tuple[int, ...] = (c,)
            if not (way.message or classes.simple) and _belongs(lowered, way.group, stage):
                meeting = classes.meeting(c, way.group, None if way.kind.startswith(FLAT) else way.dimension)
            tail = round(streams.tail(served, way.half) * _OF_TAIL)
            out[c, w] = streams.number(served), rows.number(number, way, meeting), len(meeting), w, tail
    return out


def _expand(lowered: Lowered, ways: Ints) -> Ints:
    """What each phase of the network goes, `[classes, phases, WAY_SIZE]`; tails are times [ps]."""
    expanded: Ints = ways[:, lowered.ways[1]]
    if ways[:, :, tables.TAIL].any():
        first = int(lowered.net[NET_LEVELS_AT]) - lowered.ways[1].size * PHASE_SIZE
        phases = lowered.net[first : int(lowered.net[NET_LEVELS_AT])].reshape(-1, PHASE_SIZE)
        shares = expanded[:, :, tables.TAIL] / _OF_TAIL
        expanded[:, :, tables.TAIL] = np.rint(shares * phases[:, SERIALIZATION]).astype(np.int64)
    return expanded


def _belongs(lowered: Lowered, group: str, stage: int) -> bool:
    """Whether NPUs of a stage are in a group; of groups side by side, only those of one are."""
    placement = lowered.job.classes.placement
    return not group.startswith("group ") or list(placement).index(group) == stage


def _patterns(
    number: int, lowered: Lowered, ways: Ints, alone: Floats, known: dict[tuple[object, ...], int]
) -> list[int]:
    """Which classes of a job have the same passages (`passages`); -1 of classes whose passages must be played."""
    collectives = np.array([not way.message for way in lowered.ways[0]], np.bool_)
    streams = ways[:, :, tables.STREAM]
    slowed = ((streams >= 0) & (np.append(alone, 1.0)[streams] != 1.0)) | (ways[:, :, tables.TAIL] != 0)
    played: Flags = np.logical_or.reduce((slowed | (ways[:, :, tables.ROW] >= 0)) & collectives, axis=1)
    found = []
    for pace, row, plays in zip(lowered.job.classes.slowdowns, streams >= 0, played, strict=True):
        key = (number, pace, row.tobytes())
        found.append(-1 if plays or not row.any() else known.setdefault(key, len(known)))
    return found


def _plan(
    jobs: Sequence[Lowered], ways: list[Ints], iterations: Sequence[int], simple: bool, alone: Floats
) -> tuple[Ints, int]:
    """The plan, and how much room inputs take; `alone` are the paces of streams that meet no other."""
    count = sum(len(lowered.job.classes.stages) for lowered in jobs)
    table, parts, at = [], [], tables.PLAN_HEADER + count * tables.CLASS_SIZE

    def put(array: Ints) -> int:
        nonlocal at
        begin = at
        parts.append(array.reshape(-1))
        at += array.size
        return begin

    inputs = programs = order_at = first = 0
    known_patterns: dict[tuple[object, ...], int] = {}
    for number, (lowered, its_ways) in enumerate(zip(jobs, ways, strict=True)):
        classes, choices = lowered.job.classes, lowered.choices
        lonely = lowered.path.size == 1 or lowered.orders.shape[0] != choices.shape[0]
        chunks, length = choices.shape[1], lowered.orders.shape[1]
        stages = 1 if lonely else choices.shape[0]
        path_at, along_at = put(lowered.path), put(np.argsort(lowered.path))
        receivers_at = put(classes.receivers + first) if not lonely else at
        expanded = _expand(lowered, its_ways)
        ways_at, streams_at = put(expanded), put(its_ways)
        patterns = _patterns(number, lowered, its_ways, alone, known_patterns)
        private_at, addable_at = _put_needs(lowered, _find_solos(lowered, its_ways, alone), put)
        phases_at = int(lowered.net[NET_LEVELS_AT]) - lowered.ways[1].size * PHASE_SIZE
        for c, stage in enumerate(classes.stages):
            row = (
                number,
                programs + lowered.paces.index(classes.slowdowns[c]),
                stage,
                order_at + (stage * length if lowered.orders.shape[0] > 1 else 0),
                length,
                lowered.microbatches,
                stages,
                chunks,
                path_at,
                along_at,
                receivers_at + c * choices.shape[0],
                ways_at + c * expanded.shape[1] * tables.WAY_SIZE,
                phases_at,
                private_at[c],
                addable_at[c],
                inputs,
                streams_at + c * its_ways.shape[1] * tables.WAY_SIZE,
                patterns[c],
                iterations[number],
            )
            inputs += 0 if lonely else 2 * lowered.microbatches * chunks
            table.append(row)
        programs += len(lowered.paces)
        order_at += lowered.orders.size
        first += len(classes.stages)
    period, blocks = _period(jobs, max(iterations)) if simple else (0, 0)
    dimensions = max(count_queues(lowered.job.design) for lowered in jobs)
    types = max(len(lowered.lowering.types) for lowered in jobs)
    header = (count, dimensions, types, max(iterations), period, blocks, tables.PLAN_HEADER)
    return np.concatenate([np.array(header, np.int64), np.array(table, np.int64).reshape(-1), *parts]), inputs


def _find_solos(lowered: Lowered, ways: Ints, alone: Floats) -> Ints:
    """Which types of collectives are solos of a class (`tables.SOLO` …), `[classes, types]`."""
    types = lowered.types_by_way[None]
    streams = ways[:, None, :, tables.STREAM]
    meets = streams >= 0
    never = (ways[:, None, :, tables.ROW] >= 0) | (meets & (np.append(alone, 1.0)[streams] != 1.0))
    never |= ways[:, None, :, tables.TAIL] != 0
    found = np.where((types & meets).any(axis=2), tables.SOLO_UNMET, tables.SOLO)
    return np.where((types & never).any(axis=2), tables.NO_SOLO, found)


def _put_needs(lowered: Lowered, solos: Ints, put: Callable[[Ints], int]) -> tuple[list[int], list[int]]:
    """Offsets, by class, of its solo types, and of the segments that have only such as nothing can meet."""
    known: dict[bytes, tuple[int, int]] = {}
    for its in solos:
        key = its.tobytes()
        if key not in known:
            pairs = zip(lowered.segment_types, lowered.sending, strict=True)
            addable = [_need(types, sends, its == tables.SOLO) for types, sends in pairs]
            known[key] = put(its), put(np.array(addable, np.int64))
    found = [known[its.tobytes()] for its in solos]
    return [at for at, _ in found], [at for _, at in found]


def _need(types: list[int] | None, sends: bool, private: Flags) -> int:
    """What a class needs of a segment."""
    if types is None:
        return tables.HANDS_ON
    if private[types].all():
        return tables.TO_ADD
    return tables.SENDS if sends else tables.TO_PLAY


def _period(jobs: Sequence[Lowered], iterations: int) -> tuple[int, int]:
    """Microbatches and blocks of each stage in which the schedule of the one job repeats; 0 where none does."""
    if len(jobs) > 1 or iterations > 1:
        return 0, 0
    program = jobs[0].job.program
    steady = ORDERS[program.schedule].steady(program.stages, program.chunks)
    if steady is None or program.single is not None:
        return 0, 0
    return steady.period, steady.period * jobs[0].orders.shape[1] // jobs[0].microbatches


def _states(jobs: Sequence[Lowered], both: bool) -> Ints:
    """Idle networks of all classes, and one to learn in (see `moves.learn_segment`).

    `both`: a chunk may fly and give back its slot at different times.
    """
    states = []
    for lowered in jobs:
        chunks = lowered.job.design.system.chunks * (2 if both else 1)
        states.append(new_state(lowered.net, len(lowered.job.classes.stages), *lowered.room(), chunks))
    out = np.empty((sum(map(len, states)) + 1, max(state.shape[1] for state in states)), np.int64)
    first = 0
    for state in states:
        out[first : first + len(state), : state.shape[1]] = state
        first += len(state)
    return out


def _play_everything(jobs: Sequence[Lowered], plan: Ints) -> None:
    """Let nothing be added or waited for that could be played."""
    plan[tables.PERIOD] = plan[tables.PERIOD_BLOCKS] = 0
    rows = plan[tables.PLAN_HEADER :][: int(plan[tables.CLASSES]) * tables.CLASS_SIZE]
    for row in rows.reshape(-1, tables.CLASS_SIZE):
        lowering = jobs[row[tables.JOB]].lowering
        row[tables.PATTERN] = -1
        plan[row[tables.PRIVATE_AT] :][: len(lowering.types)] = 0
        needs = plan[row[tables.ADDABLE_AT] :][: len(lowering.segments)]
        needs[needs == tables.TO_ADD] = tables.TO_PLAY


def _play(
    jobs: Sequence[Lowered], plan: Ints, inputs: int, state_width: int, meets: bool, links: int, log_rows: int
) -> Ints:
    """The play at the beginning; adds to the plan where the inputs of each class lie."""
    classes, dimensions = int(plan[tables.CLASSES]), int(plan[tables.DIMENSIONS])
    width = tables.STRETCH + dimensions
    leaves = 1 << max(1, classes - 1).bit_length()
    issues = max(lowered.room()[0] for lowered in jobs) if meets else 0
    crowd = sum(
        len(lowered.job.classes.stages) * lowered.room()[1] * lowered.job.design.system.chunks for lowered in jobs
    )
    crowd = crowd if meets else 0
    buckets = 1 << 12 if meets else 0
    snapshot = MACHINES_OF + classes * (2 * width + state_width + 6 * dimensions + 32) if plan[tables.PERIOD] else 0
    rows = plan[tables.PLAN_HEADER :][: classes * tables.CLASS_SIZE].reshape(classes, tables.CLASS_SIZE)
    of_passages, rooms = room_for_passages(jobs, plan, state_width, links)
    sizes = {
        tables.MACHINES_AT: classes * width,
        tables.SERVICES_AT: classes * dimensions * tables.SERVICE_SIZE,
        tables.TREE_AT: 2 * leaves,
        tables.TOUCHED_AT: classes,
        tables.MOVES_AT: classes,
        tables.STAMPS_AT: 2 * classes,
        tables.RECORDS_AT: classes * int(plan[tables.ITERATIONS]) * width,
        tables.SEQUENCES_AT: classes * (issues + int(plan[tables.TYPES])) if meets else 0,
        tables.BUCKETS_AT: buckets,
        tables.MEETINGS_AT: crowd * tables.MEETING_SIZE,
        tables.ATTENDEES_AT: crowd * tables.ATTENDEE_SIZE,
        tables.SNAPSHOTS_AT: (KEPT + 1) * snapshot,
        **of_passages,
        tables.LOG_LAST_AT: classes * (dimensions + 1) if log_rows else 0,
        tables.LOG_AT: log_rows * tables.LOG_WIDTH,
    }
    starts = dict(zip(sizes, accumulate(sizes.values(), initial=tables.PLAY_HEADER), strict=False))
    inputs_at = tables.PLAY_HEADER + sum(sizes.values())
    rows[:, tables.INPUTS_AT] += inputs_at
    play = np.zeros(inputs_at + inputs, np.int64)  # the pages of it that are never used are never made
    for column, value in (starts | rooms).items():
        play[column] = value
    if not meets:
        play[tables.SEQUENCES_AT] = 0
    play[[tables.LEAVES, tables.BUCKETS, tables.ISSUES_ROOM]] = leaves, buckets, issues
    play[[tables.UNFINISHED, tables.MACHINE_WIDTH, tables.SNAPSHOT_ROOM]] = classes, width, snapshot
    play[tables.LOG_ROOM] = log_rows
    _empty(play, classes, dimensions)
    return play


def _empty(play: Ints, classes: int, dimensions: int) -> None:
    """Write that nothing is due, in service or met, and no repeat is over."""
    play[[tables.FREE_MEETING, tables.FREE_ATTENDEE]] = -1
    play[play[tables.TREE_AT] :][: 2 * play[tables.LEAVES]] = NEVER
    play[play[tables.BUCKETS_AT] :][: play[tables.BUCKETS]] = -1
    services = play[play[tables.SERVICES_AT] :][: classes * dimensions * tables.SERVICE_SIZE]
    services[tables.ITS_STREAM :: tables.SERVICE_SIZE] = -1
    width = int(play[tables.REPEATED_WIDTH])
    play[play[tables.REPEATED_AT] :][: classes * width][tables.R_LENGTH :: width] = -1


def _write_collectives(jobs: Sequence[Lowered], plan: Ints, play: Ints) -> None:
    """Write the spans of every type of collective: each way that it goes, from its beginning to its end."""
    if play[tables.RUNS_ROOM] == 0:
        return
    for number, lowered in enumerate(jobs):
        for kind, goes in enumerate(lowered.types_by_way):
            its = np.flatnonzero(goes)
            row = play[tables.COLLECTIVES_AT] + (number * plan[tables.TYPES] + kind) * tables.PASSAGE_SIZE
            play[row + tables.P_FIRST], play[row + tables.P_SPANS] = play[tables.RUNS_USED], len(its)
            at = play[tables.RUNS_AT] + play[tables.RUNS_USED] * tables.RUN_SIZE
            spans = play[at : at + len(its) * tables.RUN_SIZE].reshape(-1, tables.RUN_SIZE)
            spans[:, tables.RUN_TO], spans[:, tables.RUN_WAY] = NEVER, its
            play[tables.RUNS_USED] += len(its)
