"""Each of several jobs alone, and all of them side by side, by engine.

Jobs play iteration after iteration. Of the longest one `ITERATIONS` are looked at, of every other one as many as take
as long alone; those after the first count, by their mean. A job that has played its own goes on until all have. All
begin at the same time: jobs that do the same at the same time meet as often as they can.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from simcore.design.design import Design
from simcore.design.jobs import JobShare, shares_of
from simcore.engine.fast.iteration import LOG_ROWS, Timing, time_collective, time_program
from simcore.engine.flow import run as flow
from simcore.engine.flow.classes import find_classes
from simcore.engine.flow.links import DesignLinks, needs_flow
from simcore.engine.flow.of_jobs import PlayedShare, find_jobs_links
from simcore.engine.flow.spans import FlowLog
from simcore.memory.plan import program_of
from simcore.system.meetings import meetings
from simcore.system.placement import place

ITERATIONS = 4
"""Iterations that each job plays at least beside the others."""
MOST_ITERATIONS = 100
"""Iterations of a job that are counted at most."""


@dataclass(frozen=True)
class PlayedJob:
    """A job, what an iteration of it takes alone, and beside the others."""

    share: JobShare
    alone: Timing
    together: Timing
    """The mean of the iterations that count."""
    iterations: int
    """How many were played beside the others; 1 where it meets none."""


class Player(Protocol):
    """An engine that plays jobs side by side."""

    def alone(self, share: JobShare) -> Timing:
        """An iteration of a job where no other one runs."""

    def together(self, shares: Sequence[JobShare], iterations: Sequence[int]) -> list[list[Timing]]:
        """So many iterations of each of several jobs, `[jobs, iterations]`."""


def play_jobs(design: Design, engine: str) -> list[PlayedJob]:
    """Every job of a checked design that `engine` can play."""
    shares = shares_of(design)[0]
    player = _player(design, engine)
    alone = [player.alone(share) for share in shares]
    meeting = sorted({share.number for pair in meetings(design) for share in pair})
    counts = count_iterations([alone[number].total for number in meeting])
    timings = player.together([shares[number] for number in meeting], counts) if meeting else []
    beside = dict(zip(meeting, timings, strict=True))
    return [
        _played(share, timing, beside.get(share.number, [timing])) for share, timing in zip(shares, alone, strict=True)
    ]


def log_jobs(design: Design) -> FlowLog | None:
    """What the jobs do side by side that share links, by the flow engine; None where none do.

    Of a lone job an iteration, and None where the fast engine plays it.
    """
    shares, player = shares_of(design)[0], AsFlows(design)
    if len(shares) == 1:
        return player.log_alone(shares[0])
    meeting = sorted({share.number for pair in meetings(design) for share in pair})
    if not meeting:
        return None
    counts = count_iterations([player.alone(shares[number]).total for number in meeting])
    return player.log([shares[number] for number in meeting], counts)


def count_iterations(alone: Sequence[int]) -> list[int]:
    """How many iterations of each job count, and one more: as many as fill the same time alone."""
    longest = max(alone, default=0)
    return [min(MOST_ITERATIONS, math.ceil(ITERATIONS * longest / time)) for time in alone]


def _played(share: JobShare, alone: Timing, timings: Sequence[Timing]) -> PlayedJob:
    return PlayedJob(share, alone, mean_timing(timings[1:] or timings), len(timings))


def _player(design: Design, engine: str) -> Player:
    if engine == "reference_links":
        return OnLinks(design)
    return AsFlows(design) if engine == "flow" else Apart(engine)


@dataclass(frozen=True)
class Apart:
    """Jobs that share no links, by an engine that knows phases alone."""

    engine: str

    def alone(self, share: JobShare) -> Timing:
        """See `Player.alone`."""
        design = share.design
        program, placement = program_of(design), place(design)[0]
        if self.engine == "fast":
            single = program.single
            return time_collective(design, single) if single else time_program(design, program, placement)[0]
        from simcore.engine import reference  # imports SimPy, which no other engine needs

        if program.single is not None:
            return reference.time_collective(design, program.single)
        return reference.time_program(design, program, placement)

    def together(self, shares: Sequence[JobShare], iterations: Sequence[int]) -> list[list[Timing]]:
        """See `Player.together`."""
        raise ValueError(f"engine {self.engine} plays no jobs that share links")


@dataclass(frozen=True)
class AsFlows:
    """Phases of all jobs as streams that share links."""

    design: Design

    def alone(self, share: JobShare) -> Timing:
        """See `Player.alone`."""
        (job,), shared = self._lower([share])
        if not self._is_needed(share, shared):
            return Apart("fast").alone(share)
        return flow.time_job(job, shared)[0]

    def together(self, shares: Sequence[JobShare], iterations: Sequence[int]) -> list[list[Timing]]:
        """See `Player.together`."""
        jobs, shared = self._lower(shares)
        return flow.time_jobs(jobs, shared, iterations)

    def log(self, shares: Sequence[JobShare], iterations: Sequence[int]) -> FlowLog:
        """What happens when in `together`."""
        jobs, shared = self._lower(shares)
        return flow.log_jobs(jobs, shared, iterations, [share.name for share in shares], LOG_ROWS)

    def log_alone(self, share: JobShare) -> FlowLog | None:
        """What happens when in `alone`; None where no flow engine plays it."""
        jobs, shared = self._lower([share])
        if not self._is_needed(share, shared):
            return None
        return flow.log_jobs(jobs, shared, [1], [""], LOG_ROWS)

    def _is_needed(self, share: JobShare, shared: DesignLinks) -> bool:
        """Whether it takes the flow engine to play a job alone: links of the shared dimension are the cluster's."""
        return needs_flow(share.design.cluster, shared) or bool(self.design.cluster.worn(share.shared))

    def _lower(self, shares: Sequence[JobShare]) -> tuple[list[flow.Job], DesignLinks]:
        jobs, played, first = [], [], 0
        for share in shares:
            program, classes = program_of(share.design), find_classes(share.design, place(share.design)[0])
            jobs.append(flow.Job(share.design, program, classes))
            played.append(PlayedShare(share, program, classes, first))
            first += len(classes.stages)
        return jobs, find_jobs_links(self.design, played)


