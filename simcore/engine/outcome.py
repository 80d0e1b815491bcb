"""What an engine's timing says in the words of a result: activity, exposed communication, use of the network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from simcore.design.design import Design
from simcore.engine.fast.iteration import Timing
from simcore.power.activity import activity_of
from simcore.program import Category, Program
from simcore.result import Activity, DimensionUse, ExposedCommunication
from simcore.system.chunks import PICOSECONDS


def activity_in(design: Design, timing: Timing, program: Program | None, spent: Mapping[Category, float]) -> Activity:
    """What the NPU does whose time the result tells; a collective alone is waited for."""
    waits, bubble = exposed_in(spent).total, timing.bubble / PICOSECONDS + spent.get(Category.OTHER, 0.0)
    if program is None:
        return Activity(wait=waits, idle=bubble)
    working = spent.get(Category.COMPUTE, 0.0), spent.get(Category.OPTIMIZER, 0.0)
    return replace(activity_of(design, program, timing.stage, *working), wait=waits, idle=bubble)


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
