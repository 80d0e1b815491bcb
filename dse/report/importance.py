"""Which parameters matter: PED-ANOVA (Watanabe, Bansal, Hutter 2023), Optuna's, over the feasible trials.

It asks which parameters the best tenth of some trials have in common that the others have not. Three questions: what
makes an objective good *overall*; what brings a design near *the front*; and, among the designs near the front, what
makes one better there in an objective than another: what one trades *on the front*. A sampler that learns tries good
designs more often, so the shares say what mattered in this study. Only parameters that every trial asked about has can
be compared; those of branches are left out.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.pareto import nearness
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.values import cell
from dse.space.hole import magnitude

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

LEAST = 20
"""Trials below which nothing is said."""
DIGITS = 6
"""Digits of a share after the point."""
MOST = 2000
"""Feasible trials that are looked at, the latest."""
NEAR = 0.25
"""Share of those that count as near the front, `LEAST` at least."""

Shares = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Importance:
    """Shares of importance by parameter, the largest first; empty where there are too few trials."""

    overall: Mapping[str, Shares] = field(default_factory=dict)
    """By objective, over all feasible trials."""
    of_front: Shares = field(default_factory=dict)
    """Importance for coming near the front; empty with one objective, where it is the same as overall."""
    near_front: Mapping[str, Shares] = field(default_factory=dict)
    """By objective, among the trials near the front."""


UNKNOWN = Importance()


def importance(record: StudyRecord) -> Importance:
    """The answers to the three questions."""
    if len(record.feasible_trials) < LEAST:
        return Importance()
    trials = record.feasible_trials[-MOST:]
    losses = record.losses(trials)
    if len(record.objectives) == 1:
        return Importance(_by_objective(record, _shares(trials, losses)))
    far = nearness(losses, record.losses(record.front))
    order = np.argsort(far, kind="stable")[: max(LEAST, round(NEAR * len(trials)))]
    near = tuple(trials[index] for index in sorted(order))
    *overall, of_front = _shares(trials, np.column_stack([losses, far]))
    return Importance(
        _by_objective(record, overall), of_front, _by_objective(record, _shares(near, record.losses(near)))
    )


def _by_objective(record: StudyRecord, found: Iterable[Shares]) -> dict[str, Shares]:
    named = zip((objective.name for objective in record.objectives), found, strict=True)
    return {name: shares for name, shares in named if shares}


def _shares(trials: tuple[TrialRecord, ...], losses: NDArray[np.float64]) -> list[Shares]:
    """Shares of what sets the lowest tenth of each column of `losses` `[trials, columns]` apart."""
    import optuna
    from optuna.distributions import CategoricalDistribution
    from optuna.importance import PedAnovaImportanceEvaluator

    shared = [path for path in trials[0].params if all(path in trial.params for trial in trials)]
    values = {path: [cell(trial.params[path]) for trial in trials] for path in shared}
    varying = {
        path: CategoricalDistribution(sorted(set(texts), key=lambda text: (magnitude(text) or 0.0, text)))
        for path, texts in values.items()
        if len(set(texts)) > 1
    }
    if not varying:
        return [{} for _ in losses.T]
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study = optuna.create_study()
        study.add_trials(  # once for all columns: Optuna copies and checks each trial
            [
                optuna.create_trial(
                    value=0.0,
                    params={path: values[path][row] for path in varying},
                    distributions=dict(varying),
                )
                for row in range(len(trials))
            ]
        )
        warnings.filterwarnings("ignore", "PedAnovaImportanceEvaluator computes")  # losses are low where good
        evaluator = PedAnovaImportanceEvaluator()
        found = [
            evaluator.evaluate(study, target=partial(_loss_of, column)) if column.min() < column.max() else {}
            for column in losses.T
        ]
    return [_normalize(shares) for shares in found]


def _loss_of(column: NDArray[np.float64], trial: FrozenTrial) -> float:
    return float(column[trial.number])


def _normalize(shares: Shares) -> Shares:
    """Shares that add up to one, the largest first; none where nothing sets trials apart."""
    total = math.fsum(shares.values())
    if total <= 0:
        return {}
    # Optuna goes through a set: neither the order nor the last digit is the same in every process.
    rounded = {path: round(float(share) / total, DIGITS) for path, share in shares.items()}
    return dict(sorted(rounded.items(), key=lambda item: (-item[1], item[0])))
