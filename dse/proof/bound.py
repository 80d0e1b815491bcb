"""What no design of a space can beat: a proven bound per objective over the whole space.

Only what the bound depends on is enumerated: workload, NPU, shape of the network, prices. Cost counts the least
bandwidth that each dimension can have, and so does power, unless a budget of bandwidth is shared, where it counts the
nodes alone. Time is the least of any job on the best network (`dse.proof.relax`), or, where there are too many jobs,
that of the model's FLOPs at the peak. The least times of a shape are looked for only as long as it promises more than
others; a shape whose bounds break a constraint does not count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import count, islice
from typing import Any, TypeVar

import numpy as np

from dse.evaluate.aggregate import aggregate, is_shared
from dse.evaluate.note import Note, be_silent
from dse.proof.least import Search, Times, Unknown
from dse.proof.least_served import has_too_many_served
from dse.proof.parts import looks_at_links, without_parallelism
from dse.proof.relax import LeastTimes
from dse.proof.unreachable import is_infeasible
from dse.proof.unsold import sold_only
from dse.space.asked import names_in
from dse.space.by_parts import is_by_parts
from dse.space.draw import InfiniteError, Odometer
from dse.space.fill import fill_template, is_open, template_count
from dse.space.hole import Choice, PowersOfTwo, Range, Split, magnitude
from dse.space.objective import Objective
from dse.space.space import Space
from dse.space.split.solve import least_share
from simcore.bounds.design import bound_any_design, totals_of
from simcore.check.load import parse_design, parse_sound
from simcore.check.power import power_problems
from simcore.cost.linear import servers_price, unit_price
from simcore.cost.price import cluster_cost, price_problems
from simcore.design.design import Design
from simcore.design.software import Software
from simcore.document.problem import InputError, Refusal
from simcore.document.quantity import parse_quantity, write_quantity
from simcore.metrics import METRICS, SHAPE, Figures, bounds, is_of, metrics_before
from simcore.power.draw import (
    draws_of,
    host_watts,
    nodes_peak_watts,
    npus_watts,
    peak_watts,
    rack_watts,
    rest_watts,
)

UPPER_TIME = "iteration_time.p90"
"""What depends on the software beside the time."""
MOST_SHAPES = 20_000
"""Above this many combinations of workload, NPU and shape no bound is given."""


ShapeBounds = tuple[Mapping[str, float | None], ...]
"""The bounds of all metrics by name, for each shape."""


@dataclass(frozen=True)
class ProvenLimit:
    """A proven bound of an objective; None where there is none."""

    value: float | None = None
    design: Mapping[str, Any] | None = None
    """The document of what it comes from, where that is known: the job that reaches it, on a network of its shape."""


def space_bounds(space: Space) -> dict[str, float | None]:
    """The proven bound of each objective over every design of the space; None where there is none.

    It is on the side that the objective looks to: the least of one to be minimised, the most of another.
    """
    return {name: limit.value for name, limit in space_limits(space).items()}


def space_limits(space: Space) -> dict[str, ProvenLimit]:
    """As `space_bounds`, with what each bound comes from."""
    return run_steps(limit_steps(space), be_silent)[0]


@dataclass(frozen=True)
class Step:
    """A step towards the bounds of a space."""

    text: str
    """What it does."""
    shapes: Callable[[], ShapeBounds]
    """The bounds of every shape that are proven before it; those that are proven later are no worse."""


Limits = tuple[dict[str, ProvenLimit], ShapeBounds | None]


def limit_steps(space: Space, phased: bool = True) -> Generator[Step, None, Limits]:
    """The steps to what `space_limits` gives, and to the bounds of each shape; None where shapes are not known.

    A shape is a workload on so many NPUs of a kind, in a network of given sizes, at given prices. Every feasible design
    is of one of them. Unless `phased` no time counts that a collective or a schedule takes: only the workload's FLOPs
    at the peak of all NPUs, which holds whatever the network does.
    """
    if space.jobs and not phased:
        return {objective.name: ProvenLimit() for objective in space.objectives}, None
    if space.jobs:
        return {name: ProvenLimit(value) for name, value in _jobs_bounds(space).items()}, None
    limits: dict[str, ProvenLimit] = {}
    try:
        shapes = _shapes_of(space, phased and not has_too_many_served(space))
        for objective in space.objectives:
            limits[objective.name] = yield from _best_limit(objective, shapes, space)
    except (Refusal, InputError):
        return {objective.name: ProvenLimit() for objective in space.objectives}, None
    return limits, _feasible_bounds(shapes, space)


Found = TypeVar("Found")


def run_steps(steps: Generator[Step, None, Found], note: Note) -> Found:
    """What steps lead to, all of them at once; `note` is told of each."""
    while True:
        try:
            note(next(steps).text)
        except StopIteration as end:
            found: Found = end.value
            return found


def first_steps(steps: Generator[Step, None, Found], most: int, note: Note) -> Found | None:
    """What steps lead to if they are `most` at most, else None; `note` is told of each."""
    try:
        for _ in range(most + 1):
            note(next(steps).text)
    except StopIteration as end:
        found: Found = end.value
        return found
    return None


def _feasible_bounds(shapes: Sequence[_BoundedShape], space: Space) -> ShapeBounds:
    known = [bounds for shape in shapes if (bounds := shape.bounds) is not None]
    return tuple(bounds for bounds in known if not is_infeasible(space.constraints, bounds))


def _shapes_of(space: Space, phased: bool) -> list[_BoundedShape]:
    """The shapes of a space, where they can be enumerated; raises `ValueError` where they are too many."""
    if isinstance(cluster := space.template["cluster"], Choice):
        one_by_one = [{**space.template, "cluster": alternative} for alternative in cluster.alternatives]
        return [shape for template in one_by_one for shape in _shapes_of(replace(space, template=template), phased)]
    stacks = UPPER_TIME in names_in(space.objectives, space.constraints)
    designs = list(islice(_shapes(space.template), MOST_SHAPES + 1))
    if len(designs) > MOST_SHAPES:
        raise Refusal(f"at most {MOST_SHAPES:,} shapes", "more")
    times, sold = LeastTimes(space), sold_only(space)
    search_of = times.search_of if phased else lambda design: Unknown()
    shared = isinstance(space.template["cluster"].get("bandwidth"), Split)
    return [_BoundedShape(d, search_of(d), not shared, stacks) for d in designs if _has_precision(d) and sold(d)]


def _jobs_bounds(space: Space) -> dict[str, float | None]:
    # Constraints on results are asked of every workload, too; without them the bounds are looser, and hold.
    own = tuple(constraint for constraint in space.constraints if constraint.of_job)
    return bound_over_jobs(
        space, [space_bounds(replace(space.space_of_job(job), constraints=own)) for job in space.jobs]
    )


def bound_over_jobs(space: Space, each: Sequence[Mapping[str, float | None]]) -> dict[str, float | None]:
    """Bounds over several workloads from those of each: their aggregate grows with each, so that of bounds is one."""
    regretted = space.settings.aggregate == "regret"  # of which nothing is proven but that it is 0 or more
    kept = [o for o in space.objectives if not regretted or is_shared(o)]
    known = [o for o in kept if all(bounds[o.name] is not None for bounds in each)]
    values = [{o.name: bounds[o.name] or 0.0 for o in known} for bounds in each]
    weights = [job.weight for job in space.jobs]
    found: dict[str, float | None] = dict.fromkeys(objective.name for objective in space.objectives)
    return found | aggregate(space.settings.aggregate, known, weights, values, space.shares)


def _has_precision(design: Design) -> bool:
    """Whether the NPU supports the workload's precision; otherwise no design is valid."""
    return not design.workload.computes or design.cluster.npu.computes(design.workload.precision)


