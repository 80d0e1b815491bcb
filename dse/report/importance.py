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
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.pareto import nearness
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.values import cell
from dse.space.hole import magnitude

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
    """Of coming near the front; empty with one objective, where it is the same as overall."""
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
        return Importance(_shares_by_objective(record, trials, losses))
    far = nearness(losses, record.losses(record.front))
    order = np.argsort(far, kind="stable")[: max(LEAST, round(NEAR * len(trials)))]
    near = tuple(trials[index] for index in sorted(order))
    return Importance(
        _shares_by_objective(record, trials, losses),
        _shares(trials, far),
        _shares_by_objective(record, near, record.losses(near)),
    )


def _shares_by_objective(
    record: StudyRecord, trials: tuple[TrialRecord, ...], losses: NDArray[np.float64]
) -> dict[str, Shares]:
    found = {o.name: _shares(trials, losses[:, column]) for column, o in enumerate(record.objectives)}
    return {name: shares for name, shares in found.items() if shares}


def _shares(trials: tuple[TrialRecord, ...], losses: NDArray[np.float64]) -> Shares:
    """Shares of what sets the lowest tenth of `losses` `[trials]` apart."""
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
    if not varying or losses.min() == losses.max():
        return {}
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study = optuna.create_study()
        study.add_trials(
            [
                optuna.create_trial(
                    value=float(loss),
                    params={path: values[path][row] for path in varying},
                    distributions=dict(varying),
                )
                for row, loss in enumerate(losses)
            ]
        )
        shares = PedAnovaImportanceEvaluator().evaluate(study)
    total = math.fsum(shares.values())
    if total <= 0:
        return {}
    # Optuna goes through a set: neither the order nor the last digit is the same in every process.
    rounded = {path: round(float(share) / total, DIGITS) for path, share in shares.items()}
    return dict(sorted(rounded.items(), key=lambda item: (-item[1], item[0])))
