"""The points of a study as a plot shows them: four kinds of trials, and the window of values worth looking at.

A few infeasible or cut trials far away would squash the front into a corner. A window therefore covers the front
entirely, the feasible trials near it, and no more; how many points lie outside is for the plot to say. All values are
in the objectives' own directions and SI units.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.intervals import time_stretch
from dse.report.summary import Summary
from dse.report.values import finite_or_none
from dse.space.objective import Objective

Kind = Literal["cut", "infeasible", "dominated", "front"]
KINDS: tuple[Kind, ...] = ("cut", "infeasible", "dominated", "front")
"""In the order of drawing."""
_TITLES: dict[Kind, str] = {
    "cut": "cut, at its bounds",
    "infeasible": "infeasible",
    "dominated": "feasible, dominated",
    "front": "Pareto front",
}
_TITLES_OF_ONE: dict[Kind, str] = {"front": "best", "dominated": "feasible"}
_LOG_BEYOND = 30.0
# How far the window reaches beyond the front, in lengths of the front: to worse feasible trials, to trials that are not
# feasible, to a proven bound; and the margin around all of it.
_WORSE, _OTHERS, _BOUND, _MARGIN = 1.0, 0.3, 0.8, 0.06


@dataclass(frozen=True, slots=True)
class Window:
    """The values of one objective that a plot shows."""

    low: float
    high: float
    log: bool = False

    def holds(self, value: float) -> bool:
        """Whether `value` is inside."""
        return self.low <= value <= self.high


def title(kind: Kind, shown: dict[Kind, list[TrialRecord]], objectives: int) -> str:
    """What a legend says of a kind, with its number of trials."""
    name = _TITLES_OF_ONE.get(kind, _TITLES[kind]) if objectives == 1 else _TITLES[kind]
    return f"{name} ({len(shown[kind]):,})"


def groups(record: StudyRecord, summary: Summary) -> dict[Kind, list[TrialRecord]]:
    """The trials that have a point, by kind; the front in its own order."""
    found: dict[Kind, list[TrialRecord]] = {kind: [] for kind in KINDS}
    on_front = {trial.number for trial in summary.front}
    names = [objective.name for objective in record.objectives]
    for trial in record.trials:
        if trial.state == "failed" or any(finite_or_none(trial.values.get(name)) is None for name in names):
            continue
        kind: Kind = "dominated" if trial.state == "feasible" else trial.state
        if trial.number not in on_front:
            found[kind].append(trial)
    found["front"] = list(summary.front)
    return found


def window(objective: Objective, shown: dict[Kind, list[TrialRecord]], bound: float | None) -> Window:
    """The window of one objective: linear, or logarithmic where what it shows spreads more than 30-fold."""
    by_kind = {kind: [trial.values[objective.name] for trial in trials] for kind, trials in shown.items()}
    everything = [value for values in by_kind.values() for value in values]
    core = by_kind["front"] or by_kind["dominated"] or everything
    if not core:
        return Window(0.0, 1.0)
    feasible = [*by_kind["front"], *by_kind["dominated"]] or everything
    low, high = _extent(core, feasible, everything, bound, objective.sign)
    inside = [value for value in feasible if low <= value <= high]
    if min(inside) > 0 and max(inside) > _LOG_BEYOND * min(inside):
        logs = [[math.log10(value) for value in values if value > 0] for values in (core, feasible, everything)]
        limit = math.log10(bound) if bound is not None and bound > 0 else None
        low, high = _extent(logs[0], logs[1], logs[2], limit, objective.sign)
        return Window(10**low, 10**high, log=True)
    return Window(max(0.0, low) if min(everything) >= 0 else low, high)


def _extent(
    core: Sequence[float], feasible: Sequence[float], everything: Sequence[float], bound: float | None, sign: float
) -> tuple[float, float]:
    low, high = min(core), max(core)
    span = high - low or max(feasible) - min(feasible) or 0.2 * abs(high) or 1.0
    below, above = (0.0, _WORSE) if sign > 0 else (_WORSE, 0.0)
    lows = (max(min(feasible), low - below * span), max(min(everything), low - _OTHERS * span))
    highs = (min(max(feasible), high + above * span), min(max(everything), high + _OTHERS * span))
    low, high = min(low, *lows), max(high, *highs)
    if bound is not None and low - _BOUND * span <= bound <= high + _BOUND * span:
        low, high = min(low, bound), max(high, bound)
    margin = _MARGIN * (high - low or span)
    return low - margin, high + margin


def count_outside(
    objectives: Sequence[Objective], windows: Sequence[Window], shown: dict[Kind, list[TrialRecord]]
) -> dict[Kind, int]:
    """How many trials of each kind lie outside the windows; kinds without any are left out."""

    def is_hidden(trial: TrialRecord) -> bool:
        pairs = zip(objectives, windows, strict=True)
        return not all(window.holds(trial.values[objective.name]) for objective, window in pairs)

    counts = {kind: sum(is_hidden(trial) for trial in trials) for kind, trials in shown.items()}
    return {kind: count for kind, count in counts.items() if count}


def staircase(objectives: Sequence[Objective], front: Sequence[TrialRecord]) -> tuple[list[float], list[float]]:
    """The corners of the boundary of what a two-objective front dominates, between its extremes."""
    first, second = objectives
    points = sorted({(trial.values[first.name], trial.values[second.name]) for trial in front})
    xs: list[float] = []
    ys: list[float] = []
    for x, y in points if first.sign > 0 else reversed(points):
        if xs:
            xs.append(x)
            ys.append(ys[-1])
        xs.append(x)
        ys.append(y)
    return xs, ys


def best_so_far(objective: Objective, trials: Sequence[TrialRecord]) -> tuple[list[int], list[float]]:
    """Number and value of each feasible trial that was better than all before it."""
    numbers: list[int] = []
    values: list[float] = []
    for trial in trials:
        value = trial.values.get(objective.name)
        if trial.state != "feasible" or value is None:
            continue
        if not values or objective.sign * value < objective.sign * values[-1]:
            numbers.append(trial.number)
            values.append(value)
    return numbers, values


def time_ends(trial: TrialRecord, name: str) -> tuple[float, float] | None:
    """The interval of a trial's iteration time [s], where `name` is that objective and the time has one."""
    stretch = time_stretch(trial) if name == "iteration_time" else None
    return None if stretch is None else (stretch[0] * trial.values[name], stretch[1] * trial.values[name])


def robust_of(record: StudyRecord, summary: Summary) -> TrialRecord | None:
    """The trial to build where nothing is known for sure; None where that was not asked."""
    return next((trial for trial in record.trials if trial.number == summary.what_if.robust), None)
