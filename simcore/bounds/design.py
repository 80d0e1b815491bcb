"""Proven bounds: what no simulation of a design, or of any completion of a partial one, can beat.

For a complete design (degrees, network, policies given), each beside its reason:

- a stage computes and waits for its blocking collectives one after the other: m x (F + B) of all its chunks;
- before it, the first microbatch passes the stages in front; after it, the last one passes them back: the bubble;
- a collective takes at least what its busiest dimension serves, and at least one chunk's way through;
- a dimension serves one phase at a time: the sum of its serializations, and of those that begin with the gradients;
- ZeRO-3's gathers follow one another; what waits for a gradient bucket, or for embeddings, waits for all of it;
- computation beside collectives is slowed while dimensions serve them (`simcore.bounds.overlap`);
- of served requests the last stage makes token after token: the microbatches of one follow those of the one before;
- memory and cost do not depend on timing: they are exact;
- of an explicit graph the longest way through it, and what one thing does of it (`simcore.bounds.graph`);
- of several jobs none is faster beside the others than its bound alone.

For a partial design (keys left out may be anything): model FLOPs over the NPUs' peak, model states over all NPUs, the
price of the NPUs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from simcore.bounds.collective import CollectiveTime, collective_times
from simcore.bounds.compute import compute_seconds, mean_work, stages_work, work_joules
from simcore.bounds.further import least_further
from simcore.bounds.graph import bound_graph
from simcore.bounds.iteration import IterationBound
from simcore.bounds.overlap import lost_shares, slowed_time
from simcore.bounds.rounding import SAFE
from simcore.catalog.preset import preset
from simcore.compute import operator_times, times_of
from simcore.cost.linear import own_or_listed
from simcore.cost.price import cluster_cost
from simcore.design.design import Design
from simcore.design.jobs import shares_of
from simcore.design.library import Library
from simcore.design.npu import Npu
from simcore.design.power_cap import capped
from simcore.design.prices import PriceList
from simcore.design.reliability import Reliability
from simcore.design.software import Software
from simcore.design.workload import Workload, read_workload
from simcore.document.field import BYTES
from simcore.document.problem import Refusal
from simcore.document.quantity import parse_quantity
from simcore.engine.fast.lower import Lowering
from simcore.memory.expanded import memory_of
from simcore.memory.footprint import model_states
from simcore.memory.plan import memory_needed, program_of
from simcore.metrics import METRICS, Figures, Scope, bounds, metrics_before
from simcore.power.draw import (
    draws_of,
    energy,
    host_watts,
    joules_of,
    nodes_peak_watts,
    npus_watts,
    peak_watts,
    rack_watts,
)
from simcore.program import Program
from simcore.reliability.counts import Counts
from simcore.reliability.goodput import Interruptions, interruptions
from simcore.system.chunks import PICOSECONDS
from simcore.system.placement import place
from simcore.workload.base import Totals, kind_of
from simcore.workload.data_parallel import optimizer_bytes

Bounds = dict[str, float | None]
BoundsAt = Callable[[Design, Mapping[str, float], float, Program | None], Bounds]
"""From bounds of times, and of what an NPU takes above idle, to those of all metrics."""
_IDEAL = {
    "bandwidth": 1e21,
    "latency": 0.0,
    "efficiency": 1.0,
    "library": Library(),
    "nics": None,
    "nic_bandwidth": None,
    "switch": None,
}
"""A dimension that is never waited for."""
_OF_NODES: tuple[Scope, ...] = ("npus", "prices", "job")
"""What metrics follow from that hold whatever the network."""


def bound(design: Design | Mapping[str, Any]) -> Bounds:
    """The best value that each metric can take, by name: the least of one to be minimised, the most of the others.

    `design` is a checked design, or a partial document (see the module); a metric without a proven bound is None.
    Raises `ValueError` where a partial document lacks its workload or its NPUs.
    """
    if isinstance(design, Design):
        return _bound_design(design, bounds_at) if design.jobs is None else _bound_jobs(design)
    return _bound_partial(design)


def bound_by_compute(design: Design, named: Collection[str]) -> Bounds:
    """At least the metrics `named` as `bound` has them, of an iteration that waits for no network: a tenth of the work.

    That is for a training step; of other work it is `bound`.
    """
    if design.jobs is not None or not (program := program_of(design)).trained or program.graph is not None:
        return bound(design)
    return bounds_at(
        design, {"iteration_time": compute_seconds(design, program)}, work_joules(design, program), program, named
    )


def bound_any_design(design: Design) -> Bounds:
    """What no design of its workload can beat on as many of its NPUs; empty where its kind knows nothing of that."""
    if design.jobs is not None or totals_of(design.workload) is None:
        return {}
    document = design.document()
    kept = {key: document[key] for key in ("workload", "cost", "reliability")}
    cluster = {"npu": document["cluster"]["npu"], "npus": design.cluster.npus, "power_cap": design.cluster.power_cap}
    return _bound_partial({**kept, "cluster": cluster})


def bound_on_any_network(design: Design) -> Bounds:
    """The bounds of a design on whatever network of its sizes: one that is never waited for, costs and draws nothing.

    The nodes are bought, and draw; what fails of the network must be left out of the design's `reliability`.
    """
    if design.parallelism.solves:  # whose stages are others on each network
        return {**dict.fromkeys(METRICS), **bound_any_design(design)}
    dimensions = tuple(dimension.model_copy(update=_IDEAL) for dimension in design.cluster.dimensions)
    cluster = design.cluster.model_copy(update={"dimensions": dimensions})
    ideal = design.model_copy(update={"cluster": cluster})
    return _bound_design(ideal, lambda _, *found: _bounds_of_nodes(design, *found))


def _bound_jobs(design: Design) -> Bounds:
    """Bounds of several jobs: what is known without playing them, and that none is faster than its bound alone."""
    least = [bound(share.design)["iteration_time"] for share in shares_of(design)[0]]
    slowest = max((time for time in least if time is not None), default=None)
    return {**dict.fromkeys(METRICS), **metrics_before(design, memory_needed(design)), "iteration_time": slowest}


def _bound_design(design: Design, bounds_at: BoundsAt) -> Bounds:
    program = program_of(design)
    if (alone := program.single) is not None:
        groups = place(design)[0]
        lowering = Lowering(design, groups, times_of(design))
        for group in groups:
            lowering.collective(alone.kind, group, alone.size)
        slowest = max(time.least for time in collective_times(lowering))
        seconds, draws = slowest / PICOSECONDS, draws_of(design)
        return bounds_at(design, {"iteration_time": seconds}, (draws.wait - draws.idle) * seconds, None)
    if program.graph is not None:
        joules = min(stages_work(program, joules_of(design, times_of(design).seconds))) * SAFE  # any may end last
        return bounds_at(design, {"iteration_time": bound_graph(design, program.graph) / PICOSECONDS}, joules, program)
    lowering, times, iteration = bound_iteration(design, program)
    joules = mean_work(program, joules_of(design, lowering.duration)) / PICOSECONDS * SAFE
    if program.trained:
        seconds = max([*iteration.sums(), *_slowed_times(lowering, times, iteration)]) / PICOSECONDS
        return bounds_at(design, {"iteration_time": seconds}, joules, program)
    if not program.serves:
        return bounds_at(
            design, {"iteration_time": iteration.serving_time([1] * program.chunks) / PICOSECONDS}, joules, program
        )
    return bounds_at(design, serving_bounds(program, lowering, iteration, [1] * program.chunks), joules, program)


def bound_serving(design: Design, tokens: int) -> dict[str, float]:
    """Bounds of the times of a design that makes one or two tokens [s], if it goes on until there are `tokens`.

    What further tokens take at least is `simcore.bounds.further`'s; of a table of measurements nothing is proven.
    """
    proven = bool(times_of(design).least(1.0))
    program = least_further(design, program_of(design), tokens) if proven else None
    if program is None:
        return dict.fromkeys(("iteration_time", "time_to_first_token", "time_per_output_token"), 0.0)
    lowering, _, iteration = bound_iteration(design, program)
    return serving_bounds(program, lowering, iteration, [1, tokens - 1][: program.chunks])


def bound_iteration(design: Design, program: Program) -> tuple[Lowering, list[CollectiveTime], IterationBound]:
    """A program of operators and collectives, what its types of collectives take, and the sums of both."""
    compute = times_of(design)
    lowering = Lowering(design, place(design)[0], compute)
    programs = lowering.add(program).tolist()
    times = collective_times(lowering)
    return lowering, times, IterationBound(program, lowering, programs, times)


def _slowed_times(lowering: Lowering, times: list[CollectiveTime], iteration: IterationBound) -> Iterator[float]:
    """Least times of the stages that compute beside collectives, where that costs anything [ps]."""
    lost, keys = lost_shares(lowering.design), [key for key, _ in lowering.keyed()]
    for stage in iteration.stage_uses() if any(lost) else ():
        yield float(slowed_time(stage, times, keys, lost)) * SAFE


def serving_bounds(
    program: Program, lowering: Lowering, iteration: IterationBound, repeats: Sequence[float]
) -> dict[str, float]:
    """Bounds of the times of a program that serves [s], each of its chunks as often as `repeats` says."""
    times = {"iteration_time": iteration.serving_time(repeats) / PICOSECONDS}
    alone = program.first_token
    first = IterationBound(alone, lowering, lowering.add(alone).tolist(), collective_times(lowering))
    times["time_to_first_token"] = first.serving_time([1]) / PICOSECONDS
    if len(repeats) > 1:
        further = iteration.further_time(repeats[1:], first) / PICOSECONDS
        times["time_per_output_token"] = further / sum(repeats[1:])
    return times


def bounds_at(
    design: Design,
    times: Mapping[str, float],
    joules: float,
    program: Program | None,
    named: Collection[str] = METRICS,
) -> Bounds:
    """The bounds of the metrics `named` with bounds of its `times`, if every NPU takes so many `joules` above idle."""
    seconds, cost = times["iteration_time"], cluster_cost(design)
    memory = memory_of(design, program) if program and kind_of(design.workload).holds else None
    figures = Figures.of(
        design,
        seconds=seconds,
        power=energy(design, 0.0, 1.0) * SAFE,
        energy=energy(design, joules, seconds),
        peak=peak_watts(design),
        rack=rack_watts(design),
        capital=cost.total,
        network=cost.network,
        samples=(program.tokens or None) if program else None,
        first_token=times.get("time_to_first_token"),
        output_token=times.get("time_per_output_token"),
        software=design.software,
    )
    exact = metrics_before(design, memory) if any(METRICS[name].bound is None for name in named) else {}
    return bounds(figures, exact, named)


def _bounds_of_nodes(design: Design, times: Mapping[str, float], joules: float, program: Program | None) -> Bounds:
    """As `bounds_at`, where the network is not known: the nodes alone cost and draw."""
    seconds, cost = times["iteration_time"], cluster_cost(design)
    memory = memory_of(design, program) if program and kind_of(design.workload).holds else None
    still = npus_watts(design, draws_of(design).idle) + host_watts(design)
    figures = Figures.of(
        design,
        seconds=seconds,
        power=still * SAFE,
        energy=(still * seconds + npus_watts(design, joules)) * SAFE,
        peak=nodes_peak_watts(design) * SAFE,
        capital=(cost.npu + cost.memory) * SAFE,
        network=0.0,
        samples=(program.tokens or None) if program else None,
        first_token=times.get("time_to_first_token"),
        output_token=times.get("time_per_output_token"),
        software=design.software,
    )
    known = metrics_before(design, memory, _OF_NODES)
    if design.cost.by_parts:
        del known["racks"]  # the network decides how many there are
    return bounds(figures, known)


def _bound_partial(document: Mapping[str, Any]) -> Bounds:
    for path in (("workload",), ("cluster",), ("cluster", "npu"), ("cluster", "npus")):
        holder: Any = document if len(path) == 1 else document["cluster"]
        if not isinstance(holder, Mapping) or path[-1] not in holder:
            raise Refusal("this key in a partial design", "nothing", where=".".join(path))
    workload = read_workload(document["workload"])
    cluster = document["cluster"]
    cap = cluster.get("power_cap")
    npus, npu, prices = int(cluster["npus"]), _resolve_entry(Npu, "npus", cluster["npu"]), document.get("cost", "libra")
    price_list = _resolve_entry(PriceList, "prices", prices)
    unknown = price_list.free_npus or price_list.by_parts  # nodes decide what NPUs cost
    price = npus * (0.0 if unknown else own_or_listed(npu, price_list) or 0.0)
    if cap is not None:
        npu = capped(npu, parse_quantity(cap, "power") if isinstance(cap, str) else cap)
    each = npus * price_list.pue
    figures = Figures(
        workload,
        npu,
        npus,
        price_list,
        power=each * npu.power.idle,
        peak=each * npu.power.max,
        capital=price,
        interruptions=_least_interruptions(document, workload, npus),
    )
    known = {"fits": 1.0, "cost.npu": price, "npus": float(npus)}
    totals, trained = totals_of(workload), kind_of(workload).trained
    if totals is None or not npu.computes(workload.precision):
        return bounds(figures, known)
    seconds = operator_times(npu, workload.precision, (0.0, 0.0)).least(totals.flops) / npus
    kept = BYTES[workload.gradient_precision or "fp16"] if trained else 0
    width = BYTES[workload.precision]
    states = model_states(totals.parameters / npus, 1, 0, width, kept, optimizer_bytes(width))
    weights = states.weights if totals.weights is None else totals.weights / npus
    held = weights + (states.gradients + states.optimizer if trained else 0.0)
    figures = replace(figures, seconds=seconds, energy=figures.power * seconds, samples=totals.samples)
    known |= {"memory.peak": held, "memory.reserved": held + _context(document, npu)}
    return bounds(figures, known)


def _least_interruptions(document: Mapping[str, Any], workload: Workload, npus: int) -> Interruptions | None:
    """What stops a job on any network of so many NPUs: their own failures; None where nothing is said of them."""
    if "reliability" not in document:
        return None
    return interruptions(_resolve_entry(Reliability, "reliability", document["reliability"]), workload, Counts(npus))


def _context(document: Mapping[str, Any], npu: Npu) -> float:
    """What the software of a partial design takes of its NPU beside any tensor [B]; nothing where it is open."""
    if "software" not in document:
        return 0.0
    software: Software = _resolve_entry(Software, "software", document["software"])
    return software.memory.beside_tensors(npu.platform, 0)


def totals_of(workload: Workload) -> Totals | None:
    """What every design of a workload must do; None where its kind knows nothing of that."""
    return kind_of(workload).totals(workload)


def _resolve_entry(spec: type[Npu | PriceList | Software | Reliability], section: str, value: Any) -> Any:
    return preset(spec, section, value) if isinstance(value, str) else spec.model_validate(value)
