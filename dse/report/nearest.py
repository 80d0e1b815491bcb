"""Other trials than the one to build: how near they come to it, and how they differ, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dse.buy.regret import REGRET
from dse.evaluate import pareto
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.sensitivity import format_change
from dse.report.units import clean_text, format_percent, short_label
from dse.space.objective import Objective, losses
from dse.whatif.answers import Machine

AS_WELL = 0.01
"""Designs whose objectives are each worse by less than this share are as good."""
LOOKED_AT, READ = 60, 1000
"""Trials that are looked at, the nearest first, where that takes long, and where it only takes to read them."""


def shares_worse(record: StudyRecord, trials: Sequence[TrialRecord], trial: TrialRecord) -> NDArray[np.float64]:
    """By which share of its value each of `trials` `[n]` is worse than `trial` in the objective where it is most."""
    return pareto.shares_worse(record.losses(trials), record.losses((trial,))[0])


def nearest(
    record: StudyRecord, trial: TrialRecord, suits: Callable[[TrialRecord], bool], most: int = LOOKED_AT
) -> TrialRecord | None:
    """The feasible trial that suits and is nearest to another one; None where none of the `most` nearest does.

    Of those that are as near in the objective where they are worst, the one that is best in all objectives together.
    """
    trials = record.feasible_trials
    if not len(trials):
        return None
    changes = pareto.changes(record.losses(trials), record.losses((trial,))[0])
    order = np.lexsort((changes.sum(axis=1), changes.max(axis=1)))[:most]
    return next((other for place in order if suits(other := trials[int(place)])), None)


def distance(record: StudyRecord, trial: TrialRecord, other: TrialRecord | Machine) -> tuple[float, float]:
    """How far another design is from a trial: in the objective where it is worst, and in all together."""
    of_trial, of_other = losses(record.objectives, [trial.values, other.values])
    found = pareto.changes(of_other[None], of_trial)
    return float(found.max()), float(found.sum())


def describe_changes(record: StudyRecord, trial: TrialRecord, other: TrialRecord | Machine) -> str:
    """How another trial differs in the objectives: *time +2.1 %, cost -0.5 %*; *regret 0 % to 19 %*."""
    return ", ".join(_describe_change(o, trial.values[o.name], other.values[o.name]) for o in record.objectives)


def describe_losses(record: StudyRecord, loss: Mapping[str, float | None]) -> str:
    """By which shares objectives become worse, or better, as `describe_changes` has it."""
    return ", ".join(
        f"{clean_text(short_label(o.name))} {format_change(loss[o.name], o.sign)}" for o in record.objectives
    )


def _describe_change(objective: Objective, before: float, after: float) -> str:
    """A regret is a share itself, and often 0 before."""
    if objective.name.endswith(REGRET):
        return f"regret {format_percent(before)} to {format_percent(after)}"
    return f"{clean_text(short_label(objective.name))} {format_change(objective.loss(before, after), objective.sign)}"
