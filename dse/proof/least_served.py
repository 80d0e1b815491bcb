"""The least times of a served model, which has three, each with its own best job: every job as a complete design."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from heapq import heappop, heappush

import numpy as np

from dse.proof.branch import Brancher, JobNode
from dse.proof.job_list import QueuedJob
from dse.proof.join import join_designs
from dse.proof.least import SECONDS, Search, Times
from dse.proof.parts import Networks, SpacePart
from dse.proof.unreachable import is_infeasible
from dse.space.space import Space
from simcore.bounds.design import Bounds, bound, bound_serving
from simcore.check.load import parse_sound
from simcore.design.design import Design
from simcore.design.workload import workload_tag
from simcore.metrics import JOB, METRICS, is_of
from simcore.workload.base import kind_named

MOST_REFINED = 40
"""Jobs that are bounded as complete designs, per shape."""
MOST_SERVED = 8_000
"""Designs of a space up to which its jobs are looked at, each of which takes some milliseconds: more take minutes."""
SERVED = ("iteration_time", "time_to_first_token", "time_per_output_token")


def has_too_many_served(space: Space) -> bool:
    """Whether a space serves a model in so many ways that its jobs are not bounded one by one (`MOST_SERVED`)."""
    if "workload" not in space.template:
        return False
    kind = kind_named(workload_tag(space.template["workload"]))
    return kind.jobs_by == "tokens" and space.count() > MOST_SERVED


class ServingSearch(Search):
    """The search for the least times of a served model, of each time by its own best job.

    Jobs come in order of what their first two tokens take; then they are bounded as complete designs.
    """

    def __init__(self, jobs: list[QueuedJob], mine: list[Networks], brancher: Brancher, space: Space) -> None:
        self.done = False
        self._jobs, self._mine, self._brancher, self._constraints = jobs, mine, brancher, space.constraints
        wanted = {objective.name for objective in space.objectives}
        self._best = {name: np.inf for name in SERVED if name == SERVED[0] or name in wanted}
        self._queues: dict[str, list[tuple[float, int]]] = {name: [] for name in self._best}
        self._looked_at = 0
        """Jobs that are in the queues."""
        fits = [c for c in brancher.constraints if c.is_fits]
        self._of_two_tokens = Brancher(SECONDS, fits, lifted=True)
        self._places: list[tuple[QueuedJob, Networks, int]] = []
        self._bounds: dict[int, Mapping[str, float | None] | None] = {}

    @property
    def times(self) -> Times | None:
        """See `Search.times`."""
        if self._looked_at < len(self._jobs) or not self._is_linear:
            return {}
        found = {name: min(best, self._next_bound(name)) for name, best in self._best.items()}
        known = {name: float(least) for name, least in found.items() if least < np.inf}
        return known or None

    def _next_bound(self, name: str) -> float:
        queue = self._queues[name]
        return queue[0][0] if queue else np.inf

    def advance(self) -> None:
        """See `Search.advance`: the first two tokens of the next job, then the next job of each time."""
        if not self._is_linear:
            self.done = True
        elif self._looked_at < len(self._jobs):
            self._look_at(self._jobs[self._looked_at])
            self._looked_at += 1
        else:
            for name in self._open_times():
                number = heappop(self._queues[name])[1]
                if number not in self._bounds:
                    self._bounds[number] = self._bound(*self._places[number])
                found = self._bounds[number]
                if found is not None and (least := found[name]) is not None:
                    self._best[name] = min(self._best[name], least)
        self.done = self.done or (self._looked_at == len(self._jobs) and not self._open_times())

    @cached_property
    def _is_linear(self) -> bool:
        """Elsewhere a slower dimension could relieve another one: nothing is proven."""
        return all(all(networks.linear) for networks in self._mine)

    def _open_times(self) -> list[str]:
        """The times of which a job could still be better."""
        if len(self._bounds) >= MOST_REFINED:
            return []
        return [name for name in self._queues if self._next_bound(name) < self._best[name]]

    def _look_at(self, job: QueuedJob) -> None:
        """Bound a job, on every lifted network, by its first two tokens: what does not fit with them never does."""
        workload = job.part.document["workload"]
        tokens = workload["output_length"]
        short = {**job.part.document, "workload": {**workload, "output_length": min(2, tokens)}}
        for node in self._of_two_tokens.nodes(SpacePart(short, {}), self._mine):
            for index in np.flatnonzero(node.live):
                least = bound_serving(_design_on(node, int(index)), tokens)
                for name, queue in self._queues.items():
                    if name in least:
                        heappush(queue, (least[name], len(self._places)))
                self._places.append((job, node.networks, int(index)))

    def _bound(self, job: QueuedJob, networks: Networks, index: int) -> Mapping[str, float | None] | None:
        """The bounds of a complete design; None where no network makes it one that meets the constraints."""
        for node in self._brancher.nodes(job.part, [networks]):
            if node.live[index]:
                found = bound(_design_on(node, index))
                return None if is_infeasible(self._constraints, _of_job(found)) else found
        return None


def _of_job(found: Bounds) -> Bounds:
    """The bounds that hold on every network: a lifted one costs and draws more than those that it stands for."""
    return {name: value for name, value in found.items() if METRICS[name].moves == ("time",) or is_of(name, JOB)}


def _design_on(node: JobNode, index: int) -> Design:
    """The design of a job on one of its networks."""
    if len(node.networks.parts) == 1:
        return node.design  # whose program is known already
    document = {"workload": node.design.document()["workload"], **node.networks.parts[index].document}
    return join_designs(node.design, parse_sound(document))
