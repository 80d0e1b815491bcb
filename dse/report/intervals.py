"""Where a design's objectives lie in nine of ten cases: its time, what follows from it, and what it costs."""

from __future__ import annotations

from math import log, sqrt

from dse.evaluate.aggregate import is_shared
from dse.evaluate.record import TrialRecord
from dse.report.summary import Summary
from dse.report.units import clean_text, format_with_unit, label, scale
from dse.space.objective import Objective
from dse.whatif.drawn import draw_alone, ends_of, is_drawn, time_stretch
from dse.whatif.limits import UPPER
from dse.whatif.scenarios import COUNT
from simcore.check.load import parse_design
from simcore.metrics import exponent_of
from simcore.uncertainty.draws import Scenarios

Ends = tuple[float, float]
ASIDE = 0.1
"""By so much, as a logarithm, the middle of an interval is another value than the prediction."""


def interval_of(objective: Objective, summary: Summary, trial: TrialRecord) -> Ends | None:
    """Where an objective of a trial lies in nine of ten cases [SI]; None where it is exact, or that is not known."""
    sure = summary.what_if.known.get(trial.number)
    if is_drawn(objective):
        return _drawn_interval(objective, trial) if sure is None else sure.intervals.get(objective.name)
    power = 0 if objective.name == UPPER else exponent_of(objective.name, "time")  # it is an end of an interval itself
    ends = time_interval(summary, trial)
    if not power or ends is None or trial.metrics is None:
        return None
    predicted = float(trial.metrics["iteration_time_s"])
    low, high = sorted(trial.values[objective.name] * (end / predicted) ** power for end in ends)
    return low, high


def describe_value(objective: Objective, summary: Summary, trial: TrialRecord, *, with_interval: bool) -> str:
    """`iteration time 61.32 s (nine times in ten 50.68 to 83.06)`; the middle, too, where that is another value."""
    value = trial.values[objective.name]
    text = f"{clean_text(label(objective.name))} {format_with_unit(value, objective.unit, objective.name)}"
    ends = interval_of(objective, summary, trial) if with_interval else None
    if ends is None:
        return text
    unit = scale(objective.unit, [value], objective.name)
    low, high = (unit.number(end) for end in ends)
    moves_with_time = min(value, *ends) > 0 and not is_drawn(objective)  # then its logarithm is normal
    middle = sqrt(ends[0] * ends[1]) if moves_with_time else value
    half = f", half of them above {unit.number(middle)}" if middle != value and abs(log(middle / value)) > ASIDE else ""
    return f"{text} (nine times in ten {low} to {high}{half})"


def _drawn_interval(objective: Objective, trial: TrialRecord) -> Ends | None:
    """Interval of a trial by itself, which is no contender; for several workloads that of what they share."""
    part = trial.parts[0][1]
    if trial.workloads and not is_shared(objective):
        return None
    design = None if part.design is None or part.metrics is None else parse_design(part.design)[0]
    if design is None or objective.name not in part.values:
        return None
    return ends_of(draw_alone(part, design, Scenarios(COUNT)).objective(objective))


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
