"""The fast engine: one representative NPU per pipeline stage, compiled, exact where all NPUs of a stage do the same.

Its cost does not grow with the number of NPUs. It plays what is in flight event by event in integer picoseconds, and
adds what it has already played (`simcore.engine.pipeline`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcore.compute import Roofline
from simcore.design import CollectiveWorkload, Design, TransformerWorkload
from simcore.engine import pipeline, queues
from simcore.engine.lower import Lowering, lower_schedule
from simcore.program import Category, Program, Start, Waits
from simcore.schedule import SCHEDULES
from simcore.system.placement import Placement, whole

LOG_ROWS = 400_000


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


@dataclass(frozen=True)
class Trace:
    """What a traced run adds: the log's rows (see `pipeline.Log`), and what its numbers mean."""

    rows: queues.Ints
    operators: list[tuple[int, int, int]]
    names: dict[int, str]
    """Names of the compute operators, by index."""
    chunks: int


def time_collective(design: Design) -> Timing:
    """Time of a single collective over all NPUs."""
    workload = design.workload
    assert isinstance(workload, CollectiveWorkload)
    lowering = Lowering(design, {"all": whole(design)}, Roofline(design.cluster.npu, "fp32"))
    kind = lowering.collective(workload.collective, "all", workload.size)
    net = lowering.network()
    dimensions = len(design.cluster.dimensions)
    state = queues.new_state(1, dimensions, 1, design.system.chunks)[0]
    queues.start(net, state, kind, int(Waits.NOW))
    queues.wait(net, state, int(Waits.NOW))
    total = int(state[queues.NOW])
    busy, sent = stage_use(lowering, {kind: 1}, dimensions)
    return Timing(total, {Category.DATA: total}, 0, 0, busy, sent)


def time_program(design: Design, program: Program, placement: Placement, trace: bool = False) -> tuple[Timing, Trace]:
    """Time of a training iteration."""
    workload = design.workload
    assert isinstance(workload, TransformerWorkload)
    lowering = Lowering(design, placement, Roofline(design.cluster.npu, workload.precision))
    programs = lower_schedule(lowering, program)
    stages, dimensions = program.stages, len(design.cluster.dimensions)
    issued, outstanding = _capacity(program)
    states = queues.new_state(stages, dimensions, issued, outstanding * design.system.chunks)
    segments = np.array(lowering.segments, np.int64)
    blocks = np.array(lowering.blocks, np.int64)
    width = pipeline.SPENT + len(Category)
    spent = np.zeros((stages, len(Category)), np.int64)
    bubble = np.zeros(stages, np.int64)
    log = np.zeros((LOG_ROWS if trace else 0, 5), np.int64)
    missing = pipeline.run(
        lowering.network(),
        states,
        np.array(lowering.operators, np.int64),
        segments,
        blocks,
        np.zeros((len(segments), width), np.int64),
        np.zeros((len(blocks), width), np.int64),
        np.zeros(len(lowering.types), np.int64),
        SCHEDULES[program.schedule].order(stages, program.microbatches, program.chunks),
        programs,
        program.microbatches,
        spent,
        bubble,
        log,
    )
    if missing:
        raise RuntimeError(f"pipeline schedule {program.schedule} waits for itself: {missing} blocks never ran")
    finish = states[:, queues.NOW]
    last = int(np.argmax(finish))
    busy, sent = stage_use(lowering, block_issues(lowering, programs[last].tolist(), program.microbatches), dimensions)
    used = {category: int(spent[last, category]) for category in Category}
    timing = Timing(int(finish[last]), used, int(bubble[last]), last, busy, sent)
    return timing, Trace(log[1 : 1 + log[0, 0]] if trace else log, lowering.operators, lowering.names, program.chunks)


def _capacity(program: Program) -> tuple[int, int]:
    """Most collectives a stage issues while its network is busy, and most that are outstanding at the same time.

    Only gradient buckets outlive their block, so a network is busy at most from the first of them to the end.
    """
    starts = [
        [(operator, segment.repeat) for segment in part.last_backward for operator in segment.operators]
        for part in program.parts
    ]
    issued = max(sum(repeat for op, repeat in part if isinstance(op, Start)) for part in starts) + 4
    buckets = max(
        sum(repeat for op, repeat in part if isinstance(op, Start) and op.waits == Waits.GRADIENTS) for part in starts
    )
    blocks = 1 if program.chunks == 1 else 2 * program.stages * program.chunks
    return issued * min(blocks, 2 * program.microbatches * program.chunks), buckets * program.chunks + 4


def block_issues(lowering: Lowering, programs: list[list[int]], microbatches: int) -> dict[int, int]:
    """How often a stage with `programs` `[chunks, 4]` issues each type of collective in the iteration."""
    counts: dict[int, int] = {}
    for chunk, (forward, backward, last, final) in enumerate(programs):
        ends = final if chunk == 0 else last
        for block, times in ((forward, microbatches), (backward, microbatches - 1), (ends, 1)):
            for segment in range(*lowering.blocks[block]):
                first, end, repeat = lowering.segments[segment]
                for code, argument, _ in lowering.operators[first:end]:
                    if code in (pipeline.START, pipeline.BLOCKING):
                        counts[argument] = counts.get(argument, 0) + times * repeat
    return counts


def stage_use(lowering: Lowering, counts: dict[int, int], dimensions: int) -> tuple[list[int], list[float]]:
    """Busy time [ps] and bytes sent [B] per dimension for `counts` of each type of collective."""
    busy, sent = [0] * dimensions, [0.0] * dimensions
    for kind, count in counts.items():
        for path, times in lowering.types[kind][1].counted():
            for phase in path:
                busy[phase.dimension] += count * times * phase.serialization
                sent[phase.dimension] += count * times * phase.sent
    return busy, sent
