"""Which nodes of a cluster each of several jobs has.

A *node* is a place on the outermost dimension, with all NPUs of the dimensions further in. Nodes that are listed go to
their job first, then those of packed jobs, in the order of the jobs: of the runs of free neighbours the first one with
most of them under one switch. Of what is left a spread job takes every k-th node, k being the free nodes over its own,
so that jobs of equal size alternate. Jobs by rail have all nodes, and share the innermost dimension one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from simcore.design.job import Job, Manner
from simcore.document.problem import Path, Problem

Closeness = Callable[[Sequence[int]], int]
"""How many of the places of a job share a switch; 0 where the dimension cannot serve it."""


def manners_of(jobs: Sequence[Job]) -> list[Manner]:
    """The placement of each job; see `Job.placement`."""
    manners: list[Manner] = []
    for job in jobs:
        manners.append(job.placement or (manners[-1] if manners else "packed"))
    return manners


@dataclass
class Placing:
    """Places on one dimension, given to jobs one after the other."""

    jobs: Sequence[Job]
    size: int
    """Places of the dimension."""
    npus: int
    """NPUs of each place."""
    problems: list[Problem] = field(default_factory=list)
    given: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Job -> its places, in rising order."""

    def place_nodes(self, closeness: Closeness) -> None:
        """Give each job its nodes; the dimension is the outermost one."""
        for job in self._ordered(lambda number: self.jobs[number].nodes is not None):
            self._take_listed(job)
        manners = manners_of(self.jobs)
        wanted = self._count_places("whole nodes")
        left = self.size - sum(map(len, self.given.values()))
        if sum(wanted.values()) > left and not self.problems:
            self.problems.append(self._too_many(sum(wanted.values()), left))
        if self.problems:
            return
        for number in self._ordered(lambda number: number in wanted and manners[number] == "packed"):
            self.given[number] = closest_run(self._free(), wanted[number], closeness)
        for number in self._ordered(lambda number: number in wanted and manners[number] == "spread"):
            free, count = self._free(), wanted[number]
            self.given[number] = tuple(free[i * len(free) // count] for i in range(count))

    def place_rails(self) -> None:
        """Give each job its places of every node; the dimension is the innermost one."""
        for number, (job, manner) in enumerate(zip(self.jobs, manners_of(self.jobs), strict=True)):
            if job.nodes is not None:
                fix = "give 'npus' instead"
                self.problems.append(Problem(("jobs", number, "nodes"), "no nodes beside jobs by rail", "some", fix))
            elif manner != "by_rail":
                expected = "by_rail, as of another job, which has NPUs of every node"
                self.problems.append(Problem(("jobs", number, "placement"), expected, f"'{manner}'"))
        wanted, first = self._count_places("as many of every node"), 0
        if sum(wanted.values()) > self.size and not self.problems:
            self.problems.append(self._too_many(sum(wanted.values()), self.size))
        for number, count in wanted.items():
            self.given[number] = tuple(range(first, first + count))
            first += count

    def _ordered(self, chosen: Callable[[int], bool]) -> Iterator[int]:
        return filter(chosen, range(len(self.jobs)))

    def _free(self) -> list[int]:
        taken = {place for places in self.given.values() for place in places}
        return [place for place in range(self.size) if place not in taken]

    def _take_listed(self, number: int) -> None:
        job, path = self.jobs[number], ("jobs", number, "nodes")
        listed = job.nodes or ()
        for key in ("npus", "placement"):
            if getattr(job, key) is not None:
                self.problems.append(Problem(("jobs", number, key), "either 'nodes' or this", "both", "drop one"))
        beyond = [node for node in listed if node >= self.size]
        if beyond:
            found = ", ".join(map(str, beyond))
            self.problems.append(Problem(path, f"nodes below {self.size}", found, "nodes are counted from 0"))
        if len(set(listed)) < len(listed):
            twice = sorted({node for node in listed if listed.count(node) > 1})
            self.problems.append(Problem(path, "each node once", f"{', '.join(map(str, twice))} again", "drop it"))
        for other, places in self.given.items():
            if both := sorted(set(places).intersection(listed)):
                found = f"{', '.join(map(str, both))}, which jobs[{other}] has"
                self.problems.append(Problem(path, "nodes that no other job has", found, "choose others"))
        self.given[number] = tuple(sorted(set(listed)))

    def _count_places(self, what: str) -> dict[int, int]:
        """Job -> places that it asks for by its number of NPUs."""
        wanted: dict[int, int] = {}
        for number, job in enumerate(self.jobs):
            path: Path = ("jobs", number, "npus")
            if job.nodes is not None:
                continue
            if job.npus is None:
                self.problems.append(Problem(path[:2], "'npus', or 'nodes'", "neither", "say what the job has"))
            elif job.npus % self.npus:
                expected = f"{what}: a multiple of {self.npus}"
                rule = "jobs have whole places"
                self.problems.append(Problem(path, expected, str(job.npus), "choose another number", rule=rule))
            else:
                wanted[number] = job.npus // self.npus
        return wanted

    def _too_many(self, wanted: int, left: int) -> Problem:
        return Problem(
            ("jobs",),
            f"jobs that need at most the {left * self.npus} NPUs that there are for them",
            f"{wanted * self.npus}",
            "give some job fewer, or build a larger cluster",
            rule="jobs fit the cluster",
            violation=wanted / max(1, left) - 1,
        )


def closest_run(free: Sequence[int], count: int, closeness: Closeness) -> tuple[int, ...]:
    """The first `count` free places in a row that are closest; else the first free places."""
    runs = [
        tuple(free[start : start + count])
        for start in range(len(free) - count + 1)
        if free[start + count - 1] - free[start] == count - 1
    ]
    return max(runs, key=closeness) if runs else tuple(free[:count])
