"""What an engine's timing says in the words of a result: activity, exposed communication, use of the network."""

from __future__ import annotations

from collections.abc import Mapping

from simcore.design.design import Design
from simcore.engine.fast.iteration import StageWork, Timing
from simcore.power.activity import shares_of_arithmetic
from simcore.program import Category, Program
from simcore.result import Activity, DimensionUse, ExposedCommunication
from simcore.system.chunks import PICOSECONDS


def activity_in(design: Design, timing: Timing, program: Program | None) -> Activity:
    """What an NPU does on average; a collective alone is waited for."""
    own = tuple(timing.spent.get(category, 0) for category in Category)
    work = timing.work or (StageWork(timing.stage, 1, own),)
    npus = sum(its.npus for its in work)
    spent = [sum(times) for times in zip(*(its.spent for its in work), strict=True)]
    waiting = sum(spent) - sum(spent[category] for category in _NO_WAIT)
    idle = npus * timing.total - sum(spent) + spent[Category.OTHER]
    count = npus * PICOSECONDS
    if program is None:
        return Activity(wait=waiting / count, idle=idle / count)
    shares = shares_of_arithmetic(design, program, dict.fromkeys(its.stage for its in work))
    computing: dict[float, int] = {}  # by the share of it that is arithmetic, so that engines sum in the same order
    for its in work:
        share = shares[its.stage]
        computing[share] = computing.get(share, 0) + its.spent[Category.COMPUTE]
    tensor = sum(share * (time / count) for share, time in sorted(computing.items()))
    memory = (spent[Category.COMPUTE] + spent[Category.OPTIMIZER]) / count - tensor
    return Activity(tensor=tensor, memory=max(0.0, memory), wait=waiting / count, idle=idle / count)


_NO_WAIT = Category.COMPUTE, Category.OPTIMIZER, Category.OTHER


def exposed_in(spent: Mapping[Category, float]) -> ExposedCommunication:
    """Time waited for collectives, by group, from the time spent on each [s]."""
    return ExposedCommunication(
        tensor=spent.get(Category.TENSOR, 0.0),
        data=spent.get(Category.DATA, 0.0),
        pipeline=spent.get(Category.PIPELINE, 0.0),
        expert=spent.get(Category.EXPERT, 0.0),
        context=spent.get(Category.CONTEXT, 0.0),
        ungrouped=spent.get(Category.UNGROUPED, 0.0),
    )


def use_in(design: Design, timing: Timing, seconds: float) -> tuple[DimensionUse, ...]:
    """What the network did for an NPU in an iteration of so many seconds."""
    return tuple(
        DimensionUse(
            dimension=f"{index}: {dimension.topology}({dimension.size})",
            bytes_per_npu=sent,
            busy_s=busy / PICOSECONDS,
            utilization=min(1.0, sent / (dimension.bandwidth * seconds)),  # picoseconds round times of small phases
        )
        for index, (dimension, busy, sent) in enumerate(
            zip(design.cluster.dimensions, timing.busy, timing.sent, strict=True)
        )
    )
