"""What the simulator answers for one of several jobs on a cluster: alone, and beside the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JobResult:
    """One of several jobs. The breakdown is that of its NPU that finishes last: a mean over iterations that count."""

    name: str
    npus: int
    nodes: tuple[int, ...]
    """Its places on the dimension that jobs share (see `simcore.design.placing`)."""
    iteration_time_s: float
    """Beside the other jobs: the mean over the iterations after the first one."""
    alone_s: float
    """Its iteration time where no other job runs."""
    iterations: int
    """How many it finished while the jobs were played."""
    throughput_tokens_per_s: float | None
    throughput_counts: str
    """What that counts: tokens, or samples."""
    mfu: float | None
    """Over its own NPUs."""
    memory_reserved_bytes: float | None
    """Per NPU of its fullest stage; None of a single collective."""
    fits: bool
    compute_s: float
    exposed_communication_s: float
    bubble_s: float
    cost: float = 0.0
    """Its share of the price of the cluster, by its NPUs [$]; that of NPUs of no job is nobody's."""
    goodput: float | None = None
    """Share of the time in which work is done that lasts: of its own NPUs' failures; None where nothing is trained."""
    time_to_train_s: float | None = None
    """Time for the tokens that it needs, beside the others all the while, with what failures take."""
    cost_to_train: float | None = None
    """By its share of what the cluster costs to own, and what it draws [$]."""

    @property
    def slowdown(self) -> float:
        """How many times as long an iteration takes beside the others as alone."""
        return self.iteration_time_s / self.alone_s


def worst_slowdown(jobs: Sequence[JobResult]) -> float:
    """The largest slowdown of several jobs; 1 where one has the cluster to itself (`jobs` is empty then)."""
    return max((job.slowdown for job in jobs), default=1.0)


def fairness(jobs: Sequence[JobResult]) -> float:
    """How evenly jobs share what they share: Jain's index of their speeds, each over its speed alone.

    (sum x)^2 / (n sum x^2): 1 where all are slowed alike, 1/n where one alone makes progress (Jain, Chiu, Hawe 1984,
    DEC-TR-301). 1 where one has the cluster to itself (`jobs` is empty then).
    """
    speeds = [1 / job.slowdown for job in jobs]
    return sum(speeds) ** 2 / (len(speeds) * sum(speed**2 for speed in speeds)) if speeds else 1.0