@dataclass(frozen=True)
class OnLinks:
    """Every message of every job over every link."""

    design: Design

    def alone(self, share: JobShare) -> Timing:
        """See `Player.alone`."""
        from simcore.engine import reference

        self._check_events([share], [1])
        return reference.time_jobs(self.design, [share], [1])[0][0]

    def together(self, shares: Sequence[JobShare], iterations: Sequence[int]) -> list[list[Timing]]:
        """See `Player.together`."""
        from simcore.engine import reference

        self._check_events(shares, iterations)
        return reference.time_jobs(self.design, shares, iterations)

    def _check_events(self, shares: Sequence[JobShare], iterations: Sequence[int]) -> None:
        """Raise `EventBudgetError` where the iterations take too many events."""
        from simcore.engine import reference

        each = [reference.estimate_events(share.design, links=True) for share in shares]
        events = sum(count * times for count, times in zip(each, iterations, strict=True))
        if events > reference.BUDGET:
            found = f"engine reference_links: expected at most {reference.BUDGET:,} events, got about {events:,}"
            fix = "jobs that are smaller, or whose iterations take more alike; fewer layers, microbatches or chunks"
            raise reference.EventBudgetError(f"{found}; what fits: {fix}")


def mean_timing(timings: Sequence[Timing]) -> Timing:
    """The mean of several iterations, to whole picoseconds; its parts sum to its total."""
    count, last = len(timings), timings[-1]

    def mean(times: Iterable[int]) -> int:
        return round(sum(times) / count)

    spent = {part: mean(timing.spent[part] for timing in timings) for part in last.spent}
    bubble = mean(timing.bubble for timing in timings)
    work = tuple(
        done[0]._replace(spent=tuple(map(mean, zip(*(its.spent for its in done), strict=True))))
        for done in zip(*(timing.work for timing in timings), strict=True)
    )
    return Timing(sum(spent.values()) + bubble, spent, bubble, last.stage, last.busy, last.sent, work)
