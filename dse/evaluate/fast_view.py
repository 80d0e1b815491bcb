"""What the fast engine says of a design that a slow one may evaluate later."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from simcore.bounds.design import Bounds
from simcore.bounds.estimate import estimate
from simcore.design.design import Design
from simcore.document.problem import InputError
from simcore.metrics import metrics
from simcore.result import Result
from simcore.simulate import simulate


def look_by_simulation(design: Design, named: Collection[str]) -> tuple[Bounds, Mapping[str, float]]:
    """The metrics of a valid design by engine `auto`, and shares of its time; where that refuses it, estimates.

    `named` metrics are among them.
    """
    try:
        result = simulate(design, "auto")
    except InputError:
        return estimate(design, named), {}
    return metrics(result), time_shares(design, result)


def time_shares(design: Design, result: Result) -> dict[str, float]:
    """What a correction may be in proportion to, as shares of the iteration time: services of links, waits, compute."""
    total = result.iteration_time_s
    shares = {"compute": result.compute_s / total, "bubble": result.bubble_s / total}
    for dimension, use in zip(design.cluster.dimensions, result.network, strict=True):
        name = f"{dimension.tier} {dimension.topology}"
        shares[name] = shares.get(name, 0.0) + use.busy_s / total
    exposed = result.exposed_communication_s
    for kind in ("tensor", "data", "pipeline", "expert", "context"):
        shares[f"exposed {kind}"] = getattr(exposed, kind) / total
    return shares
