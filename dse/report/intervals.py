"""Where the time of a design lies in nine of ten cases, and with it each objective that follows from the time."""

from __future__ import annotations

from collections.abc import Mapping

from dse.evaluate.record import TrialRecord
from dse.report.summary import Summary
from dse.space.objective import Objective
from simcore.metrics import moves

Ends = tuple[float, float]


def interval_of(objective: Objective, summary: Summary, trial: TrialRecord) -> Ends | None:
    """Where an objective of a trial lies in nine of ten cases [SI]; None where it is exact, or that is not known."""
    power = 0 if objective.expression is not None else moves(objective.name, "time")
    ends = time_interval(summary, trial)
    if not power or ends is None or trial.metrics is None:
        return None
    predicted = float(trial.metrics["iteration_time_s"])
    low, high = sorted(trial.values[objective.name] * (end / predicted) ** power for end in ends)
    return low, high


def time_interval(summary: Summary, trial: TrialRecord) -> Ends | None:
    """Where the iteration time [s] lies in nine of ten cases: over the scenarios, else by the result's own interval."""
    stretch = time_stretch(trial)
    scenarios = summary.what_if.scenarios
    sure = None if scenarios is None else scenarios.members.get(trial.number)
    if sure is not None and sure.interval is not None:
        return sure.interval
    if stretch is None or trial.metrics is None:
        return None
    low, high = (end * float(trial.metrics["iteration_time_s"]) for end in stretch)
    return low, high


def time_stretch(trial: TrialRecord) -> tuple[float, float] | None:
    """The ends of a trial's interval, as multiples of its predicted time; None where its result has none."""
    metrics: Mapping[str, object] = {} if trial.metrics is None or trial.workloads else trial.metrics
    interval, predicted = metrics.get("iteration_time_interval_s"), metrics.get("iteration_time_s")
    if not isinstance(interval, list | tuple) or not isinstance(predicted, int | float) or predicted <= 0:
        return None
    low, high = (float(end) / predicted for end in interval)
    return low, high
