"""The least iteration time over a whole space: a best-first search over jobs, each on the best network there could be.

Every job (workload, degrees, memory savings) that can be and fits has a least compute time: from one layer's time at
first, from its program when its turn comes. In order of that, jobs get the least time that their collectives add on
*lifted* networks: each dimension with the most bandwidth that it can have (of a split: the largest budget but one step
for each other dimension), the least latency, and the best of the space's algorithms and policies. Where a budget is
split over all dimensions, the best split of it (`dse.bandwidth`) counts. The search ends where no later job's compute
is below the best of these, or after `MOST_REFINED` jobs. Either way no feasible design of the space is faster than what
it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from dse.bandwidth import optimal_split, split_time
from dse.fill import is_open, template_count
from dse.geometric import WORST
from dse.hole import Choice, PowersOfTwo, Range, Split, magnitude
from dse.objective import Objective
from dse.search.branch import Brancher, Node, joined, of_job
from dse.search.parts import JOB, Networks, Part, fillings, grouped, parsed, proven_kind, separable
from dse.space import Space
from simcore.bound_many import Family, Iteration, layers_seconds
from simcore.check import check
from simcore.design import Design, TransformerWorkload
from simcore.once import changed
from simcore.quantity import parse, write

MOST_JOBS = 30_000
"""Jobs of a space that is searched; a larger one keeps the bound of its FLOPs."""
MOST_NETWORKS = 2_000
"""Lifted networks that jobs are refined on; with more, jobs count by their compute alone."""
MOST_REFINED = 40
"""Jobs whose collectives are bounded, per workload and type of NPU."""

TIME = (Objective("iteration_time", "minimize", "s"),)


def time_key(design: Design) -> tuple[str, str, int]:
    """What least times are told apart by: workload, NPU with its memory, number of NPUs."""
    return design.workload.model_dump_json(), *_npu_key(design)


def least_times(space: Space) -> dict[tuple[str, str, int], float]:
    """The least iteration time of any feasible design [s], by `time_key`; nothing where the space is too large.

    Where a workload and an NPU have no entry though others have, no design of theirs is feasible.
    """
    template = space.template
    jobs = {key: value for key, value in template.items() if key in JOB}
    if space.jobs or not proven_kind(template) or not separable(template) or template_count(jobs) > MOST_JOBS:
        return {}
    lifted = _lifted_networks(template, jobs)
    brancher = Brancher(TIME, [c for c in space.constraints if of_job(c)])
    neutral = {key: _neutral(networks.design) for networks in lifted for key in [_npu_key(networks.design)]}
    queues: dict[tuple[str, str, int], list[_Entry]] = {}
    seconds: dict[tuple[str, int], dict[Hashable, float]] = {key: {} for key in neutral}
    for number, job in enumerate(fillings(jobs)):
        for npu, networks in neutral.items():
            design = joined(parsed({**networks.parts[0].document, **job.document}), networks.design)
            if isinstance(design.workload, TransformerWorkload) and not check(design):
                entry = _Entry(layers_seconds(design, seconds[npu]), number, job, networks)
                queues.setdefault(time_key(design), []).append(entry)
    budget = _whole_budget(template["cluster"])
    found = {key: _first(queue, lifted, brancher, budget) for key, queue in queues.items()}
    return {key: least for key, least in found.items() if least < np.inf}


@dataclass(order=True)
class _Entry:
    """A job in the queue, by what is known of its compute so far [s]."""

    compute: float
    number: int
    job: Part = field(compare=False)
    networks: Networks = field(compare=False)
    fits: bool = field(default=False, compare=False)
    """Whether it is known that it can be; then `compute` is that of its program."""


def _first(queue: list[_Entry], lifted: list[Networks], brancher: Brancher, budget: float | None) -> float:
    """The least time of the jobs of one workload and NPU; infinity where none of them can be."""
    heapify(queue)
    best, refined = np.inf, 0
    while queue:
        first = heappop(queue)
        if first.compute >= best:
            return float(best)
        if not first.fits:  # the program of a job is made when its turn comes
            for node in brancher.nodes(first.job, [first.networks]):
                heappush(queue, replace(first, compute=max(node.compute, first.compute), fits=True))
            continue
        mine = [networks for networks in lifted if _npu_key(networks.design) == _npu_key(first.networks.design)]
        if refined == MOST_REFINED or not mine:
            return min(float(best), first.compute)
        refined += 1
        for on in brancher.nodes(first.job, mine):
            best = min(best, _least(on, brancher, budget, best))
    return float(best)


def _least(node: Node, brancher: Brancher, budget: float | None, enough: float) -> float:
    """The least time of a job on its lifted networks, or something at least `enough`.

    Where a budget is split over all dimensions no network has the most of each: the best split of it is solved.
    """
    if not all(node.networks.linear):
        return node.compute  # a slower dimension of such a network could relieve another one
    bounds = np.full(len(node.live), np.inf)
    bounds[node.live] = brancher.bounds(node)[:, 0]
    if budget is None or node.program is None:
        return float(bounds.min())
    form = Iteration.of(node.design, node.program)
    best = enough
    spans = [(float(bounds[where].min()), family) for family, _, where in node.networks.spans()]
    for lifted, family in sorted(spans, key=lambda span: span[0]):
        if lifted >= best:
            break
        best = min(best, max(lifted, _solved(form, family, budget)))
    return best


def _solved(form: Iteration, family: Family, budget: float) -> float:
    """The time of the largest form at equal shares, with the shares that are best for it [s]."""
    dimensions = family.design.cluster.dimensions
    slowed = np.array([dimension.bandwidth for dimension in dimensions]) / family.rates[0]
    problems = [(constant, table * slowed) for constant, table in form.problems(family)]
    equal = np.full(len(dimensions), budget / len(dimensions))
    constant, table = max(problems, key=lambda problem: split_time(problem[1], equal, problem[0]))
    return split_time(table, optimal_split(table, budget), constant) * (1 - WORST)


def _whole_budget(cluster: Mapping[str, Any]) -> float | None:
    """The largest budget of a split over all dimensions of every shape [B/s]; None where there is none."""
    split = cluster.get("bandwidth")
    if not isinstance(split, Split) or not _all_open(cluster.get("dimensions")):
        return None
    return parse(_extreme(split.budget, max, "bandwidth"), "bandwidth")


def _all_open(dimensions: Any) -> bool:
    if isinstance(dimensions, Choice):
        return all(_all_open(alternative) for alternative in dimensions.alternatives)
    if isinstance(dimensions, list):
        return all(_all_open(dimension) for dimension in dimensions)
    return is_open(dimensions)


def _npu_key(design: Design) -> tuple[str, int]:
    memory = design.cluster.memory
    return f"{design.cluster.npu.model_dump_json()} {memory and memory.model_dump_json()}", design.cluster.npus


def _neutral(design: Design) -> Networks:
    """One network on which a job breaks a rule only if it breaks it everywhere: a single switch, any algorithm's."""
    (first, *_) = design.cluster.dimensions
    switch = {"topology": "switch", "size": design.cluster.npus, "leaf": None, "collective": "direct"}
    plain = {"oversubscription": 1.0, "in_network": False, "tier": "node"}
    dimension = first.model_copy(update=switch | plain)
    cluster = design.document()["cluster"] | {"dimensions": [dimension.model_dump(mode="json", exclude_none=True)]}
    cluster = {key: value for key, value in cluster.items() if key not in ("stragglers", "failed_links")}
    document = {"workload": design.document()["workload"], "cluster": cluster, "cost": "network-only"}
    # The NPU is the very one of the space: written and read again, the order of its keys may change.
    parts = {"dimensions": (dimension,), "stragglers": (), "failed_links": ()}
    whole = joined(design, parsed(document))
    whole = changed(whole, cluster=design.cluster.model_copy(update=parts))
    return Networks.of([[(Part({"cluster": cluster, "cost": "network-only"}, {}), whole)]])


