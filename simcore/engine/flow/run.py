"""The flow engine's runs: a training iteration, a single collective, several jobs side by side.

Signatures to build on; `loop` plays them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simcore.design.design import Design
from simcore.engine.fast.iteration import Timing
from simcore.engine.flow.classes import Classes, Ints, find_classes
from simcore.engine.flow.shared import SharedLinks
from simcore.program import Program, Start
from simcore.system.placement import Placement

__all__ = ["Classes", "Job", "find_classes", "time_collective", "time_jobs", "time_program"]


@dataclass(frozen=True)
class Job:
    """A Program on the NPUs of a cluster that are its own."""

    design: Design
    """What it is, its own NPUs as a cluster: its chunks, algorithms, policies and times of operators are this one's."""
    program: Program
    classes: Classes
    """Of its NPUs, in its own placement."""


def time_jobs(jobs: Sequence[Job], shared: SharedLinks | None = None, iterations: int = 1) -> list[list[Timing]]:
    """Play several jobs at once, `[jobs, iterations]`; times of later iterations are those of them alone.

    `Served.npus` counts the classes of the jobs one after the other: those of the first job, of the second one, ….
    With `iterations` above 1 each job plays so many in a row, and goes on playing until all have played theirs.
    """
    raise NotImplementedError


def time_program(
    design: Design,
    program: Program,
    placement: Placement,
    shared: SharedLinks | None = None,
    colours: Ints | None = None,
) -> Timing:
    """Time of a training iteration; `colours` as of `find_classes`."""
    raise NotImplementedError


def time_collective(
    design: Design, single: Start, shared: SharedLinks | None = None, colours: Ints | None = None
) -> Timing:
    """Time of a single collective, of all its groups."""
    raise NotImplementedError
