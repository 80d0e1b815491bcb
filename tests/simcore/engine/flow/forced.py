"""The flow engine's loop, played even where the fast engine is exact, and what two engines must agree in."""

from __future__ import annotations

import math

from simcore.design.design import Design
from simcore.engine.fast import iteration
from simcore.engine.fast.iteration import Timing
from simcore.engine.flow.run import Job, find_classes, time_job
from simcore.memory.plan import program_of
from simcore.system.placement import place


def flow_timing(design: Design) -> Timing:
    """What the loop finds where nothing is shared."""
    return time_job(Job(design, program_of(design), find_classes(design, place(design)[0])))[0]


def fast_timing(design: Design) -> Timing:
    """What the fast engine finds."""
    program = program_of(design)
    if program.single is not None:
        return iteration.time_collective(design, program.single)
    return iteration.time_program(design, program, place(design)[0])[0]


def reference_timing(design: Design) -> Timing:
    """What every NPU for itself finds."""
    from simcore.engine import reference

    program = program_of(design)
    if program.single is not None:
        return reference.time_collective(design, program.single)
    return reference.time_program(design, program, place(design)[0])


def agree(one: Timing, other: Timing) -> bool:
    """Whether two timings are equal to the picosecond, and in bytes up to the order of sums."""
    times = [(t.total, t.spent, t.bubble, t.stage, t.busy) for t in (one, other)]
    return times[0] == times[1] and all(
        math.isclose(a, b, rel_tol=1e-12) for a, b in zip(one.sent, other.sent, strict=True)
    )
