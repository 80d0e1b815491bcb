"""The metrics: one table of the numbers that objectives, constraints, columns and reports speak of.

`METRICS` has a row for each, by name; the names and their units (SI) are those of `docs/model.md`. A package adds its
own by an entry point in the group `simcore.metrics` (see `simcore.family`) whose name is that of the metric.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from simcore.cost.orderable import is_orderable
from simcore.cost.price import cluster_cost, racks
from simcore.design.design import Design
from simcore.design.jobs import shares_of
from simcore.family import Family
from simcore.memory.expanded import capacity, fits
from simcore.metrics.base import BEFORE, CLUSTER, JOB, PRICED, SHAPE, Metric, Mover, Scope
from simcore.metrics.figures import Figures, Number
from simcore.power.draw import peak_watts, rack_watts, rest_watts
from simcore.reliability.counts import mtbf_of
from simcore.result import Memory, Result, fairness, worst_slowdown
from simcore.workload.base import kind_of
from simcore.workload.staleness import staleness_of


def _of_memory(part: str) -> Metric:
    return Metric(
        "B",
        scope="job",
        read=lambda r: None if r.memory_bytes is None else getattr(r.memory_bytes, part),
        before=lambda d, m: None if m is None else getattr(m, part),
        label=f"{part} memory",
        shown="page" if part == "reserved" else "asked",
    )


def _of_cost(part: str, scope: Scope, moves: tuple[Mover, ...], label: str, **more: Any) -> Metric:
    """A part of what the cluster costs to buy, under the same name in a result and before simulation."""
    return Metric(
        "$",
        scope=scope,
        read=lambda r: getattr(r.cost, part),
        before=lambda d, m: getattr(cluster_cost(d), part),
        moves=moves,
        label=label,
        **more,
    )


def _of_power(part: str, before: Callable[[Design], float], label: str, **more: Any) -> Metric:
    """A part of what the cluster draws that follows from what is bought alone."""
    return Metric(
        "W",
        scope="network",
        read=lambda r: None if r.power is None else getattr(r.power, part),
        before=lambda d, m: before(d),
        label=label,
        **more,
    )


def _at_most_one(share: Number) -> Number:
    return min(1.0, share) if isinstance(share, float) else np.minimum(1.0, share)


def _energy_to_train(result: Result) -> float | None:
    """What the whole training draws, with what failures take [J]."""
    each, wanted = result.energy_per_token_j, result.tokens_to_train
    return None if each is None or wanted is None else wanted * each / (result.goodput or 1.0)


def _reserved(design: Design, memory: Memory | None) -> float:
    """NPUs of no job, where there are several."""
    del memory
    if design.jobs is None:
        return 0.0
    return float(design.cluster.npus - sum(share.design.cluster.npus for share in shares_of(design)[0]))


def _upper_time(design: Design, result: Result) -> float | None:
    from simcore.uncertainty.upper import upper_factor  # it lowers designs, which is above the metrics

    if design.jobs is not None or kind_of(design.workload).explicit:
        return None
    return result.iteration_time_s * upper_factor(design)


def _least_upper_time(figures: Figures) -> Number | None:
    from simcore.uncertainty.upper import least_upper_factor

    if figures.software is None or figures.seconds is None:
        return None
    return figures.seconds * least_upper_factor(figures.npu, figures.software, figures.workload)


_OWN = {
    "iteration_time": Metric(
        "s",
        read=lambda r: r.iteration_time_s,
        bound=lambda f: f.seconds,
        moves=("time",),
        short="time",
        shown="everywhere",
    ),
    "iteration_time.p90": Metric(
        "s",
        measure=_upper_time,
        bound=_least_upper_time,
        moves=("time",),
        label="iteration time, nine in ten",
        short="time p90",
        costly=True,
    ),
    "throughput": Metric(
        "tokens/s", "more", read=lambda r: r.throughput_tokens_per_s, bound=lambda f: f.throughput, moves=("time",)
    ),
    "mfu": Metric(
        "",
        "more",
        read=lambda r: r.mfu,
        bound=lambda f: 1.0 if f.mfu is None else _at_most_one(f.mfu),
        moves=("time",),
        label="MFU",
        share=True,
        shown="page",
    ),
    "exposed_communication": Metric(
        "s", read=lambda r: r.exposed_communication_s.total, bound=lambda f: 0.0, moves=("time",)
    ),
    "bubble": Metric("s", read=lambda r: r.bubble_s, bound=lambda f: 0.0, moves=("time",)),
    "staleness": Metric(
        "",
        scope="job",
        read=lambda r: 0.0 if r.staleness is None else float(r.staleness.updates),
        before=lambda d, m: float(staleness.updates) if (staleness := staleness_of(d)) else 0.0,
    ),
    "memory.peak": _of_memory("peak"),
    "memory.reserved": _of_memory("reserved"),
    "memory.capacity": Metric(
        "B", scope="npus", read=lambda r: r.memory_capacity_bytes, before=lambda d, m: capacity(d)
    ),
    "fits": Metric(
        "",
        "more",
        scope="job",
        read=lambda r: None if r.fits is None else float(r.fits),
        before=lambda d, m: float(m is None or fits(d, m)) if kind_of(d.workload).holds else None,
    ),
    "orderable": Metric(
        "",
        "more",
        scope="network",
        read=lambda r: float(r.orderable is not False and not r.library_notes),
        before=lambda d, m: float(is_orderable(d)),
    ),
    "cost.total": _of_cost(
        "total", "network", ("total",), "total cost", bound=lambda f: f.total, short="cost", shown="everywhere"
    ),
    "cost.capital": _of_cost("capital", "network", ("capital",), "capital cost", bound=lambda f: f.capital),
    "cost.network": _of_cost("network", "network", ("network",), "network cost", bound=lambda f: f.network),
    "cost.npu": _of_cost("npu", "prices", ("npu",), "NPU cost"),
    "cost.memory": _of_cost("memory", "prices", ("memory",), "memory cost"),
    "power": Metric("W", read=lambda r: r.power_w, bound=lambda f: f.power, moves=("power",), label="mean power"),
    "power.mean": Metric("W", read=lambda r: r.power_w, bound=lambda f: f.power, moves=("power",)),
    "power.peak": _of_power("peak", peak_watts, "peak power", bound=lambda f: f.peak),
    "power.rack": _of_power("rack", rack_watts, "rack power", bound=lambda f: f.rack),
    "power.rest": _of_power("rest", rest_watts, "power beside the NPUs"),
    "energy": Metric("J", read=lambda r: r.energy_j, bound=lambda f: f.energy, moves=("time", "energy", "power")),
    "perf_per_cost": Metric(
        "tokens/s/$",
        "more",
        read=lambda r: r.perf_per_cost,
        bound=lambda f: f.perf_per_cost,
        moves=("time", "total"),
        label="performance per cost",
        short="per cost",
        shown="everywhere",
    ),
    "network_utilization": Metric(
        "", "more", read=lambda r: r.network_utilization, bound=lambda f: f.utilization, moves=("time",), share=True
    ),
    "time_to_first_token": Metric(
        "s",
        read=lambda r: r.time_to_first_token_s,
        bound=lambda f: f.first_token,
        moves=("time",),
        needs="output_length",
    ),
    "time_per_output_token": Metric(
        "s",
        read=lambda r: r.time_per_output_token_s,
        bound=lambda f: f.output_token,
        moves=("time",),
        needs="output_length",
    ),
    "npus": Metric(
        "", scope="npus", read=lambda r: float(r.npus), before=lambda d, m: float(d.cluster.npus), label="NPUs"
    ),
    "racks": Metric("", scope="prices", read=lambda r: float(r.racks), before=lambda d, m: float(racks(d))),
    "cost.electricity": Metric(
        "$",
        read=lambda r: r.electricity_cost,
        bound=lambda f: f.electricity,
        moves=("electricity",),
        label="cost of electricity",
    ),
    "cost.yearly": Metric(
        "$/year",
        read=lambda r: r.yearly_cost,
        bound=lambda f: f.owned.yearly,
        moves=("yearly",),
        label="yearly cost",
    ),
    "cost.tco": Metric(
        "$",
        read=lambda r: r.ownership_cost,
        bound=lambda f: f.owned.tco,
        moves=("tco",),
        label="total cost of ownership",
        short="TCO",
    ),
    "energy_per_token": Metric(
        "J/token",
        read=lambda r: r.energy_per_token_j,
        bound=lambda f: f.energy_per_token,
        moves=("time", "energy", "power"),
    ),
    "cost_per_token": Metric(
        "$/token",
        read=lambda r: r.cost_per_token,
        bound=lambda f: f.cost_per_token,
        moves=("time", "energy", "tco"),
    ),
    "slowdown": Metric(
        "",
        read=lambda r: worst_slowdown(r.jobs),
        label="slowdown of the job that suffers most",
        short="slowdown",
    ),
    "fairness": Metric("", "more", read=lambda r: fairness(r.jobs), bound=lambda f: 1.0, label="fairness among jobs"),
    "reserve": Metric(
        "",
        "more",
        scope="job",
        before=_reserved,
        read=lambda r: float(r.npus - sum(job.npus for job in r.jobs)) if r.jobs else 0.0,
        label="NPUs of no job",
        short="reserve",
    ),
    "tokens_to_train": Metric(
        "tokens",
        scope="job",
        read=lambda r: r.tokens_to_train,
        before=lambda d, m: None if d.jobs else d.workload.tokens_to_train,
        needs="training_tokens",
    ),
    "goodput": Metric(
        "",
        "more",
        read=lambda r: r.goodput,
        bound=lambda f: 1.0 if f.goodput is None else f.goodput,
        moves=("failures",),
        share=True,
    ),
    "mtbf": Metric(
        "s",
        "more",
        scope="network",
        read=lambda r: r.mtbf_s,
        before=lambda d, m: mtbf_of(d),
        label="time between failures",
    ),
    "checkpoint_interval": Metric("s", read=lambda r: r.checkpoint_interval_s, bound=lambda f: 0.0),
    "time_to_train": Metric(
        "s",
        read=lambda r: r.time_to_train_s,
        bound=lambda f: f.time_to_train,
        moves=("time", "failures"),
        needs="training_tokens",
    ),
    "cost_to_train": Metric(
        "$",
        read=lambda r: r.cost_to_train,
        bound=lambda f: f.cost_to_train,
        moves=("time", "energy", "tco", "failures"),
        needs="training_tokens",
    ),
    "energy_to_train": Metric(
        "J",
        read=_energy_to_train,
        bound=lambda f: f.energy_to_train,
        moves=("time", "energy", "power", "failures"),
        needs="training_tokens",
    ),
}
METRICS: Family[Metric] = Family("simcore.metrics", Metric, _OWN)
_NOT_HELD = tuple(name for name, metric in _OWN.items() if metric.read is None)
"""Metrics of the project that a result does not hold itself."""


def metrics(result: Result) -> dict[str, float | None]:
    """Every metric of a result by name, in the order of `METRICS`."""
    return {name: m.read(result) if m.read else result.metrics.get(name) for name, m in METRICS.items()}


def with_measured(design: Design, result: Result, named: Iterable[str] = ()) -> Result:
    """The result with the metrics that it does not hold itself: costly ones where they are among those `named`."""
    wanted = frozenset(named)
    asked = {name: METRICS[name] for name in (*_NOT_HELD, *METRICS.added)}
    found = {
        name: _measured(metric, design, result)
        for name, metric in asked.items()
        if metric.read is None and (not metric.costly or name in wanted) and name not in result.metrics
    }
    return replace(result, metrics={**result.metrics, **found}) if found else result


def _measured(metric: Metric, design: Design, result: Result) -> float | None:
    if metric.measure is not None:
        return metric.measure(design, result)
    assert metric.before is not None
    return metric.before(design, result.memory_bytes)


def metrics_before(design: Design, memory: Memory | None, scopes: Sequence[Scope] = BEFORE) -> dict[str, float | None]:
    """The metrics of `scopes`, exact without simulation, of a design that can be bought.

    `memory` is None for a workload that has none, and where no scope is of the job.
    """
    return {name: m.before(design, memory) for name, m in METRICS.items() if m.before and m.scope in scopes}


def is_of(name: str, scopes: Sequence[Scope]) -> bool:
    """Whether a name is that of a metric of one of these scopes."""
    return name in METRICS and METRICS[name].scope in scopes


def exponent_of(name: str, mover: Mover) -> int:
    """The exponent of `mover` in a metric (see `Metric.exponent`); 0 for any other name."""
    return METRICS[name].exponent(mover) if name in METRICS else 0


def best(name: str, figures: Figures, before: Mapping[str, Any]) -> Any:
    """The best value that a metric can have: a number, `[networks]` of them, or None where nothing is proven.

    `figures` are each at their best; `before` are metrics that are known exactly, by name.
    """
    metric = METRICS[name]
    return before.get(name) if metric.bound is None else metric.bound(figures)


def bounds(
    figures: Figures, before: Mapping[str, float | None], named: Iterable[str] = METRICS
) -> dict[str, float | None]:
    """The best value of the metrics `named` (see `best`): the least where less is better, else the most."""
    return {name: best(name, figures, before) for name in named}


__all__ = [
    "BEFORE",
    "CLUSTER",
    "JOB",
    "METRICS",
    "PRICED",
    "SHAPE",
    "Figures",
    "Metric",
    "Mover",
    "Number",
    "Scope",
    "best",
    "bounds",
    "exponent_of",
    "is_of",
    "metrics",
    "metrics_before",
    "with_measured",
]
