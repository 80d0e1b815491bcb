"""Bound-led candidates: the jobs that compute least, on the networks of good designs.

The certificate of a space names the job that its bound on the time comes from (`dse.proof.relax`); small moves may
never reach it, because several linked degrees and switches lie between. Here the same queue of jobs
(`dse.proof.job_queue`) is a source of candidates: on the network of a design, at whatever price, the jobs are looked at
in order of what they compute at least. So the front's fast end meets the job of the bound, its cheap end those that
send less, and a network that was looked at before goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dse.proof.job_queue import JobQueue
from dse.proof.parts import SpacePart
from dse.proof.relax import LeastTimes
from dse.search.guided.candidates import Candidate, Candidates
from dse.space.draw import InfiniteError
from dse.space.npus import following_product
from dse.space.space import Space
from simcore.check.load import parse_sound
from simcore.design.design import Design

MOST_LISTED = 30_000
"""Jobs of a number of NPUs among which these are looked for: a proof has more time than a source of candidates."""
MOST_JOBS = 160
"""Jobs of a shape that are looked at: those that compute least."""


@dataclass
class _ShapeJobs:
    """The jobs of a shape as far as they are known, by least compute."""

    queue: JobQueue | None
    jobs: list[SpacePart] = field(default_factory=list)

    def job(self, number: int, degrees: str | None) -> SpacePart | None:
        """The job of that number; None where there is none."""
        while self.queue is not None and len(self.jobs) <= number < MOST_JOBS:
            entry = self.queue.next()
            if entry is None:
                self.queue = None
            else:
                self.jobs.append(SpacePart(entry.job.document, _draws_of(entry.job, degrees)))
        return self.jobs[number] if number < len(self.jobs) else None


class LedCandidates:
    """Makes candidates of jobs by least compute."""

    def __init__(self, space: Space, candidates: Candidates) -> None:
        self._candidates, self.times = candidates, LeastTimes(space, MOST_LISTED)
        self._follows = following_product(space.template) is not None
        self._shapes: dict[str, _ShapeJobs] = {}
        self._next: dict[tuple[tuple[str, float], ...], int] = {}
        """The number of the next job, by what a network draws."""

    def make_on(self, parents: Sequence[Candidate], rounds: int) -> Iterator[Candidate | None]:
        """Candidates of the next jobs on the networks of `parents`, one each in a round."""
        designs: dict[tuple[tuple[str, float], ...], Design] = {}
        for parent in parents:
            designs.setdefault(parent.network, parse_sound(parent.filled.document))
        for _ in range(rounds):
            for network, design in designs.items():
                job = self.job(design, self._next.setdefault(network, 0))
                if job is not None:
                    self._next[network] += 1
                    yield self._candidates.make({**dict(network), **job.drawn})

    def job(self, design: Design, number: int) -> SpacePart | None:
        """The job of that number by least compute, on as many such NPUs as a design has; None where there is none."""
        cluster, key = design.cluster, kind_of_jobs(design)
        if key not in self._shapes:
            self._shapes[key] = _ShapeJobs(self._queue(design))
        degrees = f"parallelism.degrees#{cluster.npus}" if self._follows else None
        return self._shapes[key].job(number, degrees)

    def _queue(self, design: Design) -> JobQueue | None:
        try:
            return self.times.queue(design)
        except InfiniteError:
            return None  # jobs with a continuous hole cannot be enumerated


def kind_of_jobs(design: Design) -> str:
    """What a design's workload and NPUs are, and how many: those with the same have the same jobs in the same order."""
    cluster = design.cluster
    return f"{design.workload!r} {cluster.npu!r} {cluster.power_cap} {cluster.memory!r} {cluster.npus}"


def _draws_of(job: SpacePart, degrees: str | None) -> Mapping[str, int]:
    """What a job draws; degrees that follow the number of NPUs draw under a name with it."""
    if degrees is None:
        return job.drawn
    return {degrees if name == degrees.partition("#")[0] else name: value for name, value in job.drawn.items()}
