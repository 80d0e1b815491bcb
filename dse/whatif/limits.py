"""Limits on what nobody knows for sure: in how many of the scenarios a design keeps them.

A constraint on a time, a draw of power or a price is judged by what is predicted, and a search goes to its edge: the
cheapest cluster that trains a model in 30 days is predicted to need just these. So each contender is told how often it
keeps such a limit, and the designs nearest to the best compromise that keep a distance from all of them are contenders,
too (`dse.whatif.scenarios`). A limit on a time is kept at a distance where it holds at the time that nine of ten
scenarios stay below, one on power or money where it is met with `MARGIN` of it to spare.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.pareto import shares_worse
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.space.constraint import Constraint
from dse.whatif.answers import SAFE
from dse.whatif.drawn import DRAWN, Drawn, time_stretch
from simcore.metrics import exponent_of
from simcore.uncertainty.parameters import NINE_OF_TEN

MARGIN = 0.25
"""Distance from a limit on power or money, as a share of it."""
_ONE_SIDED = NormalDist().inv_cdf(SAFE) / NINE_OF_TEN
"""What nine of ten stay below, as a power of the end of an interval that nine of ten lie in, of a lognormal time."""
UPPER = "iteration_time.p90"
"""A limit on this time is one that nine of ten cases keep."""
_MOST, _LOOKED_AT = 12, 1000
"""Designs that join the contenders, at most; the nearest feasible designs, among which they are looked for."""


def drawn_limits(constraints: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """The constraints of which it is not known for sure whether a design meets them; not those on `UPPER`."""
    movers = ("time", *DRAWN)
    return tuple(
        one
        for one in constraints
        if UPPER not in one.metrics and any(exponent_of(n, m) for n in one.metrics for m in movers)
    )


def scenarios_kept(limits: Sequence[Constraint], drawn: Drawn) -> dict[str, NDArray[np.bool_]]:
    """In which of the scenarios a design keeps each limit, by its name `[count]`."""
    document = drawn.trial.design or {}
    return {
        limit.name: np.array([limit.violation(at, document) <= 0 for at in drawn.each(limit.metrics)])
        for limit in limits
    }


def safe_designs(record: StudyRecord, trial: TrialRecord, limits: Sequence[Constraint]) -> tuple[TrialRecord, ...]:
    """The feasible designs nearest to a trial that keep a distance from every limit; few."""
    designed = record.feasible_trials.select(record.feasible_trials.designed)
    if not limits or not len(designed):
        return ()
    order = shares_worse(record.losses(designed), record.losses((trial,))[0]).argsort(kind="stable")[:_LOOKED_AT]
    safe = (other for other in map(designed.__getitem__, order.tolist()) if _keeps_distance(other, limits))
    return tuple(islice(safe, _MOST))


def _keeps_distance(trial: TrialRecord, limits: Sequence[Constraint]) -> bool:
    stretch = time_stretch(trial)
    timed = [limit for limit in limits if stretch and any(exponent_of(name, "time") for name in limit.metrics)]
    if any(trial.violations.get(limit.name, 0.0) > -MARGIN for limit in limits if limit not in timed):
        return False
    slowed = Drawn(trial, {"time": np.array([stretch[1] ** _ONE_SIDED if stretch else 1.0])})
    return all(kept.all() for kept in scenarios_kept(timed, slowed).values())
