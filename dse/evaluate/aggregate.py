"""One value of a cluster from those of its workloads.

`weighted`: the mean of the values with the weights; weights that count iterations give the mean one of the mix, and
those of futures the expected value. `worst`: the worst of value x weight, weights scaled to a mean of 1 (of value /
weight, where more is better), so that with equal weights it is the plain worst; of several futures the worst mean of
one, however likely it is. `regret` is known of all clusters together only (`dse.buy.regret`); until then a cluster has
the weighted mean. A value that all workloads share (the price of the cluster) is itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from dse.space.objective import Objective
from simcore.metrics import CLUSTER, is_of

Aggregate = Literal["weighted", "worst", "regret"]
Shares = Sequence[Sequence[float]]
"""The share of each workload in each future; empty where there are no futures."""


def is_shared(objective: Objective) -> bool:
    """Whether an objective is of the cluster rather than of a workload: weights do not scale it."""
    return all(is_of(name, CLUSTER) or name.partition(".")[0] == "cluster" for name in objective.names)


def aggregate(
    how: Aggregate,
    objectives: Sequence[Objective],
    weights: Sequence[float],
    values: Sequence[Mapping[str, float]],
    futures: Shares = (),
) -> dict[str, float]:
    """Objective -> value, from the values of each workload."""
    found = {}
    for objective in objectives:
        each = [value[objective.name] for value in values]
        found[objective.name] = _worst(objective, weights, each, futures) if how == "worst" else mean(weights, each)
    return found


def mean(weights: Sequence[float], values: Sequence[float]) -> float:
    """The weighted mean; of equal values the value itself, to the last digit."""
    counted = [(weight, value) for weight, value in zip(weights, values, strict=True) if weight]
    if all(value == counted[0][1] for _, value in counted):
        return counted[0][1]
    return sum(weight * value for weight, value in counted) / sum(weight for weight, _ in counted)


def _worst(objective: Objective, weights: Sequence[float], values: Sequence[float], futures: Shares) -> float:
    worst = max if objective.sign > 0 else min
    if futures:
        return worst(mean(shares, values) for shares in futures)
    if is_shared(objective):
        return worst(values)
    usual = sum(weights) / len(weights)
    scaled = [weight / usual for weight in weights]
    if objective.sign > 0:
        return worst(value * weight for value, weight in zip(values, scaled, strict=True))
    return worst(value / weight for value, weight in zip(values, scaled, strict=True))
