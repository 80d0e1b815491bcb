"""The least times of a space's designs: a best-first search over jobs, each on the best network there could be.

A *shape* (workload, NPU with its memory, number of NPUs) has the jobs (degrees, memory savings) whose degrees multiply
to its NPUs, and *lifted* networks (`dse.lifted`). Every job that can be and fits has a least compute time: from one
layer's time at first, from its program when its turn comes. In order of that, jobs get the least time that their
collectives add on the lifted networks. Where a budget is split over all dimensions, drawn or solved, the best split of
it (`dse.bandwidth`) counts: the convex relaxation over all splits. The search ends where no later job's compute is
below the best of these, or after `MOST_REFINED` jobs. Whenever it is left, no feasible design of the shape is faster
than what it says.

A single collective has no compute. A served model has no gradients, and three times of which each has its own best job:
there every job is bounded as a complete design.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dse.bandwidth import optimal_split, split_time
from dse.fill import template_count
from dse.geometric import WORST
from dse.job_queue import Entry, Job, JobQueue, of_layers, of_programs
from dse.lifted import lifted_networks, neutral, whole_budget
from dse.limits import breaks
from dse.npus import following
from dse.objective import Objective
from dse.search.branch import Brancher, Node, joined, of_job
from dse.search.parts import JOB, Networks, Part, fillings, parsed, tied
from dse.space import Space
from simcore.bound import bound, bound_served
from simcore.bound_many import Iteration, collective_bytes
from simcore.design import Design, TransformerWorkload
from simcore.workload_spec import InferenceWorkload

MOST_JOBS = 30_000
"""Jobs of a number of NPUs that are searched; where there are more, shapes keep the bound of their FLOPs."""
MOST_REFINED = 40
"""Jobs whose collectives are bounded, per shape."""
TIME = (Objective("iteration_time", "minimize", "s"),)
SERVED = ("iteration_time", "time_to_first_token", "time_per_output_token")
"""The times of a served model."""

Times = Mapping[str, float]
Key = tuple[str, str, int]


class LeastTimes:
    """The searches for the least times of a space's shapes."""

    def __init__(self, space: Space) -> None:
        self._space, self._template = space, space.template
        self._known: dict[Key, Search] = {}
        self._jobs: dict[int, dict[str, list[Job]]] = {}
        self._layers: dict[str, dict[Hashable, float]] = {}
        self._tied = tied(space.template)
        self._brancher = Brancher(TIME, [c for c in space.constraints if of_job(c)])

    def of(self, shape: Design) -> Search:
        """The search for a shape's least times, as far as it has come."""
        key = shape.workload.model_dump_json(), *_npu_key(shape)
        if key not in self._known:
            self._known[key] = self._search(shape, key)
        return self._known[key]

    def _search(self, shape: Design, key: Key) -> Search:
        jobs = self._jobs_of(shape, key)
        transformer = isinstance(shape.workload, TransformerWorkload)
        mine = [n for n in self._lifted if _npu_key(n.design) == key[1:]] if jobs else []
        if jobs is None or not (mine or transformer or not jobs):
            return Unknown()  # what jobs of another kind compute is known on a network only
        if isinstance(shape.workload, InferenceWorkload):
            return Served(jobs, mine, self._brancher, self._space)
        return Trained(self._queue(shape, jobs, mine), self._brancher, whole_budget(self._template["cluster"]))

    def queue(self, shape: Design) -> JobQueue | None:
        """The jobs of a shape that is trained, by least compute; None where they are too many, or are not known."""
        key = shape.workload.model_dump_json(), *_npu_key(shape)
        jobs = None if isinstance(shape.workload, InferenceWorkload) else self._jobs_of(shape, key)
        return self._queue(shape, jobs, [n for n in self._lifted if _npu_key(n.design) == key[1:]]) if jobs else None

    def _queue(self, shape: Design, jobs: list[Job], mine: list[Networks]) -> JobQueue:
        if not isinstance(shape.workload, TransformerWorkload):
            return JobQueue(of_programs(jobs, mine), self._brancher)
        known = self._layers.setdefault(_npu_key(shape)[0], {})
        return JobQueue(of_layers(jobs, neutral(shape), mine, known), self._brancher)

    def _jobs_of(self, shape: Design, key: Key) -> list[Job] | None:
        """The jobs of a shape; None where there are too many, or where they follow from the network."""
        template = None if self._tied else self._job_template(key[2])
        if self._tied or template_count(template) > MOST_JOBS:
            return None
        if key[2] not in self._jobs:
            by_workload: dict[str, list[Job]] = {}
            texts: dict[str, str] = {}
            document = shape.document()
            for part in fillings(template) if template is not None else ():
                design = parsed({**document, **part.document})
                text = repr(part.document["workload"])
                if text not in texts:
                    texts[text] = design.workload.model_dump_json()
                by_workload.setdefault(texts[text], []).append(Job(part, design))
            self._jobs[key[2]] = by_workload
        return self._jobs[key[2]].get(key[0], [])

    def _job_template(self, npus: int) -> dict[str, Any] | None:
        """The template of the jobs on so many NPUs; None where no degrees multiply to them."""
        template = {key: value for key, value in self._template.items() if key in JOB}
        degrees = following(template)
        if degrees is not None:
            try:
                product = degrees.of_total(npus)
            except ValueError:
                return None
            template["parallelism"] = {**template["parallelism"], "degrees": product}
        return template

    @cached_property
    def _lifted(self) -> list[Networks]:
        job = next(job for by_workload in self._jobs.values() for jobs in by_workload.values() for job in jobs)
        return lifted_networks(self._template, job.part.document)


