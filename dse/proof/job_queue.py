"""The jobs of a shape, best first, by what they compute: a search with two keys.

A job (degrees, memory savings) is known by what one layer takes at first, which costs microseconds, and by its program
when its turn comes. A job whose program is made and whose memory fits goes back into the queue by what that computes;
when it is first again, no job that is left computes for less. The certificate (`dse.proof.relax`) looks for the least
time in this order, and the guided sampler (`dse.search.guided.led`) for candidates. For the least energy the order is
by a weighted sum of the time and of what NPUs take for their work in it (`Goal`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush

import numpy as np

from dse.proof.branch import Brancher
from dse.proof.job_list import JobList, QueuedJob
from dse.proof.join import join_designs
from dse.proof.parts import Networks, SpacePart
from simcore.bounds.compute import compute_seconds, layers_joules, layers_seconds, shared_seconds, work_joules
from simcore.check.check import check
from simcore.design.design import Design
from simcore.workload.base import workload_program


@dataclass(frozen=True)
class Goal:
    """What is to be least: so much per second of an iteration, and so much per joule that an NPU takes above idle."""

    metric: str
    per_second: float = 1.0
    per_joule: float = 0.0

    def value_of(self, seconds: float, joules: float) -> float:
        """Its value."""
        return self.per_second * seconds + self.per_joule * max(joules, 0.0)


TIME = Goal("iteration_time")


@dataclass(order=True, frozen=True)
class Entry:
    """A job in the queue, by what is known of its compute so far."""

    least: float
    """The goal's value whatever the network."""
    number: int
    job: SpacePart = field(compare=False)
    networks: tuple[Networks, ...] = field(compare=False)
    """Where it is looked at next."""
    after: tuple[Networks, ...] | None = field(compare=False)
    """Networks to look at after those of `networks`; None: each of the same ones by itself."""
    fits: bool = field(default=False, compare=False)
    """Whether it is known that it can be; then `least` is that of its program."""
    joules: float = field(default=0.0, compare=False)
    """What every NPU takes above idle, where that matters to the goal [J]."""
    open_layout: Design | None = field(default=None, compare=False)
    """Its design, where stages or recomputation are solved for each network: no Program bounds it on all of them."""
    alike: tuple[QueuedJob, ...] = field(default=(), compare=False)
    """Later jobs that are known by the same value so far."""


class JobQueue:
    """Jobs by the least value of a goal; nothing is done before `begin`."""

    def __init__(self, entries: Iterator[Entry], brancher: Brancher, goal: Goal) -> None:
        self._entries, self._brancher, self.goal = entries, brancher, goal
        self._queue: list[Entry] | None = None

    @property
    def has_begun(self) -> bool:
        """Whether the first key of all jobs is known."""
        return self._queue is not None

    @property
    def first_entry(self) -> Entry | None:
        """The best of the jobs that are left, as far as that is known; None where none is left."""
        assert self._queue is not None
        return self._queue[0] if self._queue else None

    @property
    def least(self) -> float:
        """No job that is left has less of the goal; infinity where none is left."""
        return self.first_entry.least if self.first_entry else np.inf

    def begin(self) -> None:
        """Find the first key of all jobs."""
        self._queue = list(self._entries)
        heapify(self._queue)

    def step(self) -> Entry | None:
        """One step of the search: the first job, where it is known that it can be; else its program is made."""
        if not self._queue:
            return None
        first = heappop(self._queue)
        if first.fits:
            return first
        for job in first.alike:
            heappush(self._queue, replace(first, number=job.number, job=job.part, alike=()))
        first = replace(first, alike=())
        if first.open_layout is not None:
            shared = self.goal.value_of(shared_seconds(first.open_layout), first.joules)
            heappush(self._queue, replace(first, least=max(shared, first.least), fits=True))
            return None
        for node in self._brancher.nodes(first.job, first.networks):
            joules = work_joules(node.design, node.program) if self.goal.per_joule and node.program else 0.0
            least = max(self.goal.value_of(node.compute, joules), first.least)
            after = (node.networks,) if first.after is None else first.after
            heappush(self._queue, replace(first, least=least, networks=after, fits=True, joules=joules))
        return None

    def next(self) -> Entry | None:
        """The next job that can be; None after the last."""
        if not self.has_begun:
            self.begin()
        while self._queue:
            if (entry := self.step()) is not None:
                return entry
        return None


@dataclass(frozen=True)
class FirstKey:
    """What is known of jobs that compute alike, the first of which breaks no rule that holds everywhere."""

    jobs: tuple[QueuedJob, ...]
    seconds: float
    """What one layer says of their time [s]."""
    joules: float
    """And of what every NPU takes above idle, where that is asked for [J]."""
    open_layout: Design | None


def first_keys(
    jobs: JobList, anywhere: Networks, known: dict[Hashable, float], *, energetic: bool
) -> Iterator[FirstKey]:
    """The first keys of jobs of a kind with layers; `known` keeps what layers take.

    Jobs before the first one that breaks no rule `anywhere` are left out; those after it are looked at in their turn.
    """
    for alike in jobs.alike:
        for place, job in enumerate(alike):
            design = join_designs(jobs.design_of(job), anywhere.design)
            if check(design):
                continue
            joules = layers_joules(design, known) if energetic else 0.0
            solves = design.parallelism.solves
            its = alike[place : place + 1] if solves else alike[place:]
            yield FirstKey(tuple(its), layers_seconds(design, known), joules, design if solves else None)
            if not solves:
                break


def layer_entries(keys: Iterable[FirstKey], anywhere: Networks, mine: list[Networks], goal: Goal) -> Iterator[Entry]:
    """Jobs of a kind with layers by what one layer takes."""
    for key in keys:
        least = goal.value_of(key.seconds, key.joules)
        (first, *others), solved = key.jobs, key.open_layout is not None
        networks, after = ((), None) if solved else ((anywhere,), tuple(mine))
        yield Entry(
            least,
            first.number,
            first.part,
            networks,
            after,
            joules=key.joules,
            open_layout=key.open_layout,
            alike=tuple(others),
        )


def program_entries(jobs: JobList, mine: list[Networks], goal: Goal) -> Iterator[Entry]:
    """Jobs of another kind, by what the program of one takes that computes alike."""
    for alike in jobs.alike:
        first, *others = alike
        least = _program_value(join_designs(jobs.design_of(first), mine[0].design), goal)
        yield Entry(least, first.number, first.part, tuple(mine), None, alike=tuple(others))


def _program_value(design: Design, goal: Goal) -> float:
    if not design.workload.computes or check(design):
        return 0.0
    program = workload_program(design)
    return goal.value_of(compute_seconds(design, program), work_joules(design, program) if goal.per_joule else 0.0)