@dataclass
class _BoundedShape:
    """A workload on so many NPUs of a kind, in a network of given sizes and tiers; its bounds by what is known."""

    design: Design
    """One of its designs, whose network costs least."""
    search: Search
    draws_least: bool
    """Whether the network of `design` is the one that draws least, too."""
    of_stack: bool
    """Whether the shape is one of a stack of software: that of `design`."""
    _known: tuple[Times, dict[str, float | None]] | None = None

    @property
    def bounds(self) -> Mapping[str, float | None] | None:
        """Its bounds by what the search for its times has found so far; None where no design of it is feasible."""
        times = self.search.times
        if times is None:
            return None
        if self._known is None or self._known[0] != times:
            free = bound_any_design(self.design) if self._known is None else self._known[1]
            stack = self.design.software if self.of_stack else None
            self._known = times, _proven_bounds(self.design, free, times, self.draws_least, stack)
        return self._known[1]

    @property
    def leader(self) -> Mapping[str, Any] | None:
        """The document of the design that its least time comes from; its bandwidths may be no network's."""
        leader = self.search.leader
        if leader is None:
            return None
        network = {} if leader.network is None else leader.network.document
        return parse_sound({**without_parallelism(self.design), **network, **leader.job.document}).document()


def _best_limit(
    objective: Objective, shapes: Sequence[_BoundedShape], space: Space
) -> Generator[Step, None, ProvenLimit]:
    """The bound of an objective over all shapes.

    Refines the shape with the best bound until that bound no longer changes.
    """
    if objective.direction != METRICS[objective.name].direction and not is_of(objective.name, SHAPE):
        return ProvenLimit()

    def promised_loss(shape: _BoundedShape) -> float:
        """The shape's bound, to be minimised; infinity where none of its designs is feasible."""
        bounds = shape.bounds
        if bounds is None or is_infeasible(space.constraints, bounds):
            return np.inf
        value = bounds.get(objective.name)
        return -np.inf if value is None else objective.sign * value

    queue = [(promised_loss(shape), number) for number, shape in enumerate(shapes)]
    heapify(queue)
    steps = count(1)
    while queue:
        before, number = heappop(queue)
        shape = shapes[number]
        now = promised_loss(shape)
        if now == before and (shape.search.done or now == np.inf):
            return ProvenLimit(objective.sign * now, shape.leader) if np.isfinite(now) else ProvenLimit()
        while now == before and not shape.search.done:
            yield Step(f"{objective.name}, step {next(steps):,}", partial(_feasible_bounds, shapes, space))
            shape.search.advance()
            now = promised_loss(shape)
        heappush(queue, (now, number))
    return ProvenLimit()


