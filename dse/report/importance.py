"""Which parameters matter: PED-ANOVA (Watanabe, Bansal, Hutter 2023) over the feasible trials.

It asks which parameters the best tenth of some trials have in common that the others have not. Three questions: what
makes an objective good *overall*; what brings a design near *the front*; and, among the designs near the front, what
makes one better there in an objective than another: what one trades *on the front*. A sampler that learns tries good
designs more often, so the shares say what mattered in this study. Only parameters that every trial asked about has can
be compared; those of branches are left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.pareto import nearness
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.values import cell

LEAST = 20
"""Trials below which nothing is said."""
DIGITS = 6
"""Digits of a share after the point."""
MOST = 2000
"""Feasible trials that are looked at, the latest."""
NEAR = 0.25
"""Share of those that count as near the front, `LEAST` at least."""
BEST = 0.1
"""Share of some trials that are the best of them; of equal ones all."""
_NEVER = 1e-12
"""Density of what is never drawn."""

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
    shared = [path for path in trials[0].params if all(path in trial.params for trial in trials)]
    values = {path: [cell(trial.params[path]) for trial in trials] for path in shared}
    if losses.min() == losses.max():
        return {}
    best = losses <= np.sort(losses)[math.ceil(BEST * len(losses)) - 1]
    shares = {path: _divergence(texts, best) for path, texts in values.items() if len(set(texts)) > 1}
    total = math.fsum(shares.values())
    if total <= 0:
        return {}
    # The last digit is not the same on every machine.
    rounded = {path: round(share / total, DIGITS) for path, share in shares.items()}
    return dict(sorted(rounded.items(), key=lambda item: (-item[1], item[0])))


def _divergence(texts: list[str], best: NDArray[np.bool_]) -> float:
    """The Pearson divergence of the values of the `best` trials from those of all (`texts`, one for each trial)."""
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    found = np.array([places[text] for text in texts])
    among_best, among_all = (_density(np.bincount(some, minlength=len(places))) for some in (found[best], found))
    return float(among_all @ (among_best / among_all - 1) ** 2)


def _density(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The density of values that came so often: a kernel for each value that came, and an even one as the prior.

    Of K kernels each has 1 / K for every value beside 1 for its own, before it is scaled to add up to 1; the kernels
    count as often as their values came, the prior once.
    """
    kernels = np.count_nonzero(counts) + 1
    own = (counts + counts.sum() / kernels) / (1 + len(counts) / kernels)
    density: NDArray[np.float64] = (own + 1 / len(counts)) / (counts.sum() + 1) + _NEVER
    return density
