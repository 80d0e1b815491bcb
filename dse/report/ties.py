"""Which members of a front cannot be told apart by what the simulator knows of its own errors.

Every prediction of a calibrated NPU has an interval: where nine of ten measured iterations lay that its curve was asked
about unseen. A member a of the front is *tied* with a member b when all that a has over b lies within the intervals:
in every objective in which a is predicted better than b, the objective depends on the iteration time and the two
intervals of it overlap. Then b may be as good as a in everything, and a may not belong on the front.

- One objective that is exact (a price, memory) and better settles it: a is not tied with b, whatever their times. So
  the relation has a direction: of two designs with overlapping times the dearer one is tied with the cheaper one.
- Designs of equal values are tied with each other: nothing tells them apart.
- Two errors are taken as independent. What is wrong for all designs of a study alike, as much of an error is, changes
  no order; so a tie says that the order is not proven, not that it is a toss-up (`dse validate` measures how often
  predictions order two designs right).

An interval of the time is one of every objective that goes with a power of it (`OF_TIME`); other objectives are
compared by value. Nothing is known (None) of a front with a member whose result has no interval, where an objective
depends on the time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dse.objective import Objective
from dse.record import TrialRecord

OF_TIME = {
    "iteration_time": 1,
    "energy": 1,
    "exposed_communication": 1,
    "bubble": 1,
    "time_to_first_token": 1,
    "time_per_output_token": 1,
    "energy_per_token": 1,
    "cost_per_token": 1,
    "time_to_train": 1,
    "cost_to_train": 1,
    "throughput": -1,
    "perf_per_cost": -1,
    "mfu": -1,
    "network_utilization": -1,
}
"""Metrics that move with the iteration time, and to which power of it; the first order where they have other parts."""


def ties(objectives: Sequence[Objective], front: Sequence[TrialRecord]) -> dict[int, tuple[int, ...]] | None:
    """Member -> the members it is tied with, by trial number in the order of the front; None where it is not known."""
    timed = any(objective.name in OF_TIME for objective in objectives)
    spread = {trial.number: stretch(trial) for trial in front}
    if timed and any(known is None for known in spread.values()):
        return None
    won = np.zeros((len(front), len(front)), dtype=bool)  # [a, b]: a is told to be better than b in an objective
    for objective in objectives:
        value = np.array([trial.values[objective.name] for trial in front])
        ends = np.array([_interval(objective, trial, spread[trial.number]) for trial in front]).reshape(-1, 2)
        better = objective.sign * (value[None, :] - value[:, None]) > 0
        apart = (ends[:, None, 1] < ends[None, :, 0]) | (ends[None, :, 1] < ends[:, None, 0])
        won |= better & (apart if objective.name in OF_TIME else True)
    numbers = [trial.number for trial in front]
    return {
        number: tuple(numbers[other] for other in np.flatnonzero(~won[row]) if other != row)
        for row, number in enumerate(numbers)
    }


def stretch(trial: TrialRecord) -> tuple[float, float] | None:
    """The ends of a trial's interval, as multiples of its predicted time; None where its result has none."""
    metrics: Mapping[str, object] = {} if trial.metrics is None or trial.workloads else trial.metrics
    interval, predicted = metrics.get("iteration_time_interval_s"), metrics.get("iteration_time_s")
    if not isinstance(interval, list | tuple) or not isinstance(predicted, int | float) or predicted <= 0:
        return None
    low, high = (float(end) / predicted for end in interval)
    return low, high


def _interval(objective: Objective, trial: TrialRecord, known: tuple[float, float] | None) -> tuple[float, float]:
    """Least and most that an objective may be, in its own direction."""
    value, power = trial.values[objective.name], OF_TIME.get(objective.name, 0)
    ends = sorted(value * end**power for end in known or (1.0, 1.0))
    return ends[0], ends[-1]