def _shapes(template: Mapping[str, Any]) -> Iterator[Design]:
    """One design for each workload, stack, NPU, shape, price list and reliability, each dimension at least bandwidth.

    At a list of parts less bandwidth may cost more: there each bandwidth is a shape. Shapes that cannot be bought are
    left out: no design of theirs is valid. A stack decides keys of the workload.
    """
    reduced = _reduced(template)
    split = template["cluster"].get("bandwidth")
    odometer = Odometer()
    while True:
        document = fill_template(reduced, odometer).document
        design, _ = parse_design(document)
        if design is None and isinstance(split, Split):
            document["cluster"]["dimensions"] = _cheapest_split(document, split)
            design, _ = parse_design(document)
        design = design or parse_sound(document)
        if not price_problems(design) and not list(power_problems(design)):
            yield design
        if not odometer.step():
            return


def _reduced(template: Mapping[str, Any]) -> dict[str, Any]:
    """What tells shapes apart; all but the degrees where an expression looks at what is left out otherwise."""
    cluster = {key: value for key, value in template["cluster"].items() if key != "placement"}
    if looks_at_links(template):
        kept = {key: value for key, value in template.items() if key != "parallelism"} | {"cluster": cluster}
        if template_count(kept) == math.inf:
            raise InfiniteError("links of a finite number, which expressions look at", "others")
        return kept
    cluster.pop("bandwidth", None)
    if "dimensions" in cluster:
        cluster["dimensions"] = _strip_dimensions(cluster["dimensions"], is_by_parts(template.get("cost")))
    keys = ("workload", "software", "cost", "reliability")
    return {key: template[key] for key in keys if key in template} | {"cluster": cluster}


