"""Several jobs on one cluster: the design of each alone on its share, and the NPUs of the cluster that it has.

This is the one place where a job becomes an ordinary design: its dimensions are those that it sees, with as many places
as it has on each and the rate of every NPU's links as it is. A dimension of which it has one place it does not see.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simcore.design.design import Design
from simcore.design.dimension import Dimension, block_of
from simcore.design.job import Job
from simcore.design.once import once
from simcore.design.placing import Placing, manners_of
from simcore.document.problem import InputError, Problem, Refusal

MOST_JOBS = 64
"""Jobs of a design; each is played by itself."""


@dataclass(frozen=True, eq=False)
class JobShare:
    """A job, and its share of a cluster."""

    number: int
    """Its place in `jobs`."""
    name: str
    design: Design
    """The job alone on its share."""
    dimensions: tuple[int, ...]
    """The dimension of the cluster that each of the design's dimensions is a part of."""
    npus: tuple[int, ...]
    """The NPU of the cluster that each NPU of the design is; both count the innermost dimension first."""
    shared: int
    """The dimension of the cluster of which each job has a part."""
    places: tuple[int, ...]
    """Its places there, in rising order."""


def job_designs(design: Design) -> list[tuple[Design, tuple[int, ...]]]:
    """The design of each job of a checked design alone, and the NPUs of the cluster that it has."""
    return [(share.design, share.npus) for share in shares_of(design)[0]]


def lone_job(design: Design) -> Design:
    """The design of the one job of a checked design: itself, or, of a single entry of `jobs`, that on its share.

    Raises `InputError` where there are several jobs, each of which has a design of its own.
    """
    if design.jobs is None:
        return design
    if len(design.jobs) > 1:
        expected, fix = "a design of one job", "give each job as a design of its own"
        raise InputError([Problem(("jobs",), expected, f"{len(design.jobs)} jobs", fix)])
    return shares_of(design)[0][0].design


@once
def shares_of(design: Design) -> tuple[tuple[JobShare, ...], list[Problem]]:
    """The share of every job, and the problems that keep jobs from having one (then of none)."""
    jobs, dimensions = design.jobs or (), design.cluster.dimensions
    if len(jobs) > MOST_JOBS:
        return (), [Problem(("jobs",), f"at most {MOST_JOBS} jobs", str(len(jobs)))]
    by_rail = "by_rail" in manners_of(jobs)
    if by_rail and len(dimensions) == 1:
        expected = "packed, spread or nodes where there is one dimension"
        return (), [Problem(("jobs", 0, "placement"), expected, "'by_rail'", "add a dimension for the nodes")]
    shared = 0 if by_rail else len(dimensions) - 1
    size = dimensions[shared].size
    placing = Placing(jobs, size, design.cluster.npus // size)
    if by_rail:
        placing.place_rails()
    else:
        placing.place_nodes(lambda places: _closeness(dimensions[shared], places))
    if placing.problems:
        return (), placing.problems
    shares, problems = [], []
    for number, job in enumerate(jobs):
        try:
            shares.append(_share(design, number, job, shared, placing.given[number]))
        except Refusal as refusal:
            key = "placement" if job.nodes is None else "nodes"
            problem = refusal.at(("jobs", number, key))
            problems.append(Problem(problem.path, problem.expected, problem.found, problem.fix, rule="jobs fit leaves"))
    return (() if problems else tuple(shares)), problems


def _closeness(dimension: Dimension, places: Sequence[int]) -> int:
    """How many of these places share a switch; 0 where the topology cannot serve a job there."""
    try:
        seen = block_of(dimension).seen_from(dimension.size, places)
    except Refusal:
        return 0
    return int(seen.keys.get("leaf", len(places)))


def _share(design: Design, number: int, job: Job, shared: int, places: tuple[int, ...]) -> JobShare:
    """The share of a job that has `places` of the dimension `shared`.

    Raises `Refusal` where the topology cannot serve it.
    """
    dimensions = list(design.cluster.dimensions)
    dimensions[shared] = _seen_dimension(dimensions[shared], places, alone=len(design.jobs or ()) == 1)
    seen = [index for index, each in enumerate(dimensions) if each.size > 1] or [0]
    npus = _npus_at([each.size for each in design.cluster.dimensions], shared, places)
    alone = _design_of(design, job, [dimensions[index] for index in seen], seen, npus, shared)
    return JobShare(number, job.name or f"job {number}", alone, tuple(seen), npus, shared, places)


def _seen_dimension(dimension: Dimension, places: tuple[int, ...], alone: bool) -> Dimension:
    block = block_of(dimension)
    seen = (block.seen_alone if alone else block.seen_from)(dimension.size, places)
    keys = dict(seen.keys)
    if dimension.graph is not None and len(places) < dimension.size:
        keys["graph"] = dimension.graph.seen_alone(dimension.size, places, dimension.latency)
    bandwidth = dimension.bandwidth * seen.bandwidth
    return dimension.model_copy(update={"bandwidth": bandwidth, "size": len(places), **keys})


def _npus_at(sizes: Sequence[int], shared: int, places: tuple[int, ...]) -> tuple[int, ...]:
    """The NPUs at some places of a dimension, in the order in which a cluster of these places alone counts them."""
    inside, size = math.prod(sizes[:shared]), sizes[shared]
    outside = math.prod(sizes[shared + 1 :])
    return tuple(
        (outer * size + place) * inside + inner
        for outer in range(outside)
        for place in places
        for inner in range(inside)
    )


def _design_of(
    design: Design, job: Job, dimensions: Sequence[Dimension], seen: Sequence[int], npus: tuple[int, ...], shared: int
) -> Design:
    """The design of a job alone on these NPUs.

    Failed links of the dimension `shared` are those of the whole cluster there: whoever plays the job looks at these.
    """
    own = {npu: number for number, npu in enumerate(npus)}
    stragglers = tuple(
        slow.model_copy(update={"npu": own[slow.npu]}) for slow in design.cluster.stragglers if slow.npu in own
    )
    failed_links = tuple(
        link.model_copy(update={"dimension": seen.index(link.dimension)})
        for link in design.cluster.failed_links
        if link.dimension in seen and link.dimension != shared
    )
    of_cluster = {
        "dimensions": tuple(_without_nics(each) for each in dimensions),
        "stragglers": stragglers,
        "failed_links": failed_links,
    }
    listed = design.system.collective
    if listed is not None and len(listed) == len(design.cluster.dimensions):
        system = design.system.model_copy(update={"collective": tuple(listed[index] for index in seen)})
    else:
        system = design.system
    sections: dict[str, Any] = {
        "workload": job.workload,
        "parallelism": job.parallelism,
        "software": job.software or design.software,
        "cluster": design.cluster.model_copy(update=of_cluster),
        "system": system,
        "cost": design.cost,
        "reliability": design.reliability,
        "hypothetical": design.hypothetical,
    }
    return Design.model_validate(sections)


def _without_nics(dimension: Dimension) -> Dimension:
    """The dimension with the bandwidth that it has: an NPU's is what it is in a whole node."""
    return dimension.model_copy(update={"nics": None, "nic_bandwidth": None})
