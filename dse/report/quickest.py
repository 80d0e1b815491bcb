"""The quickest use of the machines that are bought, where no objective says how much work they do.

All are of money that is spent whatever they do, or of how much jobs slow one another, which slow jobs do less.
On the same machines a slower design draws less, so its total cost of ownership is less: by a percent for half the work.
Among designs of one price that is no reason to build it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.idling import HOLDS_ELECTRICITY
from dse.evaluate.read import trial_metrics
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.nearest import READ, shares_worse
from simcore.metrics import CLUSTER, is_of

_AMONG_JOBS = frozenset({"slowdown", "fairness"})
"""How much jobs slow one another, whatever they take alone."""
_PRICE = "cost.capital"
_SAME = 1e-3
"""Prices that differ by less of them buy the same."""
_AS_LONG = 0.01
"""What takes longer by less of it takes as long."""


def is_spent_anyway(record: StudyRecord) -> bool:
    """Whether no objective is of how much work is done; not of a purchase for jobs."""
    names = {name for objective in record.objectives for name in objective.names}
    return record.purchase is None and all(
        name in HOLDS_ELECTRICITY | _AMONG_JOBS or is_of(name, CLUSTER) for name in names
    )


def saves_power(record: StudyRecord) -> bool:
    """Whether an objective is money of which electricity decides a little."""
    return any(name in HOLDS_ELECTRICITY for objective in record.objectives for name in objective.names)


def quickest_alike(
    record: StudyRecord, picked: TrialRecord, share: float, suits: Callable[[TrialRecord], bool]
) -> TrialRecord:
    """The quickest feasible design at the price of `picked` that is worse by at most `share` in every objective.

    Of those that suit; `picked` itself where none does, or none is quicker.
    """
    own = _seconds(picked)
    if not is_spent_anyway(record) or own is None:
        return picked
    worse = shares_worse(record, record.feasible_trials, picked)
    near = np.flatnonzero(worse <= share)
    near = np.sort(near[worse[near].argsort(kind="stable")[:READ]])
    alike = [trial for trial in record.feasible_trials.select(near) if buy_the_same(trial, picked)]
    timed = [(seconds, trial.number, trial) for trial in alike if (seconds := _seconds(trial)) is not None]
    quicker = sorted((each for each in timed if each[0] < own * (1 - _AS_LONG)), key=lambda each: each[:2])
    return next((trial for _, _, trial in quicker if suits(trial)), picked)


def times_as_long(one: TrialRecord, other: TrialRecord) -> float:
    """How many times as long one trial takes as another one for the same work; 1 where that is not known."""
    seconds, others = _seconds(one), _seconds(other)
    return seconds / others if seconds and others else 1.0


def buy_the_same(one: TrialRecord, other: TrialRecord) -> bool:
    """Whether two trials have the same price."""
    price, others = map(_price, (one, other))
    return abs(price - others) <= _SAME * others


def slower_at_one_price(trials: Sequence[TrialRecord], others: Sequence[TrialRecord]) -> NDArray[np.bool_]:
    """Which of `trials` `[n]` take longer than one of `others` that has the same price."""
    (price, seconds), (prices, theirs) = (
        np.array([(_price(one), _seconds(one) or np.nan) for one in each]).reshape(-1, 2).T for each in (trials, others)
    )
    pairs = zip(price, seconds, strict=True)
    return np.array([((abs(paid - prices) <= _SAME * prices) & (taken > theirs)).any() for paid, taken in pairs], bool)


def _price(trial: TrialRecord) -> float:
    """What is paid for the cluster [$]; 0 where that is not known."""
    return trial_metrics(trial).get(_PRICE) or 0.0


def _seconds(trial: TrialRecord) -> float | None:
    """Time of the training, else of a token or a sample [s]; None where neither is known."""
    values = trial_metrics(trial)
    whole, rate = values.get("time_to_train"), values.get("throughput")
    return whole or (1.0 / rate if rate else values.get("iteration_time"))
