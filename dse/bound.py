"""What no design of a space can beat: a proven bound per objective over the whole space.

Only what the bound depends on is enumerated: workload, NPU, shape of the network, prices. Cost counts the least
bandwidth that each dimension can have; time is the least of any job on the best network (`dse.relax`), or, where there
are too many jobs or the workload is of another kind, that of the model's FLOPs at the peak.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dse.buy.aggregate import aggregate
from dse.draw import InfiniteError, Odometer
from dse.fill import fill_template, is_open
from dse.hole import Choice, PowersOfTwo, Range, Split, magnitude
from dse.objective import Objective
from dse.relax import least_times, time_key
from dse.screen import cluster_metrics
from dse.space import Space
from simcore.bound import bound_of_any
from simcore.cost.price import cluster_cost, price_problems, unit_price
from simcore.cost.running import electricity, per_token
from simcore.design import CollectiveWorkload, Design, TransformerWorkload
from simcore.load import parse_design
from simcore.quantity import parse, write
from simcore.result import METRICS
from simcore.workload.counts import forward_flops

MOST_SHAPES = 20_000
"""Above this many combinations of workload, NPU and shape no bound is given."""

_OF_SHAPE = frozenset(("npus", "racks", "memory.capacity", "cost.npu", "cost.memory"))
"""Metrics that all designs of a shape have alike, so that they are bounded on both sides."""


def space_bounds(space: Space) -> dict[str, float | None]:
    """The proven bound of each objective over every design of the space; None where there is none.

    It is on the side that the objective looks to: the least of one to be minimised, the most of another.
    """
    if space.jobs:
        return _jobs_bounds(space)
    best: dict[str, float | None] = {}
    try:
        times = least_times(space)
        for number, design in enumerate(_shapes(space.template)):
            if number >= MOST_SHAPES:
                return dict.fromkeys((objective.name for objective in space.objectives), None)
            least = times.get(time_key(design))
            if times and least is None and isinstance(design.workload, TransformerWorkload):
                continue  # no design of this workload on this NPU is feasible
            proven = _proven(design, least)
            for objective in space.objectives:
                name, value = objective.name, _towards(objective, proven)
                best[name] = _weaker(objective, best[name], value) if name in best else value
    except (InfiniteError, ValueError):
        return dict.fromkeys((objective.name for objective in space.objectives), None)
    return {objective.name: best.get(objective.name) for objective in space.objectives}


def _jobs_bounds(space: Space) -> dict[str, float | None]:
    """Bounds over several workloads: their aggregate grows with each of them, so that of the bounds is one."""
    each = [space_bounds(space.of_job(job)) for job in space.jobs]
    known = [o for o in space.objectives if all(bounds[o.name] is not None for bounds in each)]
    values = [{o.name: bounds[o.name] or 0.0 for o in known} for bounds in each]
    weights = [job.weight for job in space.jobs]
    found: dict[str, float | None] = dict.fromkeys(objective.name for objective in space.objectives)
    return found | aggregate(space.settings.aggregate, known, weights, values)


def _towards(objective: Objective, proven: Mapping[str, float | None]) -> float | None:
    """The bound of a shape in the objective's direction: most metrics are bounded in one only."""
    usual = "minimize" if METRICS[objective.name].better == "lower" else "maximize"
    known = objective.direction == usual or objective.name in _OF_SHAPE
    return proven.get(objective.name) if known else None


def _weaker(objective: Objective, one: float | None, other: float | None) -> float | None:
    """The weaker of two bounds: one that holds for both."""
    if one is None or other is None:
        return None
    return min(one, other) if objective.direction == "minimize" else max(one, other)


def _shapes(template: Mapping[str, Any]) -> Iterator[Design]:
    """One design for each workload, NPU, shape and price list, each dimension with its least bandwidth."""
    cluster = {key: value for key, value in template["cluster"].items() if key not in ("bandwidth", "placement")}
    if "dimensions" in cluster:
        cluster["dimensions"] = _bare(cluster["dimensions"])
    reduced = {key: template[key] for key in ("workload", "cost") if key in template} | {"cluster": cluster}
    split = template["cluster"].get("bandwidth")
    odometer = Odometer()
    while True:
        document = fill_template(reduced, odometer).document
        design, _ = parse_design(document)
        if design is None and isinstance(split, Split):
            document["cluster"]["dimensions"] = _cheapest(document, split)
            design, _ = parse_design(document)
        if design is None:
            raise ValueError("a shape that cannot be bounded")
        yield design
        if not odometer.step():
            return


