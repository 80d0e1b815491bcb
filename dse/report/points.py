"""The points of a study as a plot shows them: four kinds of trials, and the window of values worth looking at.

A few infeasible or cut trials far away would squash the front into a corner. A window therefore covers the front
entirely, the feasible trials near it, and no more; how many points lie outside is for the plot to say. All values are
in the objectives' own directions and SI units.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.record import State, StudyRecord, TrialRecord
from dse.evaluate.trials import Trials
from dse.report.summary import Summary
from dse.space.objective import Objective
from dse.whatif.drawn import time_stretch

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
_STATES: dict[Kind, State] = {"cut": "cut", "infeasible": "infeasible", "dominated": "feasible"}
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


Shown = Mapping[Kind, Sequence[TrialRecord]]
"""The trials of a picture by kind."""


def values_of(trials: Sequence[TrialRecord], name: str) -> NDArray[np.float64]:
    """A value of each of some trials."""
    if isinstance(trials, Trials):
        return trials.values(name)
    return np.array([trial.values[name] for trial in trials], dtype=np.float64)


def title(kind: Kind, shown: Shown, objectives: int) -> str:
    """What a legend says of a kind, with its number of trials."""
    name = _TITLES_OF_ONE.get(kind, _TITLES[kind]) if objectives == 1 else _TITLES[kind]
    return f"{name} ({len(shown[kind]):,})"


def groups(record: StudyRecord, summary: Summary) -> dict[Kind, Trials]:
    """The trials that have a point, by kind; the front in its own order."""
    trials = record.trials
    on_front = [trial.number for trial in summary.front]
    finite = np.isfinite(record.losses(trials)).all(axis=1) & ~np.isin(trials.numbers, on_front)
    of_state = {kind: trials.select(trials.is_state(state) & finite) for kind, state in _STATES.items()}
    return {**of_state, "front": Trials.of(summary.front)}


def window(objective: Objective, shown: Shown, bound: float | None) -> Window:
    """The window of one objective: linear, or logarithmic where what it shows spreads more than 30-fold."""
    by_kind = {kind: values_of(trials, objective.name) for kind, trials in shown.items()}
    everything = np.concatenate([*by_kind.values()])
    if not len(everything):
        return Window(0.0, 1.0)
    front, dominated = by_kind["front"], by_kind["dominated"]
    core = next(values for values in (front, dominated, everything) if len(values))
    feasible = np.concatenate([front, dominated])
    feasible = feasible if len(feasible) else everything
    low, high = _extent(core, feasible, everything, bound, objective.sign)
    inside = feasible[(low <= feasible) & (feasible <= high)]
    if inside.min() > 0 and inside.max() > _LOG_BEYOND * inside.min():
        logs = [_logarithms(values) for values in (core, feasible, everything)]
        limit = math.log10(bound) if bound is not None and bound > 0 else None
        low, high = _extent(logs[0], logs[1], logs[2], limit, objective.sign)
        return Window(10**low, 10**high, log=True)
    return Window(max(0.0, low) if everything.min() >= 0 else low, high)


def _logarithms(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The least and the largest of the positive ones, which is all that an extent looks at."""
    positive = values[values > 0]
    return np.array([math.log10(value) for value in (positive.min(), positive.max())])


def _extent(
    core: NDArray[np.float64],
    feasible: NDArray[np.float64],
    everything: NDArray[np.float64],
    bound: float | None,
    sign: float,
) -> tuple[float, float]:
    low, high = _ends(core)
    (least, most), (lowest, highest) = _ends(feasible), _ends(everything)
    span = high - low or most - least or 0.2 * abs(high) or 1.0
    below, above = (0.0, _WORSE) if sign > 0 else (_WORSE, 0.0)
    lows = (max(least, low - below * span), max(lowest, low - _OTHERS * span))
    highs = (min(most, high + above * span), min(highest, high + _OTHERS * span))
    low, high = min(low, *lows), max(high, *highs)
    if bound is not None and low - _BOUND * span <= bound <= high + _BOUND * span:
        low, high = min(low, bound), max(high, bound)
    margin = _MARGIN * (high - low or span)
    return low - margin, high + margin


def _ends(values: NDArray[np.float64]) -> tuple[float, float]:
    return float(values.min()), float(values.max())


def count_outside(objectives: Sequence[Objective], windows: Sequence[Window], shown: Shown) -> dict[Kind, int]:
    """How many trials of each kind lie outside the windows; kinds without any are left out."""

    def count(trials: Sequence[TrialRecord]) -> int:
        inside = np.ones(len(trials), dtype=bool)
        for objective, window in zip(objectives, windows, strict=True):
            values = values_of(trials, objective.name)
            inside &= (window.low <= values) & (values <= window.high)
        return int((~inside).sum())

    counts = {kind: count(trials) for kind, trials in shown.items()}
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


def best_so_far(objective: Objective, trials: Trials) -> tuple[list[int], list[float]]:
    """Number and value of each feasible trial that was better than all before it."""
    found = trials.values(objective.name)
    places = np.flatnonzero(trials.is_state("feasible") & ~np.isnan(found))
    losses = objective.sign * found[places]
    before = np.minimum.accumulate(np.concatenate([[np.inf], losses]))[:-1]
    places = places[(losses < before) | (np.arange(len(places)) == 0)]
    return trials.numbers[places].tolist(), found[places].tolist()


def time_ends(trial: TrialRecord, name: str) -> tuple[float, float] | None:
    """The interval of a trial's iteration time [s], where `name` is that objective and the time has one."""
    stretch = time_stretch(trial) if name == "iteration_time" else None
    return None if stretch is None else (stretch[0] * trial.values[name], stretch[1] * trial.values[name])


def robust_of(record: StudyRecord, summary: Summary) -> TrialRecord | None:
    """The trial to build where nothing is known for sure; None where that was not asked."""
    robust = summary.what_if.robust
    return None if robust is None else record.trials.numbered(robust)
