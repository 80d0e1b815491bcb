"""The fast engine: one representative NPU per pipeline stage, compiled, exact where all NPUs of a stage do the same.

Its cost does not grow with the number of NPUs. It plays what is in flight event by event in integer picoseconds, and
adds what it has already played (`simcore.engine.fast.pipeline`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.compute import times_of
from simcore.design.design import Design
from simcore.engine import unflushed
from simcore.engine.fast import pipeline
from simcore.engine.fast.itinerary import AT_STAGE, Itinerary, itinerary
from simcore.engine.fast.lower import Lowering
from simcore.engine.fast.solo import rehearse
from simcore.engine.fast.state import ALONE, Ints, locate_type, new_state
from simcore.engine.fast.steady import extend
from simcore.engine.fast.sums import add_serially, sum_blocks
from simcore.engine.fast.tables import BUBBLE, CLOCK, LOG_ROWS_USED, LOG_SIZE, NPU_SPENT
from simcore.program import Category, Program, Start
from simcore.schedule import ORDERS
from simcore.system.chunks import LONGEST, PICOSECONDS, too_long_error
from simcore.system.interference import UNIT, slowdowns
from simcore.system.placement import Placement, place
from simcore.system.streamed import count_queues

LOG_ROWS = 400_000


class StageWork(NamedTuple):
    """What NPUs of a stage, or of several that are alike, do in an iteration; the rest of it they idle."""

    stage: int
    """One of these stages."""
    npus: int
    spent: tuple[int, ...]
    """Time of all these NPUs together, by category [ps]."""


@dataclass(frozen=True)
class Timing:
    """What an engine found for the NPU of the stage that finishes last [ps], and what its network did."""

    total: int
    spent: dict[Category, int]
    bubble: int
    stage: int
    busy: list[int]
    """Time each dimension served [ps]."""
    sent: list[float]
    """Bytes sent over each dimension [B]."""
    work: tuple[StageWork, ...] = ()
    """What all NPUs do; empty where that one stands for them."""


@dataclass(frozen=True)
class Trace:
    """What a traced run adds: the log's rows (see `fast.tables`), and what its numbers mean."""

    rows: Ints
    operators: list[tuple[int, int, int]]
    names: dict[int, str]
    """Names of the compute operators, by index."""


def time_collective(design: Design, single: Start) -> Timing:
    """Time of a single collective over all NPUs, or of the slowest of several groups, which share no queue."""
    groups = {slices: name for name, slices in place(design)[0].items()}  # equal groups take equally long
    timings = [_time_group(design, single, {name: slices}) for slices, name in groups.items()]
    return max(timings, key=lambda timing: timing.total)


def _time_group(design: Design, single: Start, placement: Placement) -> Timing:
    lowering = Lowering(design, placement, times_of(design))
    kind = lowering.collective(single.kind, next(iter(placement)), single.size)
    if (serial := float(lowering.serial().sum())) >= LONGEST:
        raise too_long_error(serial / PICOSECONDS)
    net = lowering.network()
    dimensions = len(design.cluster.dimensions)
    state = new_state(net, 1, 1, 1, design.system.chunks)[0]
    rehearse(net, state)
    total = int(net[locate_type(net, kind) + ALONE])
    busy, sent = stage_use(lowering, {kind: 1}, dimensions)
    return Timing(total, {Category.DATA: total}, 0, 0, busy, sent)