def _bare(dimensions: Any) -> Any:
    """The shapes of the network: no algorithms, the least of each bandwidth."""
    if isinstance(dimensions, Choice):
        return Choice(tuple(_bare(alternative) for alternative in dimensions.alternatives))
    if isinstance(dimensions, list):
        return [_bare(dimension) for dimension in dimensions]
    if isinstance(dimensions, dict):
        kept = {key: value for key, value in dimensions.items() if key not in ("collective", "latency", "efficiency")}
        if "bandwidth" in kept:
            kept["bandwidth"] = _least(kept["bandwidth"])
        return kept | {"latency": "0 s"}
    return dimensions


def _least(bandwidth: Any) -> Any:
    if isinstance(bandwidth, Choice):
        return min(bandwidth.alternatives, key=lambda value: magnitude(value) or 0.0)
    if isinstance(bandwidth, Range):
        return write(bandwidth.low, "bandwidth")
    return bandwidth.low if isinstance(bandwidth, PowersOfTwo) else bandwidth


def _cheapest(document: Mapping[str, Any], split: Split) -> list[dict[str, Any]]:
    """The split of the least budget that costs least: one step each, the rest where it is cheapest."""
    least = _least(split.budget)
    step = {"bandwidth": write(split.step, "bandwidth")}
    dimensions = [{**step, **d} if is_open(d) else d for d in document["cluster"]["dimensions"]]
    design, _ = parse_design({**document, "cluster": {**document["cluster"], "dimensions": dimensions}})
    if design is None:
        raise ValueError("a shape that cannot be bounded")
    prices = [unit_price(design.cost, dimension) for dimension in design.cluster.dimensions]
    open_ones = [i for i, d in enumerate(document["cluster"]["dimensions"]) if is_open(d)]
    rest = (split.units(least) - len(open_ones)) * split.step
    cheapest = min(open_ones, key=prices.__getitem__)
    own = parse(dimensions[cheapest]["bandwidth"], "bandwidth")
    dimensions[cheapest]["bandwidth"] = write(own + max(rest, 0.0), "bandwidth")
    return dimensions


def _proven(design: Design, least: float | None) -> dict[str, float | None]:
    """The bounds of any design of this shape; `least` is the least time that is known of them [s]."""
    if price_problems(design):
        raise ValueError("a shape without a price")
    cost = cluster_cost(design)
    proven: dict[str, float | None] = {
        **cluster_metrics(design),
        "bubble": 0.0,
        "exposed_communication": 0.0,
        "mfu": 1.0,
        "network_utilization": 1.0,
        "fits": 1.0,
    }
    if not isinstance(design.workload, CollectiveWorkload):
        free = bound_of_any(design)
        proven |= {key: free[key] for key in ("iteration_time", "throughput", "memory.peak")}
        if least is not None and isinstance(design.workload, TransformerWorkload):
            seconds = max(free["iteration_time"] or 0.0, least)
            peak = design.cluster.npu.peak[design.workload.precision] * design.cluster.npus
            proven |= {
                "iteration_time": seconds,
                "throughput": design.workload.global_batch * design.workload.sequence / seconds,
                "mfu": min(1.0, 3 * forward_flops(design.workload) / (seconds * peak)),
            }
        throughput, time = proven["throughput"], proven["iteration_time"]
        proven["perf_per_cost"] = throughput / cost.total if throughput and cost.total else None
        idle = design.cluster.npus * design.cluster.npu.power.idle * design.cost.pue
        proven |= {"power": idle, "energy": None if time is None else idle * time}
        proven["cost.electricity"] = electricity(design, idle)
        if time is not None and throughput is not None:
            each = per_token(design.cost, design.workload, cost.total, idle * time, time, throughput * time)
            proven |= {"energy_per_token": each.energy, "cost_per_token": each.cost}
            proven |= {"time_to_train": each.time_to_train, "cost_to_train": each.cost_to_train}
    return proven
