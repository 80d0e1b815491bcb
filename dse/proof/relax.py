"""The least times of a space's designs: a best-first search over jobs, each on the best network there could be.

A *shape* (workload, NPU with its memory, number of NPUs) has the jobs (degrees, memory savings) whose degrees multiply
to its NPUs, and *lifted* networks (`dse.proof.lifted`). Every job that can be and fits has a least compute time
(`dse.proof.job_queue`); in order of that it gets what its collectives add (`dse.proof.least_trained`). A single
collective has no compute; a served model has several times (`dse.proof.least_served`). Whenever a search is left, no
feasible design of the shape is faster than what it says, nor draws less energy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dse.proof.branch import Brancher, JobNode
from dse.proof.job_list import JobList, WrittenJobs, group_by_workload, list_jobs
from dse.proof.job_queue import TIME, Entry, Goal, JobQueue, first_keys, layer_entries, program_entries
from dse.proof.job_table import Key, table_of
from dse.proof.join import neutral_network
from dse.proof.least import SECONDS, Search, Together, Unknown
from dse.proof.least_served import ServingSearch
from dse.proof.least_trained import TrainingSearch
from dse.proof.lifted import lifted_networks, whole_budget
from dse.proof.parts import Networks, SpacePart, is_tied
from dse.proof.unsold import sold_only
from dse.space.asked import names_in
from dse.space.fill import npus_count, template_count
from dse.space.npus import following_product
from dse.space.sections import JOB_SECTIONS
from dse.space.space import Space
from simcore.design.design import Design
from simcore.design.node import node_of
from simcore.document.problem import Refusal
from simcore.metrics import exponent_of
from simcore.power.draw import draws_of, host_watts, npus_watts
from simcore.workload.base import kind_of

MOST_JOBS = 60_000
"""Jobs of a number of NPUs that are searched; where there are more, shapes keep the bound of their FLOPs."""


class LeastTimes:
    """The searches for the least times of a space's shapes, of at most so many jobs of a number of NPUs."""

    def __init__(self, space: Space, most: int = MOST_JOBS) -> None:
        self._space, self._template, self._most = space, space.template, most
        self._known: dict[Key, Search] = {}
        self._lifted: dict[bool, list[Networks]] = {}
        self._tied, self._sold = is_tied(space.template), sold_only(space)
        self._energy = any(exponent_of(name, "energy") for name in names_in(space.objectives, space.constraints))
        self._table = table_of(space.template, energetic=self._energy)
        self._brancher = Brancher(SECONDS, [c for c in space.constraints if c.of_job], lifted=True)

    def search_of(self, shape: Design) -> Search:
        """The search for a shape's least times, as far as it has come."""
        key = shape.workload.model_dump_json(), *self._npu_key(shape)
        if key not in self._known:
            self._known[key] = self._search(shape, key)
        return self._known[key]

    def _search(self, shape: Design, key: Key) -> Search:
        by = kind_of(shape.workload).jobs_by
        jobs = None if by is None else self._jobs_of(shape, key)
        mine = self._lifted_on(key, chunks=by != "tokens") if jobs else []
        if jobs is None or not (mine or by == "layers" or not jobs):
            return Unknown()  # what whole Programs compute is known on a network only
        if by == "tokens":
            return ServingSearch(jobs.jobs, mine, self._brancher, self._space)
        goals = (TIME, energy_goal(shape)) if self._energy else (TIME,)
        budget = whole_budget(self._template["cluster"])
        return Together(
            [TrainingSearch(self._queue(shape, jobs, mine, goal), self._brancher, budget) for goal in goals]
        )

    def queue(self, shape: Design) -> JobQueue | None:
        """The jobs of a shape by least compute; None where they are too many, or not known by layers or Programs."""
        key = shape.workload.model_dump_json(), *self._npu_key(shape)
        computing = kind_of(shape.workload).jobs_by in ("layers", "programs")
        jobs = self._jobs_of(shape, key) if computing else None
        if not jobs:
            return None
        return self._queue(shape, jobs, self._lifted_on(key, chunks=True), TIME)

    def nodes(self, shape: Design, job: SpacePart) -> list[JobNode]:
        """A job on the lifted networks of a shape; none where those are too many, or jobs are not known alone."""
        key = shape.workload.model_dump_json(), *self._npu_key(shape)
        computing = kind_of(shape.workload).jobs_by in ("layers", "programs")
        if not computing or not self._jobs_of(shape, key):
            return []
        mine = self._lifted_on(key, chunks=True)
        return self._brancher.nodes(job, mine) if mine else []

    def _queue(self, shape: Design, jobs: JobList, mine: list[Networks], goal: Goal) -> JobQueue:
        layered = kind_of(shape.workload).jobs_by == "layers"
        entries = self._layer_entries(shape, jobs, mine, goal) if layered else program_entries(jobs, mine, goal)
        return JobQueue(entries, self._brancher, goal)

    def _layer_entries(self, shape: Design, jobs: JobList, mine: list[Networks], goal: Goal) -> Iterator[Entry]:
        key, anywhere = (shape.workload.model_dump_json(), *self._npu_key(shape)), neutral_network(shape)
        if key not in self._table.first:
            known = self._table.layers.setdefault(key[1], {})
            self._table.first[key] = list(first_keys(jobs, anywhere, known, energetic=self._energy))
        yield from layer_entries(self._table.first[key], anywhere, mine, goal)

    def _jobs_of(self, shape: Design, key: Key) -> JobList | None:
        """The jobs of a shape; None where there are too many, they follow from the network, or several share it."""
        template = None if self._tied else self._job_template(key[2])
        if self._tied or "workload" not in self._template or template_count(template) > self._most:
            return None
        where = key[2], shape.software.model_dump_json()
        if where not in self._table.jobs:
            written = self._table.written[key[2]] = WrittenJobs() if template is None else list_jobs(template)
            self._table.jobs[where] = group_by_workload(written, shape)
        return JobList(shape) if not self._table.written[key[2]] else self._table.jobs[where].get(key[0])

    def _job_template(self, npus: int) -> dict[str, Any] | None:
        """The template of the jobs on so many NPUs; None where no degrees multiply to them."""
        template = {key: value for key, value in self._template.items() if key in JOB_SECTIONS}
        degrees = following_product(template)
        if degrees is not None:
            try:
                product = degrees.product_of(npus)
            except Refusal:
                return None
            template["parallelism"] = {**template["parallelism"], "degrees": product}
        return template

    def most_jobs(self) -> float:
        """The most jobs that there are on some number of NPUs."""
        if self._tied or "workload" not in self._template:
            return 0.0
        follows = following_product(self._template)
        numbers = [1] if follows is None else npus_count(self._template["cluster"])
        return max((template_count(self._job_template(npus)) for npus in numbers), default=0.0)

    def _lifted_on(self, key: Key, chunks: bool) -> list[Networks]:
        """The lifted networks of a shape; see `lifted_networks`."""
        if chunks not in self._lifted:
            job = next(jobs.jobs[0] for by_workload in self._table.jobs.values() for jobs in by_workload.values())
            self._lifted[chunks] = lifted_networks(self._template, job.part.document, chunks, self._sold)
        return [networks for networks in self._lifted[chunks] if self._npu_key(networks.design) == key[1:]]

    def _npu_key(self, design: Design) -> tuple[str, int]:
        """What the times of a job depend on beside its network; where energy is asked for, what that depends on."""
        cluster, memory = design.cluster, design.cluster.memory
        npu = (cluster.npu.model_dump_json(), cluster.power_cap, memory and memory.model_dump_json())
        node = node_of(cluster) if self._energy else None
        beside = (node and node.model_dump_json(), design.cost.name, design.cost.pue) if self._energy else ()
        return repr((*npu, *beside)), cluster.npus


def energy_goal(shape: Design) -> Goal:
    """The energy of an iteration on the nodes of a shape [J], as `simcore.power.draw` has it but for the network."""
    still = npus_watts(shape, draws_of(shape).idle) + host_watts(shape)
    return Goal("energy", still, npus_watts(shape, 1.0))