def time_program(design: Design, program: Program, placement: Placement, trace: bool = False) -> tuple[Timing, Trace]:
    """Time of a training iteration.

    Where the schedule has a steady phase, fewer microbatches are played first; if they settle into a period, the rest
    is added, and else all are played. A traced run plays all. Where the schedule never flushes, it is an iteration of
    the steady phase (`simcore.engine.unflushed`).
    """
    lowering = Lowering(design, placement, times_of(design))
    choices = lowering.add(program)
    flushes = ORDERS[program.schedule].flushes
    packed = lowering.instructions.pack(choices, unflushed.updated_after(program))
    sums = sum_blocks(packed, lowering.serial())
    slowest = 1 + max(slowdowns(design)) / UNIT
    iterations = 1 if flushes else unflushed.most_iterations(program)
    if (serial := slowest * iterations * add_serially(choices, sums, program.microbatches, program.updates)) >= LONGEST:
        raise too_long_error(serial / PICOSECONDS)
    net = lowering.network()  # its times, chunks in a row among them, fit 64 bits as those of the iteration do
    rows = LOG_ROWS if trace else 0
    if flushes:
        run = _play_whole(lowering, net, packed, program, (choices, sums), rows)
    else:
        run = _play_unflushed(lowering, net, packed, program, sums, rows)
    last = int(np.argmax(run.npus[:, CLOCK])) if flushes else unflushed.slowest(run.npus[:, [CLOCK, BUBBLE]].tolist())
    split = ORDERS[program.schedule].splits
    issues = block_issues(lowering, choices[last].tolist(), program.microbatches, split, program.updates)
    busy, sent = stage_use(lowering, issues, len(design.cluster.dimensions))
    did = run.npus[last].tolist()
    used = dict(zip(Category, did[NPU_SPENT:], strict=True))
    noted = run.log[1 : 1 + run.log[0, LOG_ROWS_USED]] if trace else run.log
    each = run.npus[:, NPU_SPENT:]
    alike = program.alike_stages if program.stages > 1 else ()
    work = tuple(StageWork(stages[0], len(stages), (*each[stages].sum(axis=0).tolist(),)) for stages in alike)
    return Timing(did[CLOCK], used, did[BUBBLE], last, busy, sent, work), Trace(
        noted, lowering.operators, lowering.names() if trace else {}
    )


@dataclass(frozen=True)
class _Run:
    """What a run of the compiled loop leaves behind [ps], see `simcore.engine.fast.tables`."""

    npus: Ints
    done: Ints
    learnt: Ints
    log: Ints


def _play_whole(
    lowering: Lowering,
    net: Ints,
    packed: Ints,
    program: Program,
    of_blocks: tuple[Ints, NDArray[np.float64]],
    log_rows: int,
) -> _Run:
    """An iteration that ends with a flush; `of_blocks` are the choices of stages, and the sums of blocks."""
    choices, sums = of_blocks
    known = choices + len(lowering.segments)
    schedule, played = ORDERS[program.schedule], program.microbatches
    steady = None if log_rows else schedule.steady(program.stages, program.chunks)
    if steady is not None:
        played = schedule.shortened(program.stages, played, program.chunks)
    while True:
        room = room_for(program, sums, played)
        states = new_state(net, program.stages, *room, lowering.design.system.chunks)
        run = _play(net, states, packed, program, played, _visits(program, played), log_rows)
        missing = program.microbatches - played
        if steady is None or not missing or extend(run.npus, run.done, run.learnt, known, steady, missing):
            return run
        played = min(program.microbatches, 2 * played + (program.microbatches - 2 * played) % steady.period)


def _play_unflushed(
    lowering: Lowering, net: Ints, packed: Ints, program: Program, sums: NDArray[np.float64], log_rows: int
) -> _Run:
    """An iteration of the steady phase, from one batch to the next; a log is of all that was played before it, too."""
    runs: dict[int, _Run] = {}

    def ends_after(iterations: int) -> list[int]:
        if iterations not in runs:
            played = unflushed.played_microbatches(program, iterations)
            room = room_for(program, sums, played)
            states = new_state(net, program.stages, *room, lowering.design.system.chunks)
            visits = _visits(program, played)
            kept = unflushed.kept_blocks(_order(program, played), program, iterations)
            number = np.empty(len(visits), np.int64)
            for stage in range(program.stages):
                its = visits[:, AT_STAGE] == stage
                number[its] = np.arange(its.sum())
            begun = visits[number < kept[visits[:, AT_STAGE]]]
            runs[iterations] = _play(net, states, packed, program, played, begun, log_rows)
        return [int(end) for end in runs[iterations].npus[:, CLOCK]]

    begin = unflushed.settled_after(ends_after, program)
    last = runs[begin + 1]
    return replace(last, npus=last.npus - runs[begin].npus)


