"""One value of a cluster from those of its workloads.

`weighted`: the mean of the values with the weights; weights that count iterations give the mean one of the mix.
`worst`: the worst of value x weight, weights scaled to a mean of 1 (of value / weight, where more is better), so that
with equal weights it is the plain worst. A value that all workloads share (the price of the cluster) is itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from dse.space.objective import Objective
from simcore.metrics import CLUSTER, is_of

Aggregate = Literal["weighted", "worst"]


def is_shared(objective: Objective) -> bool:
    """Whether an objective is of the cluster rather than of a workload: weights do not scale it."""
    return all(is_of(name, CLUSTER) or name.partition(".")[0] == "cluster" for name in objective.names)


def aggregate(
    how: Aggregate, objectives: Sequence[Objective], weights: Sequence[float], values: Sequence[Mapping[str, float]]
) -> dict[str, float]:
    """Objective -> value, from the values of each workload."""
    return {
        objective.name: _aggregate_one(how, objective, weights, [value[objective.name] for value in values])
        for objective in objectives
    }


def _aggregate_one(how: Aggregate, objective: Objective, weights: Sequence[float], values: Sequence[float]) -> float:
    if how == "weighted":
        if all(value == values[0] for value in values):
            return values[0]  # to the last digit, which a sum of weighted parts need not give
        return sum(weight * value for weight, value in zip(weights, values, strict=True)) / sum(weights)
    same = is_shared(objective)
    mean = 1.0 if same else sum(weights) / len(weights)
    scaled = [1.0 if same else weight / mean for weight in weights]
    if objective.sign > 0:
        return max(value * weight for value, weight in zip(values, scaled, strict=True))
    return min(value / weight for value, weight in zip(values, scaled, strict=True))
