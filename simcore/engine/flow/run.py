"""The flow engine's runs: a training iteration, a single collective, several jobs side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simcore.engine.fast.iteration import StageWork, Timing, block_issues, stage_use
from simcore.engine.flow import tables
from simcore.engine.flow.classes import Classes, find_classes
from simcore.engine.flow.loop import play_all
from simcore.engine.flow.lowered import Job, Lowered, lower
from simcore.engine.flow.plan import build_world
from simcore.engine.flow.rates import MET, SOLVED
from simcore.engine.flow.shared import SharedLinks
from simcore.engine.flow.spans import FlowLog, read_log
from simcore.engine.flow.tables import Ints, World
from simcore.program import Category
from simcore.schedule import ORDERS

__all__ = ["Classes", "Counts", "Job", "find_classes", "log_jobs", "time_job", "time_jobs"]


@dataclass(frozen=True)
class Counts:
    """What a run counted."""

    instants: int
    """Different times at which something happened."""
    solved: int
    """States of contention that were solved."""
    met: int
    """States of contention that were met again."""
    added: int
    """Microbatches that were added and not played."""
    skipped: int
    """Passages, repeats and collectives that were waited for and not played."""
    replayed: int
    """Skipped ones that were played after all, from their beginning."""


def time_jobs(jobs: Sequence[Job], shared: SharedLinks | None, iterations: Sequence[int]) -> list[list[Timing]]:
    """Play several jobs at once, `iterations` of each: the time of every one of these, `[jobs, iterations]`.

    `Served.npus` counts the classes of the jobs one after the other: those of the first job, of the second one, ….
    A job begins an iteration when all its classes have finished the one before, and goes on until all jobs have played
    theirs.
    """
    lowered = [lower(job) for job in jobs]
    world = build_world(lowered, shared, iterations)
    play_all(world)
    return [
        [_timing(lowered, world, number, iteration) for iteration in range(count)]
        for number, count in enumerate(iterations)
    ]


def time_job(job: Job, shared: SharedLinks | None = None) -> tuple[Timing, Counts]:
    """Time of a training iteration, or of a single collective, of all its groups.

    Raises `InputError` where it takes longer than 64 bits can say.
    """
    lowered = [lower(job)]
    world = build_world(lowered, shared, (1,))
    play_all(world)
    return _timing(lowered, world, 0, 0), _count(world)


def log_jobs(
    jobs: Sequence[Job], shared: SharedLinks | None, iterations: Sequence[int], names: Sequence[str], rows: int
) -> FlowLog:
    """What happens while several jobs, or one, are played as `time_jobs` plays them, as far as `rows` of the log go."""
    lowered = [lower(job) for job in jobs]
    world = build_world(lowered, shared, iterations, rows)
    play_all(world)
    return read_log(lowered, names, world)


def _count(world: World) -> Counts:
    play, flows = world[5], world[7]
    counts = play[tables.EVENTS], flows[SOLVED], flows[MET]
    return Counts(*map(int, (*counts, *play[[tables.JUMPED, tables.SKIPPED, tables.REPLAYED]])))


def _timing(jobs: Sequence[Lowered], world: World, number: int, iteration: int) -> Timing:
    """What the class of a job did that finishes an iteration last."""
    plan, play = world[4], world[5]
    lowered = jobs[number]
    classes = lowered.job.classes
    first = sum(len(earlier.job.classes.stages) for earlier in jobs[:number])
    records = _records(plan, play)[first : first + len(classes.stages)]
    finish = records[:, iteration, tables.FINISH]
    keys = zip((-finish).tolist(), classes.stages, classes.representatives, strict=True)
    last = min(enumerate(keys), key=lambda item: item[1])[0]
    did = records[:, iteration] - (records[:, iteration - 1] if iteration else 0)
    before = int(records[:, iteration - 1, tables.FINISH].max()) if iteration else 0
    row = did[last]
    stage = classes.stages[last]
    busy, sent = stage_use(lowered.lowering, _issues(lowered, stage), len(lowered.job.design.cluster.dimensions))
    busy = [time + int(more) for time, more in zip(busy, row[tables.STRETCH :], strict=False)]
    spent = {category: int(row[tables.SPENT + category]) for category in Category}
    total = int(finish[last]) - before
    if lowered.job.program.single is not None:
        spent = {Category.DATA: total}
    each = did[:, tables.SPENT : tables.STRETCH].tolist() if len(did) > 1 else []
    sums = [tuple(size * time for time in its) for size, its in zip(classes.sizes, each, strict=False)]
    work = tuple(map(StageWork, classes.stages, classes.sizes, sums))
    stage = stage if lowered.path.size > 1 else 0
    return Timing(total, spent, int(row[tables.BUBBLE]), stage, busy, sent, work)


def _records(plan: Ints, play: Ints) -> Ints:
    """What each class had done at the end of each iteration, `[classes, iterations, machine]`."""
    shape = int(plan[tables.CLASSES]), int(plan[tables.ITERATIONS]), int(play[tables.MACHINE_WIDTH])
    at = int(play[tables.RECORDS_AT])
    return play[at : at + int(np.prod(shape))].reshape(shape)


def _issues(lowered: Lowered, stage: int) -> dict[int, int]:
    """How often an NPU of a stage issues each type of collective in an iteration."""
    program = lowered.job.program
    if program.single is not None:
        return lowered.lowering.issues(int(lowered.choices[stage, 0, 0]))
    split = ORDERS[program.schedule].splits
    return block_issues(lowered.lowering, lowered.choices[stage].tolist(), program.microbatches, split)
