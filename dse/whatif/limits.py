"""Limits on what nobody knows for sure: in how many of the scenarios a design keeps them.

A constraint on a time, a draw of power or a price is judged by what is predicted, and a search goes to its edge: the
cheapest cluster that trains a model in 30 days is predicted to need just these. So each contender is told how often it
keeps such a limit, and the designs nearest to the front that keep a distance from all of them are contenders, too
(`dse.whatif.scenarios`). A distance is what separates the prediction of a time from the end of its interval, and
`MARGIN` of power and money.
"""

from __future__ import annotations

from collections.abc import Sequence

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.space.constraint import Constraint
from dse.whatif.batches import rivals
from dse.whatif.drawn import DRAWN, Drawn, time_stretch
from simcore.metrics import moves

MARGIN = 0.25
"""Distance from a limit on power or money, as a share of it."""
UPPER = "iteration_time.p90"
"""A limit on this time is one that nine of ten cases keep."""
_MOST, _LOOKED_AT = 12, 400
"""Designs that join the contenders, at most; dominated designs nearest to the front among which they are looked for."""


def drawn_limits(constraints: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """The constraints of which it is not known for sure whether a design meets them; not those on `UPPER`."""
    movers = ("time", *DRAWN)
    return tuple(
        one for one in constraints if UPPER not in one.metrics and any(moves(n, m) for n in one.metrics for m in movers)
    )


def share_kept(limits: Sequence[Constraint], drawn: Drawn) -> dict[str, float]:
    """In which share of the scenarios a design keeps each limit, by its name."""
    document = drawn.trial.design or {}
    return {
        limit.name: sum(limit.violation(at, document) <= 0 for at in drawn.each(limit.metrics)) / drawn.count
        for limit in limits
    }


def safe_designs(record: StudyRecord, limits: Sequence[Constraint]) -> tuple[TrialRecord, ...]:
    """The dominated feasible designs nearest to the front that keep a distance from every limit; few."""
    near = rivals(record, _LOOKED_AT) if limits else ()
    return tuple(trial for trial in near if _keeps_distance(trial, limits))[:_MOST]


def _keeps_distance(trial: TrialRecord, limits: Sequence[Constraint]) -> bool:
    stretch = time_stretch(trial)
    slower = MARGIN if stretch is None else stretch[1] - 1.0
    for limit in limits:
        timed = any(moves(name, "time") for name in limit.metrics)
        if trial.violations.get(limit.name, 0.0) > -(slower if timed else MARGIN):
            return False
    return True