def _lifted_networks(template: Mapping[str, Any], jobs: Mapping[str, Any]) -> list[Networks]:
    """The networks of the space with the most bandwidth and the least latency that each dimension can have."""
    rest = {key: value for key, value in template.items() if key not in JOB}
    cluster = dict(rest["cluster"])
    split = cluster.pop("bandwidth", None)
    if "dimensions" in cluster:
        cluster["dimensions"] = _lifted(cluster["dimensions"], split)
    system = {key: value for key, value in rest.get("system", {}).items() if key not in _NO_MATTER}
    rest |= {"cluster": cluster, "system": system}
    job = next(fillings(jobs)).document
    if template_count(rest) > MOST_NETWORKS:
        return []
    return list(grouped([(part, parsed({**job, **part.document})) for part in fillings(rest)]))


_NO_MATTER = ("intra_dimension", "active_chunks", "priority")
"""Policies that bounds do not look at."""


def _lifted(dimensions: Any, split: Any) -> Any:
    if isinstance(dimensions, Choice):
        return Choice(tuple(_lifted(alternative, split) for alternative in dimensions.alternatives))
    if isinstance(dimensions, list):
        shares = len([d for d in dimensions if is_open(d)])
        return [_best(dimension, split, shares) for dimension in dimensions]
    return dimensions


def _best(dimension: Any, split: Any, shares: int) -> Any:
    if not isinstance(dimension, dict):
        return _lifted(dimension, split)
    out = dict(dimension)
    if is_open(out) and isinstance(split, Split):
        most = parse(_extreme(split.budget, max, "bandwidth"), "bandwidth")
        out["bandwidth"] = write(max(most - (shares - 1) * split.step, split.step), "bandwidth")
    for key, best in (("bandwidth", max), ("latency", min), ("efficiency", max)):
        if key in out:
            out[key] = _extreme(out[key], best, "time" if key == "latency" else key)
    return out


def _extreme(value: Any, best: Callable[..., Any], kind: str) -> Any:
    """The best value of a hole of numbers; a value as it is."""
    if isinstance(value, Choice) and all(magnitude(alternative) is not None for alternative in value.alternatives):
        return best(value.alternatives, key=magnitude)
    if isinstance(value, Range):
        end = best(value.low, value.high)
        return end if value.kind is None else write(end, value.kind)
    if isinstance(value, PowersOfTwo):
        return best(value.low, value.high)
    return value