def _order(program: Program, microbatches: int) -> Ints:
    """The blocks of each stage."""
    return ORDERS[program.schedule].order(program.stages, microbatches, program.chunks)


def _visits(program: Program, microbatches: int) -> Itinerary:
    """The order in which the blocks of all stages are played."""
    sizes = program.stages, microbatches, program.chunks
    return itinerary(ORDERS[program.schedule], *sizes, unflushed.updated_after(program))


def _play(
    net: Ints, states: Ints, packed: Ints, program: Program, microbatches: int, visits: Itinerary, log_rows: int
) -> _Run:
    done = np.zeros((2, microbatches, program.stages * program.chunks + 2), np.int64)
    npus = np.zeros((program.stages, NPU_SPENT + len(Category)), np.int64)
    log = np.zeros((log_rows, LOG_SIZE), np.int64)
    order = _order(program, microbatches)
    learnt = pipeline.run(net, states, packed, order, visits, done.reshape(-1), npus, log)
    return _Run(npus, done, learnt, log)


def room_for(program: Program, sums: NDArray[np.float64], microbatches: int) -> tuple[int, int]:
    """Most collectives a stage issues while its network is busy, and most that are outstanding at the same time.

    Only gradient buckets outlive their block, so a network is busy at most from the first of them to the end: over the
    last block of each chunk, or two where the schedule splits the backward pass.
    """
    ends = 2 if ORDERS[program.schedule].splits else 1
    _, issued, buckets = map(int, (ends * sums.max(axis=0)).tolist())
    blocks = 1 if program.chunks == 1 else 2 * ends * program.stages * program.chunks
    return (issued + 4) * min(blocks, (1 + ends) * microbatches * program.chunks), buckets * program.chunks + 4


def block_counts(programs: list[list[int]], microbatches: int, split: bool, updates: int = 1) -> list[tuple[int, int]]:
    """The blocks of a stage with `programs` `[chunks, KINDS]`, each with how often it plays it in the iteration.

    `updates` is how often weights are updated in it. Blocks beside no other microbatch count as those beside another:
    they issue and compute the same, and take no less.
    """
    counts: list[tuple[int, int]] = []
    for chunk, (forward, backward, last, final, weights, first, last_weights, *_) in enumerate(programs):
        counts += [(first, 1), (forward, microbatches - 1)]
        counts += [(backward, microbatches - updates), (weights, microbatches - 1)]
        if split:
            counts.append((last, 1))
        ends = last_weights if split else last
        counts.append((final if chunk == 0 else ends, updates))
    return counts


def block_issues(
    lowering: Lowering, programs: list[list[int]], microbatches: int, split: bool = False, updates: int = 1
) -> dict[int, int]:
    """How often a stage with `programs` `[chunks, KINDS]` issues each type of collective in the iteration.

    `split`: the schedule splits the backward pass. `updates`: how often weights are updated in it.
    """
    counts: dict[int, int] = {}
    for block, times in block_counts(programs, microbatches, split, updates):
        for kind, count in lowering.issues(block).items() if times else ():
            counts[kind] = counts.get(kind, 0) + times * count
    return counts


def stage_use(lowering: Lowering, counts: dict[int, int], dimensions: int) -> tuple[list[int], list[float]]:
    """Busy time [ps] and bytes sent [B] per dimension for `counts` of each type of collective."""
    queues = max(dimensions, count_queues(lowering.design))
    busy, sent = [0] * queues, [0.0] * queues
    for kind, count in counts.items():
        for times, dimension, serialization, each in lowering.phases(kind):
            busy[dimension] += count * times * serialization
            sent[dimension] += count * times * each
    return busy[:dimensions], sent[:dimensions]