@dataclass(frozen=True)
class Leader:
    """What a bound comes from: a job, and the lifted network on which it is least; None: whatever the network."""

    job: Part
    network: Part | None


class Search(Protocol):
    """A search for the least times of a shape that can be left at any time."""

    done: bool

    @property
    def leader(self) -> Leader | None:
        """What the bound on the iteration time comes from, where that is known."""
        return None

    @property
    def times(self) -> Times | None:
        """What is proven so far [s], by metric; None where no design of the shape is feasible."""
        ...

    def advance(self) -> None:
        """Go on, if it is not done."""
        ...


class Unknown(Search):
    """Nothing is known."""

    def __init__(self) -> None:
        self.done = True

    @property
    def times(self) -> Times | None:
        """See `Search.times`."""
        return {}

    def advance(self) -> None:
        """See `Search.advance`."""


class Trained(Search):
    """The search for the least iteration time of a trained model, or of a collective."""

    def __init__(self, queue: JobQueue, brancher: Brancher, budget: float | None) -> None:
        self.done = False
        self._queue, self._brancher, self._budget = queue, brancher, budget
        self._best, self._refined = np.inf, 0
        self._leader: Leader | None = None

    @property
    def leader(self) -> Leader | None:
        """See `Search.leader`."""
        first = self._queue.first if self._queue.begun else None
        return Leader(first.job, None) if first is not None and first.compute < self._best else self._leader

    @property
    def times(self) -> Times | None:
        """See `Search.times`."""
        if not self._queue.begun:
            return {}
        least = min(self._best, self._queue.least)
        return None if least == np.inf else {"iteration_time": float(least)}

    def advance(self) -> None:
        """See `Search.advance`: the next job of the queue."""
        if not self._queue.begun:
            self._queue.begin()
        elif not self.done and (entry := self._queue.step()) is not None:
            self._refine(entry)
        # A job whose collectives are not bounded any more counts by its compute, and those behind it are no better.
        over = self._queue.least >= self._best
        first = self._queue.first
        self.done = over or (first is not None and first.fits and self._refined == MOST_REFINED)

    def _refine(self, entry: Entry) -> None:
        if not entry.networks:
            self._lead(entry.compute, Leader(entry.job, None))
            return
        self._refined += 1
        for on in self._brancher.nodes(entry.job, entry.networks):
            least, network = _least(on, self._brancher, self._budget, self._best)
            self._lead(least, Leader(entry.job, network))

    def _lead(self, least: float, leader: Leader) -> None:
        if least < self._best:
            self._best, self._leader = least, leader