def _strip_dimensions(dimensions: Any, by_parts: bool) -> Any:
    """The shapes of the network: no algorithms, and but for a list of parts the least of each bandwidth."""
    if isinstance(dimensions, Choice):
        return Choice(tuple(_strip_dimensions(alternative, by_parts) for alternative in dimensions.alternatives))
    if isinstance(dimensions, list):
        return [_strip_dimensions(dimension, by_parts) for dimension in dimensions]
    if isinstance(dimensions, dict):
        kept = {
            key: value
            for key, value in dimensions.items()
            if key not in ("collective", "latency", "efficiency", "library")
        }
        if "bandwidth" in kept and not by_parts:
            kept["bandwidth"] = _least_bandwidth(kept["bandwidth"])
        return kept | {"latency": "0 s"}
    return dimensions


def _least_bandwidth(bandwidth: Any) -> Any:
    """The least bandwidth of a hole; the hole as it is where that is not plain."""
    if isinstance(bandwidth, Choice):
        ends = [_least_bandwidth(value) for value in bandwidth.alternatives]
        plain = all(magnitude(end) is not None for end in ends)
        return min(ends, key=lambda end: magnitude(end) or 0.0) if plain else bandwidth
    if isinstance(bandwidth, Range):
        return write_quantity(bandwidth.low, "bandwidth")
    return bandwidth.low if isinstance(bandwidth, PowersOfTwo) else bandwidth


def _cheapest_split(document: Mapping[str, Any], split: Split) -> list[dict[str, Any]]:
    """The split of the least budget that costs least: one step each, the rest where it is cheapest."""
    least = _least_bandwidth(split.budget)
    step = {"bandwidth": write_quantity(least_share(split), "bandwidth")}
    dimensions = [{**step, **d} if is_open(d) else d for d in document["cluster"]["dimensions"]]
    design = parse_sound({**document, "cluster": {**document["cluster"], "dimensions": dimensions}})
    if price_problems(design):
        return dimensions  # there is no cheapest one
    prices = [unit_price(design.cost, dimension) for dimension in design.cluster.dimensions]
    open_ones = [i for i, d in enumerate(document["cluster"]["dimensions"]) if is_open(d)]
    whole = parse_quantity(least, "bandwidth") if split.solve else split.units(least) * split.step
    rest = whole - len(open_ones) * least_share(split)
    cheapest = min(open_ones, key=prices.__getitem__)
    own = parse_quantity(dimensions[cheapest]["bandwidth"], "bandwidth")
    dimensions[cheapest]["bandwidth"] = write_quantity(own + max(rest, 0.0), "bandwidth")
    return dimensions


def _proven_bounds(
    design: Design, free: Mapping[str, float | None], least: Times, draws_least: bool, stack: Software | None
) -> dict[str, float | None]:
    """The bounds of any design of this shape.

    `free` are those of any design of its workload on its NPUs, `least` the least times [s] and the least energy [J]
    that are known, by metric: that energy has nothing in it of the network. `stack`: the software of all of them.
    """
    cost, workload = cluster_cost(design), design.workload
    network = rest_watts(design) - host_watts(design) if draws_least else 0.0
    still = npus_watts(design, draws_of(design).idle) + host_watts(design) + network
    time = max(free.get("iteration_time") or 0.0, least.get("iteration_time", 0.0))
    totals = totals_of(workload)
    figures = Figures.of(
        design,
        seconds=time or None,
        power=still,
        energy=max(still * time, least.get("energy", 0.0) + network * time) if time else None,
        capital=cost.total - servers_price(design),  # others of the shape may have none
        network=cost.network,
        peak=peak_watts(design) if draws_least else nodes_peak_watts(design),
        rack=rack_watts(design),
        samples=None if totals is None else totals.samples,
        flops=None if totals is None else totals.counted_flops,
        first_token=least.get("time_to_first_token"),
        output_token=least.get("time_per_output_token"),
        software=stack,
    )
    return bounds(figures, {**free, **metrics_before(design, None, SHAPE)})
