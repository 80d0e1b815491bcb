"""From what an engine counted to the result of a design: money, power, memory and days beside the time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from simcore.cost.orderable import order_facts
from simcore.cost.price import cluster_cost, racks
from simcore.design.design import Design
from simcore.engine.fast.iteration import Timing
from simcore.engine.notices import notices_of
from simcore.engine.outcome import activity_in, exposed_in, use_in
from simcore.memory.expanded import capacity, fits
from simcore.memory.plan import memory_needed
from simcore.metrics import Figures, with_measured
from simcore.power.draw import draw_of
from simcore.prediction_interval import interval
from simcore.program import Category, Program
from simcore.provenance import provenance
from simcore.reliability.counts import mtbf_of
from simcore.reliability.goodput import checkpoint_interval
from simcore.result import Cost, Draw, Result
from simcore.system.chunks import PICOSECONDS
from simcore.workload.base import kind_of
from simcore.workload.pruned.kind import crossing_of
from simcore.workload.staleness import staleness_of


def result_of_run(
    design: Design,
    timing: Timing,
    program: Program | None,
    engine: str,
    first_token: int | None = None,
    reason: str | None = None,
) -> Result:
    """The result of a run; `first_token` [ps] is when a request has its first token, where a model is served.

    `reason`: why `auto` took the engine.
    """
    seconds = timing.total / PICOSECONDS
    drawn, cost = draw_of(design, activity_in(design, timing, program)), cluster_cost(design)
    figures = Figures.of(
        design,
        seconds=seconds,
        power=drawn.mean,
        energy=drawn.mean * seconds,
        capital=cost.total,
        peak=drawn.peak,
        network=cost.network,
        samples=None if program is None else _known(design, program.tokens),
        flops=None if program is None else _known(design, program.model_flops),
    )
    result = Result(
        iteration_time_s=seconds,
        iteration_time_interval_s=interval(design, seconds)
        if program is not None and kind_of(design.workload).holds
        else None,
        throughput_tokens_per_s=figures.throughput,
        mfu=figures.mfu,
        network=use_in(design, timing, seconds),
        engine=engine,
        engine_reason=reason,
        stage=None if program is None or program.stages == 1 else timing.stage,
        throughput_counts="tokens" if program is None else program.counts,
        **_sent(design, timing, seconds),
        **_held(design),
        **_served(timing, program, first_token),
        **_said(design, engine),
        **spent_fields(timing),
        **cluster_fields(design, drawn, cost, figures),
        **_trained(design, figures, seconds),
    )
    return with_measured(design, result)


def _sent(design: Design, timing: Timing, seconds: float) -> dict[str, Any]:
    """How much of the network's bandwidth is used."""
    could = seconds * sum(dimension.bandwidth for dimension in design.cluster.dimensions)
    return {"network_utilization": min(1.0, sum(timing.sent) / could)}


def _held(design: Design) -> dict[str, Any]:
    """What an NPU holds, of what it can."""
    memory = memory_needed(design)
    known = kind_of(design.workload).holds
    return {
        "memory_bytes": memory,
        "fits": (memory is None or fits(design, memory)) if known else None,
    }


def _served(timing: Timing, program: Program | None, first_token: int | None) -> dict[str, Any]:
    """When a request has its first token, and each further one, where a model is served."""
    if program is None or first_token is None:
        return {}
    further = program.chunks - 1
    later = (timing.total - first_token) / PICOSECONDS
    return {
        "time_to_first_token_s": first_token / PICOSECONDS,
        "time_per_output_token_s": later / further if further else None,
    }


def _said(design: Design, engine: str) -> dict[str, Any]:
    """What has to be known of the numbers and of the design."""
    return {
        "provenance": provenance(design),
        "crossing": crossing_of(design),
        **notices_of(engine, design),
    }


def _known(design: Design, figure: float) -> float | None:
    """A figure of a Program; of what was recorded, which may not say it, None instead of 0."""
    return figure if kind_of(design.workload).holds else figure or None


def spent_fields(timing: Timing) -> dict[str, Any]:
    """What the time of an NPU went to."""
    spent = {category: time / PICOSECONDS for category, time in timing.spent.items()}
    return {
        "compute_s": spent.get(Category.COMPUTE, 0.0),
        "exposed_communication_s": exposed_in(spent),
        "bubble_s": timing.bubble / PICOSECONDS,
        "optimizer_s": spent.get(Category.OPTIMIZER, 0.0),
        "other_s": spent.get(Category.OTHER, 0.0),
    }


def cluster_fields(design: Design, drawn: Draw, cost: Cost, figures: Figures) -> dict[str, Any]:
    """What the cluster is, draws and costs, whatever number of jobs runs on it."""
    return {
        "npus": design.cluster.npus,
        "racks": racks(design),
        "memory_capacity_bytes": capacity(design),
        "mtbf_s": mtbf_of(design),
        "staleness": staleness_of(design),
        "cost": replace(cost, total=figures.total),
        "power_w": drawn.mean,
        "energy_j": figures.energy,
        "power": drawn,
        "perf_per_cost": figures.perf_per_cost,
        "electricity_cost": figures.electricity,
        "yearly_cost": figures.owned.yearly,
        "ownership_cost": figures.owned.tco,
        "energy_per_token_j": figures.energy_per_token,
        "cost_per_token": figures.cost_per_token,
        **order_facts(design),
    }


def _trained(design: Design, figures: Figures, seconds: float) -> dict[str, Any]:
    """What the whole training takes, with its failures."""
    needed = design.workload.tokens_needed
    return {
        "goodput": figures.goodput,
        "checkpoint_interval_s": checkpoint_interval(design, seconds),
        "time_to_train_s": figures.time_to_train,
        "cost_to_train": figures.cost_to_train,
        "tokens_to_train": None if needed is None else needed.tokens,
        "tokens_to_train_interval": None if needed is None else needed.interval,
    }