class Served(Search):
    """The search for the least times of a served model, of each time by its own best job.

    Jobs come in order of what their first two tokens take; then they are bounded as complete designs.
    """

    def __init__(self, jobs: list[Job], mine: list[Networks], brancher: Brancher, space: Space) -> None:
        self.done = False
        self._jobs, self._mine, self._brancher, self._constraints = jobs, mine, brancher, space.constraints
        wanted = {objective.name for objective in space.objectives}
        self._best = {name: np.inf for name in SERVED if name == SERVED[0] or name in wanted}
        self._queues: dict[str, list[tuple[float, int]]] = {}
        self._places: list[tuple[Job, Networks, int]] = []
        self._bounds: dict[int, Mapping[str, float | None] | None] = {}

    @property
    def times(self) -> Times | None:
        """See `Search.times`."""
        if not self._queues:
            return {}
        found = {name: min(best, self._next(name)) for name, best in self._best.items()}
        known = {name: float(least) for name, least in found.items() if least < np.inf}
        return known or None

    def _next(self, name: str) -> float:
        queue = self._queues[name]
        return queue[0][0] if queue else np.inf

    def advance(self) -> None:
        """See `Search.advance`: the next job of each time."""
        if self._queues:
            for name in self._open():
                number = heappop(self._queues[name])[1]
                if number not in self._bounds:
                    self._bounds[number] = self._bound(*self._places[number])
                found = self._bounds[number]
                if found is not None and (least := found[name]) is not None:
                    self._best[name] = min(self._best[name], least)
        elif all(all(networks.linear) for networks in self._mine):
            self._begin()  # elsewhere a slower dimension could relieve another one
        self.done = not self._open()

    def _open(self) -> list[str]:
        """The times of which a job could still be better."""
        if len(self._bounds) >= MOST_REFINED:
            return []
        return [name for name in self._queues if self._next(name) < self._best[name]]

    def _begin(self) -> None:
        """Bound every job, on every lifted network, by its first two tokens: what does not fit with them never does."""
        self._queues = {name: [] for name in self._best}
        brancher = Brancher(TIME, [c for c in self._brancher.constraints if c.name.strip() == "fits"])
        for job in self._jobs:
            workload = job.part.document["workload"]
            tokens = workload["output_length"]
            short = {**job.part.document, "workload": {**workload, "output_length": min(2, tokens)}}
            for node in brancher.nodes(Part(short, {}), self._mine):
                for index in np.flatnonzero(node.live):
                    least = bound_served(_on(node, int(index)), tokens)
                    for name, queue in self._queues.items():
                        if name in least:
                            heappush(queue, (least[name], len(self._places)))
                    self._places.append((job, node.networks, int(index)))

    def _bound(self, job: Job, networks: Networks, index: int) -> Mapping[str, float | None] | None:
        """The bounds of a complete design; None where it cannot be."""
        for node in self._brancher.nodes(job.part, [networks]):
            if node.live[index]:
                found = bound(_on(node, index))
                return None if breaks(self._constraints, found) else found
        return None


def _on(node: Node, index: int) -> Design:
    """The design of a job on one of its networks."""
    if len(node.networks.parts) == 1:
        return node.design  # whose program is known already
    document = {"workload": node.design.document()["workload"], **node.networks.parts[index].document}
    return joined(node.design, parsed(document))


def _least(node: Node, brancher: Brancher, budget: float | None, enough: float) -> tuple[float, Part | None]:
    """The least time of a job on its lifted networks, or something at least `enough`; and that network.

    Where a budget is split over all dimensions no network has the most of each: the best split of it is solved.
    """
    if not all(node.networks.linear):
        return node.compute, None  # a slower dimension of such a network could relieve another one
    bounds = np.full(len(node.live), np.inf)
    bounds[node.live] = brancher.bounds(node)[:, 0]
    best, network = enough, node.networks.parts[int(bounds.argmin())]
    if budget is None:
        return float(bounds.min()), network
    form = None if node.program is None else Iteration.of(node.design, node.program)
    spans = [(float(bounds[where].min()), where.start, family) for family, _, where in node.networks.spans()]
    for lifted, start, family in sorted(spans, key=lambda span: span[:2]):
        if lifted >= best:
            break
        slowed = np.array([dimension.bandwidth for dimension in family.design.cluster.dimensions]) / family.rates[0]
        if form is None:
            shared = collective_bytes(node.design, family, slowed) / budget
        else:
            shared = _solved([(constant, table * slowed) for constant, table in form.problems(family)], budget)
        if (least := max(lifted, shared)) < best:
            best, network = least, node.networks.parts[start]
    return best, network


def _solved(problems: list[tuple[float, NDArray[np.float64]]], budget: float) -> float:
    """The time of the largest problem at equal shares, with the shares that are best for it [s]."""
    equal = np.full(problems[0][1].shape[1], budget / problems[0][1].shape[1])
    constant, table = max(problems, key=lambda problem: split_time(problem[1], equal, problem[0]))
    return split_time(table, optimal_split(table, budget), constant) * (1 - WORST)


def _npu_key(design: Design) -> tuple[str, int]:
    memory = design.cluster.memory
    return f"{design.cluster.npu.model_dump_json()} {memory and memory.model_dump_json()}", design.cluster.npus
