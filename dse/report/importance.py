"""Which parameters matter: PED-ANOVA (Watanabe, Bansal, Hutter 2023), Optuna's, per objective over the feasible trials.

It asks which parameters the best tenth of the trials have in common that the others have not. A sampler that learns
tries good designs more often, so the shares say what mattered in this study. Only parameters that every feasible trial
has can be compared; those of branches are left out.
"""

from __future__ import annotations

import math
import warnings

from dse.hole import magnitude
from dse.record import StudyRecord
from dse.report.values import cell

LEAST = 20
"""Feasible trials below which nothing is said."""
DIGITS = 6
"""Digits of a share after the point."""
MOST = 2000
"""Feasible trials that are looked at, the latest."""


def importance(record: StudyRecord) -> dict[str, dict[str, float]]:
    """Objective -> parameter -> share of its importance, the largest first; empty where there are too few trials."""
    import optuna
    from optuna.distributions import CategoricalDistribution
    from optuna.importance import PedAnovaImportanceEvaluator

    trials = record.feasible[-MOST:]
    if len(trials) < LEAST:
        return {}
    shared = [path for path in trials[0].params if all(path in trial.params for trial in trials)]
    values = {path: [cell(trial.params[path]) for trial in trials] for path in shared}
    varying = {
        path: CategoricalDistribution(sorted(set(texts), key=lambda text: (magnitude(text) or 0.0, text)))
        for path, texts in values.items()
        if len(set(texts)) > 1
    }
    if not varying:
        return {}
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    found: dict[str, dict[str, float]] = {}
    for column, objective in enumerate(record.objectives):
        losses = record.losses(trials)[:, column]
        if losses.min() == losses.max():
            continue
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
        if total > 0:
            # Optuna goes through a set: neither the order nor the last digit is the same in every process.
            rounded = {path: round(float(share) / total, DIGITS) for path, share in shares.items()}
            found[objective.name] = dict(sorted(rounded.items(), key=lambda item: (-item[1], item[0])))
    return found
