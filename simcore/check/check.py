"""What a design must satisfy beyond its form: degrees that fill the network, sizes that divide, prices that exist.

Each rule is one function from a design to the problems it finds; `check` runs them all, so that every problem is
reported at once. Inside the simulator a checked design is trusted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from simcore.check.compute import compute_problems
from simcore.check.network import KEPT, asked_beside_degrees, cluster_problems, network_problems
from simcore.check.power import power_problems
from simcore.check.reliability import reliability_problems
from simcore.check.served import served_network_problems
from simcore.check.transport import transport_problems
from simcore.collective import algorithm_named
from simcore.cost.price import price_problems
from simcore.design.algorithm import CUSTOM
from simcore.design.design import Design
from simcore.design.jobs import JobShare, shares_of
from simcore.design.once import once_for
from simcore.document.field import MOST_NPUS
from simcore.document.form import format_value
from simcore.document.problem import Path, Problem
from simcore.engine.fast.state import MAX_CHUNKS
from simcore.memory.expanded import memory_problems
from simcore.network import TOPOLOGIES, ratios_of
from simcore.schedule import SCHEDULES
from simcore.system.placement import place
from simcore.system.pool import shared_pool_problems
from simcore.workload.base import kind_of
from simcore.workload.rules import unused_problems
from simcore.workload.servers import RULE as SERVED
from simcore.workload.staleness import RULE as STALE

OTHER_NPUS = "degrees multiply to the NPUs"
"""Rule of degrees whose product is another number of NPUs than the cluster has."""


def check(design: Design) -> list[Problem]:
    """Every problem of a well-formed design; empty where it can be simulated."""
    if design.jobs is not None:
        return _check_jobs(design)
    before, after = _problems_around_job(design)
    problems = [*before, *_check_job(design), *after, *network_problems(design), *price_problems(design)]
    return problems or [*compute_problems(design), *_check_sharing(design), *served_network_problems(design)]


@once_for(asked_beside_degrees, KEPT)
def _problems_around_job(design: Design) -> tuple[list[Problem], list[Problem]]:
    """What is told before and after the problems of a job, whatever its degrees are."""
    return [*_check_network(design), *_check_system(design)], [*_check_rest(design)]


def _check_job(design: Design) -> Iterator[Problem]:
    """What is wrong with a job on its NPUs."""
    yield from _check_degrees(design)
    kind = kind_of(design.workload)
    yield from kind.problems(design)
    if kind.jobs_by != "layers":
        yield from unused_problems(design, ("stages", "layers"))
    yield from memory_problems(design)


def _check_sharing(design: Design) -> Iterator[Problem]:
    """A pipeline that never empties is played where no link is shared."""
    p = design.parallelism
    if not design.workload.computes or SCHEDULES[p.schedule].flushes:
        return
    from simcore.engine.flow.links import links_of  # loads what no other check needs

    for link in links_of(design).links[:1]:
        expected = f"a schedule that flushes, where phases share links ({link.name})"
        yield Problem(("parallelism", "schedule"), expected, p.schedule, "use 1f1b", rule=STALE)


def _check_rest(design: Design) -> Iterator[Problem]:
    """What is wrong with a cluster beside its network."""
    yield from power_problems(design)
    yield from reliability_problems(design)
    yield from transport_problems(design)


def _check_jobs(design: Design) -> list[Problem]:
    """Every problem of a design of several jobs: of its cluster, and of each of them alone on its share."""
    shares, problems = shares_of(design)
    problems = [*problems, *_check_names(design), *_check_network(design), *_check_system(design)]
    problems += [*_check_explicit(design), *shared_pool_problems(design)]
    problems += [*_check_rest(design), *cluster_problems(design), *price_problems(design)]
    if problems:
        return problems
    for number, job in enumerate(design.jobs or ()):
        path: Path
        if job.parallelism.solves:
            key = "stages" if job.parallelism.solves_stages else "recompute"
            expected, fix = "numbers where several jobs run", "solve each job as a design of its own first"
            problems.append(Problem(("jobs", number, "parallelism", key), expected, "solve", fix))
        if job.parallelism.parameter_server is not None:
            path = ("jobs", number, "parallelism", "gradients")
            problems.append(Problem(path, "all_reduce where there are several jobs", "parameter_server", rule=SERVED))
    if design.streamed is not None and len(shares) > 1:
        path = ("cluster", "memory", "expanded", "place")
        problems.append(Problem(path, "[spill], optimizer or activations where there are several jobs", "weights"))
    if problems:
        return problems
    for share in shares:
        found = [*_check_network(share.design), *_check_job(share.design), *network_problems(share.design, part=True)]
        problems += [_at_job(problem, share) for problem in found or compute_problems(share.design)]
    return problems


def _at_job(problem: Problem, share: JobShare) -> Problem:
    """A problem of a job alone as one of the design: its own sections are in `jobs`, those of the cluster are not."""
    if problem.path[:1] in (("workload",), ("parallelism",)):
        return replace(problem, path=("jobs", share.number, *problem.path))
    return replace(problem, found=f"{problem.found} ({share.name}, which has {len(share.npus)} NPUs)")


def _check_explicit(design: Design) -> Iterator[Problem]:
    """Jobs repeat their iterations, which an explicit graph does not."""
    for number, job in enumerate(design.jobs or ()):
        if kind_of(job.workload).explicit:
            fix = "play the trace as a design of its own"
            yield Problem(("jobs", number, "workload"), "a workload that is no trace", "one", fix)


def _check_names(design: Design) -> Iterator[Problem]:
    """Jobs have names of their own."""
    seen: dict[str, int] = {}
    for number, job in enumerate(design.jobs or ()):
        name = job.name or f"job {number}"
        if name in seen:
            yield Problem(("jobs", number, "name"), "a name of its own", f"'{name}', as jobs[{seen[name]}]")
        seen[name] = number


def _check_network(design: Design) -> Iterator[Problem]:
    if design.cluster.npus > MOST_NPUS:
        yield Problem(("cluster", "dimensions"), f"at most {MOST_NPUS:,} NPUs", f"{design.cluster.npus:,}")
    for index, dimension in enumerate(design.cluster.dimensions):
        path: Path = ("cluster", "dimensions", index)
        if dimension.size < 2 and len(design.cluster.dimensions) > 1:
            yield Problem((*path, "size"), "at least 2 NPUs", str(dimension.size), "leave the dimension out")
        if dimension.bandwidth <= 0:
            yield Problem((*path, "bandwidth"), "a bandwidth above 0", f"{dimension.bandwidth:g} B/s")
        if dimension.latency < 0:
            yield Problem((*path, "latency"), "a latency of 0 or more", f"{dimension.latency:g} s")
        its = TOPOLOGIES[dimension.topology]
        if not its.switched and (thinnest := max(ratios_of(dimension.oversubscription))) > 1:
            yield Problem((*path, "oversubscription"), "1 on what is no switch", f"{thinnest:g}")
        if not its.reduces and dimension.in_network:
            yield Problem((*path, "in_network"), "false on what is no switch", "true")
        name = design.algorithms[index]
        needed = None if name.startswith(CUSTOM) else algorithm_named(name).needs(dimension.size)
        if needed:
            yield Problem(
                ("system", "collective", index),
                f"an algorithm for the {dimension.size} NPUs of cluster.dimensions[{index}]",
                f"'{name}', which needs {needed}",
                "use ring, direct or double_binary_tree there",
                rule=f"{name} needs {needed}",
            )


def _check_system(design: Design) -> Iterator[Problem]:
    listed, dimensions = design.system.collective, design.cluster.dimensions
    if listed is not None and len(listed) != len(dimensions):
        yield Problem(
            ("system", "collective"),
            f"one algorithm for each of the {len(dimensions)} dimensions",
            f"{len(listed)}",
            "list them innermost first",
        )
    if listed is not None:
        for index, dimension in enumerate(dimensions):
            if dimension.collective is not None and dimension.collective != (*listed, *dimensions)[index]:
                path: Path = ("cluster", "dimensions", index, "collective")
                yield Problem(path, "the algorithm in one place", "another in system.collective", "drop one of the two")
    if design.system.chunks >= MAX_CHUNKS:
        yield Problem(("system", "chunks"), f"fewer than {MAX_CHUNKS} chunks", str(design.system.chunks))
    active = design.system.active_chunks
    if active != "overlap" and active >= MAX_CHUNKS:
        yield Problem(("system", "active_chunks"), f"fewer than {MAX_CHUNKS} chunks", format_value(active))
    placement = design.cluster.placement
    if sorted(placement) != ["context", "data", "pipeline", "tensor"]:
        yield Problem(("cluster", "placement"), "each of tensor, context, data, pipeline once", ", ".join(placement))


def _check_degrees(design: Design) -> Iterator[Problem]:
    p, npus = design.parallelism, design.cluster.npus
    inner = p.tensor * p.context * p.pipeline
    if math.prod(kind_of(design.workload).degrees(design).values()) != npus:
        degrees = f"tensor {p.tensor} x context {p.context} x pipeline {p.pipeline}"
        given = f" x data {p.data}" if p.data else ""
        yield Problem(
            ("parallelism",),
            f"degrees whose product is the {npus} NPUs of cluster.dimensions",
            f"{degrees}{given} = {inner * (p.data or 1)}",
            f"choose degrees that {'multiply to' if p.data else 'divide'} {npus}",
            rule=OTHER_NPUS,
        )
    else:
        yield from place(design)[1]
