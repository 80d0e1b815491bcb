"""Which members of a front cannot be told apart by what the simulator knows of its own errors.

Every prediction has an interval of the iteration time (`docs/model.md`). Two members of a front are *tied* where
their intervals overlap, in every objective that depends on the time: nothing proves which of them is the faster one.
What else they differ in (a price, memory) is exact and is for the reader to weigh; where no objective depends on the
time, no members are tied. Two errors are taken as independent. What is wrong for all designs of a study alike, as
much of an error is, changes no order; so a tie says that the order is not proven, not that it is a toss-up (`dse
validate` measures how often predictions order two designs right).

An interval of the time is one of every objective that goes with a power of it; an expression of such is
taken to overlap where the times do; other objectives are exact. Nothing is known (None) of a front with a member whose
result has no interval, where an objective depends on the time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dse.evaluate.record import TrialRecord
from dse.space.objective import Objective
from simcore.metrics import moves


def ties(objectives: Sequence[Objective], front: Sequence[TrialRecord]) -> dict[int, tuple[int, ...]] | None:
    """Member -> the members it is tied with, by trial number in the order of the front; None where it is not known."""
    timed = [objective for objective in objectives if any(moves(name, "time") for name in objective.names)]
    spread = [time_stretch(trial) for trial in front]
    if timed and None in spread:
        return None
    overlap = np.full((len(front), len(front)), bool(timed))
    np.fill_diagonal(overlap, False)
    for objective in timed:
        ends = np.array([_interval(objective, trial, known) for trial, known in zip(front, spread, strict=True)])
        low, high = ends.reshape(-1, 2).T
        overlap &= (low[:, None] <= high[None, :]) & (low[None, :] <= high[:, None])
    return {
        trial.number: tuple(front[other].number for other in np.flatnonzero(row).tolist())
        for trial, row in zip(front, overlap, strict=True)
    }


def time_stretch(trial: TrialRecord) -> tuple[float, float] | None:
    """The ends of a trial's interval, as multiples of its predicted time; None where its result has none."""
    metrics: Mapping[str, object] = {} if trial.metrics is None or trial.workloads else trial.metrics
    interval, predicted = metrics.get("iteration_time_interval_s"), metrics.get("iteration_time_s")
    if not isinstance(interval, list | tuple) or not isinstance(predicted, int | float) or predicted <= 0:
        return None
    low, high = (float(end) / predicted for end in interval)
    return low, high


def _interval(objective: Objective, trial: TrialRecord, known: tuple[float, float] | None) -> tuple[float, float]:
    """Least and most that an objective which moves with the time may be; of an expression, that of the time itself."""
    if objective.expression is not None:
        assert trial.metrics is not None
        value, power = trial.metrics["iteration_time_s"], 1
    else:
        value, power = trial.values[objective.name], moves(objective.name, "time")
    ends = sorted(value * end**power for end in known or (1.0, 1.0))
    return ends[0], ends[-1]
