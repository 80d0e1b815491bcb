"""Each of several jobs alone, and all of them side by side, by engine.

Jobs play iteration after iteration until each has finished `ITERATIONS`; those after the first count, by their mean.
All begin at the same time: jobs that do the same at the same time meet as often as they can.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from simcore.design.design import Design
from simcore.design.jobs import JobShare, shares_of
from simcore.engine.fast.iteration import Timing, time_collective, time_program
from simcore.memory.plan import program_of
from simcore.system.meetings import meetings
from simcore.system.placement import place

ITERATIONS = 4
"""Iterations that each job plays at least beside the others."""


@dataclass(frozen=True)
class PlayedJob:
    """A job, what an iteration of it takes alone, and beside the others."""

    share: JobShare
    alone: Timing
    together: Timing
    """The mean of the iterations that count."""
    iterations: int
    """How many were played beside the others."""


def play_jobs(design: Design, engine: str) -> list[PlayedJob]:
    """Every job of a checked design that `engine` can play."""
    shares = shares_of(design)[0]
    if engine == "reference_links":
        return _play_on_links(design, shares)
    alone = [time_alone(share.design, engine) for share in shares]
    return [PlayedJob(share, timing, timing, 1) for share, timing in zip(shares, alone, strict=True)]


def time_alone(design: Design, engine: str) -> Timing:
    """An iteration of a job alone, by an engine that knows phases alone."""
    program, placement = program_of(design), place(design)[0]
    if engine == "fast":
        single = program.single
        return time_collective(design, single) if single else time_program(design, program, placement)[0]
    from simcore.engine import reference  # imports SimPy, which no other engine needs

    if program.single is not None:
        return reference.time_collective(design, program.single)
    return reference.time_program(design, program, placement)


def _play_on_links(design: Design, shares: Sequence[JobShare]) -> list[PlayedJob]:
    from simcore.engine import reference

    events = [reference.estimate_events(share.design, links=True) for share in shares]
    _check_events(sum(events) * (1 + ITERATIONS))
    alone = [reference.time_jobs(design, [share], 1)[0][0] for share in shares]
    meeting = {share.number for pair in meetings(design) for share in pair}
    longest = max((alone[number].total for number in meeting), default=0)
    played = {number: ITERATIONS * longest / alone[number].total for number in meeting}
    _check_events(math.ceil(sum(events[number] * times for number, times in played.items())))
    listed = [shares[number] for number in sorted(meeting)]
    timings = reference.time_jobs(design, listed, ITERATIONS) if listed else []
    beside = {share.number: found for share, found in zip(listed, timings, strict=True)}
    return [
        _played(share, timing, beside.get(share.number, [timing])) for share, timing in zip(shares, alone, strict=True)
    ]


def _check_events(events: int) -> None:
    from simcore.engine import reference

    if events > reference.BUDGET:
        found = f"engine reference_links: expected at most {reference.BUDGET:,} events, got about {events:,}"
        fix = "jobs that are smaller, or whose iterations take more alike; fewer layers, microbatches or chunks"
        raise reference.EventBudgetError(f"{found}; what fits: {fix}")


def _played(share: JobShare, alone: Timing, timings: Sequence[Timing]) -> PlayedJob:
    return PlayedJob(share, alone, mean_timing(timings[1:] or timings), len(timings))


def mean_timing(timings: Sequence[Timing]) -> Timing:
    """The mean of several iterations, to whole picoseconds; its parts sum to its total."""
    count, last = len(timings), timings[-1]
    spent = {part: round(sum(timing.spent[part] for timing in timings) / count) for part in last.spent}
    bubble = round(sum(timing.bubble for timing in timings) / count)
    return Timing(sum(spent.values()) + bubble, spent, bubble, last.stage, last.busy, last.sent)
