"""The jobs of a shape, best first, by what they compute: a search with two keys.

A job (degrees, memory savings) is known by what one layer takes at first, which costs microseconds, and by its program
when its turn comes. A job whose program is made and whose memory fits goes back into the queue by what that computes;
when it is first again, no job that is left computes for less. The certificate (`dse.proof.relax`) looks for the least
time in this order, and the guided sampler (`dse.search.guided.led`) for candidates. For the least energy the order is
by a weighted sum of the time and of what NPUs take for their work in it (`Goal`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush

import numpy as np

from dse.proof.branch import Brancher
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
_SAME_COMPUTE = ("zero", "accumulate", "gather", "shard_group", "bucket")
"""What changes memory and collectives alone."""


@dataclass(frozen=True)
class QueuedJob:
    """A filling of workload and parallelism, and its design on some network."""

    part: SpacePart
    design: Design


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
    """And then; None: where it was looked at, each alone."""
    fits: bool = field(default=False, compare=False)
    """Whether it is known that it can be; then `least` is that of its program."""
    joules: float = field(default=0.0, compare=False)
    """What every NPU takes above idle, where that matters to the goal [J]."""
    open_layout: Design | None = field(default=None, compare=False)
    """Its design, where stages or recomputation are solved for each network: no Program bounds it on all of them."""


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


def sound_jobs(jobs: list[QueuedJob], anywhere: Networks) -> list[tuple[int, QueuedJob]]:
    """The jobs that break no rule `anywhere`, each with its number."""
    return [(number, job) for number, job in enumerate(jobs) if not check(join_designs(job.design, anywhere.design))]


def layer_entries(
    sound: list[tuple[int, QueuedJob]],
    anywhere: Networks,
    mine: list[Networks],
    known: dict[Hashable, float],
    goal: Goal,
) -> Iterator[Entry]:
    """`sound` jobs of a kind with layers by what one layer takes; `known` keeps what layers take."""
    for number, job in sound:
        design = join_designs(job.design, anywhere.design)
        joules = layers_joules(design, known) if goal.per_joule else 0.0
        least = goal.value_of(layers_seconds(design, known), joules)
        if design.parallelism.solves:
            yield Entry(least, number, job.part, (), None, joules=joules, open_layout=design)
        else:
            yield Entry(least, number, job.part, (anywhere,), tuple(mine))


def program_entries(jobs: list[QueuedJob], mine: list[Networks], goal: Goal) -> Iterator[Entry]:
    """Jobs of another kind, by what the program of one takes that differs from them in `_SAME_COMPUTE` at most."""
    known: dict[str, float] = {}
    for number, job in enumerate(jobs):
        kept = {k: v for k, v in (job.part.document.get("parallelism") or {}).items() if k not in _SAME_COMPUTE}
        text = repr((kept, job.part.document.get("software")))
        if text not in known:
            known[text] = _program_value(join_designs(job.design, mine[0].design), goal)
        yield Entry(known[text], number, job.part, tuple(mine), None)


def _program_value(design: Design, goal: Goal) -> float:
    if not design.workload.computes or check(design):
        return 0.0
    program = workload_program(design)
    return goal.value_of(compute_seconds(design, program), work_joules(design, program) if goal.per_joule else 0.0)
