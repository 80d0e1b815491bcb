"""Which candidates promise most: predicted values against the front that was found (see `dse.search.guided`).

Values are compared as *levels*: sign x log(value), to be minimised, so that the same share of any objective counts the
same, and what simulation adds to a bound is a difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.constraint import KNOWN_BEFORE
from dse.pareto import front_mask
from dse.search.candidates import BOUND, Candidate
from dse.search.surrogate import Encoder, fit
from dse.space import Space

Matrix = NDArray[np.float64]

TREND = ("iteration_time", BOUND, "cost.total", "memory.peak")
"""Estimates that say something of all objectives."""
POINTS = 256
"""Most trials that the surrogate learns from: those nearest to the front, the latest, and some of the others."""
ENOUGH = 8
"""Trials before the surrogate is used instead of the bounds themselves."""
OPTIMISM = 2.0
"""Standard deviations by which every third choice hopes for more."""
DIGITS = 9
"""Digits of a score that count: what two machines' arithmetic may differ in must not change a study."""


@dataclass(frozen=True)
class _Levels:
    """The transformation of losses `[n, objectives]` to levels."""

    signs: Matrix
    shift: Matrix
    """Keeps the logarithm of a metric that can be 0 finite."""

    @staticmethod
    def fitted(signs: Matrix, losses: Matrix) -> _Levels:
        """Shifts from losses that were seen: a hundredth of the median where some are 0, else next to nothing."""
        values = np.abs(losses)
        middle = np.array([np.median(column[column > 0]) if (column > 0).any() else 1.0 for column in values.T])
        return _Levels(signs, np.where((values <= 0).any(axis=0), 1e-2, 1e-9) * middle)

    def of(self, losses: Matrix) -> Matrix:
        """Levels of losses."""
        out: Matrix = self.signs * np.log(np.maximum(self.signs * losses, 0.0) + self.shift)
        return out


class Judge:
    """Learns from trials and ranks candidates."""

    def __init__(self, space: Space, encoder: Encoder, seed: int) -> None:
        self._encoder = encoder
        self._generator = np.random.default_rng([seed, 1])
        self._names = [objective.name for objective in space.objectives]
        self._signs = np.array([objective.sign for objective in space.objectives])
        self._late = [constraint.name for constraint in space.constraints if not constraint.early]
        self._modelled = [i for i, name in enumerate(self._names) if name not in KNOWN_BEFORE]
        self._trends = list(dict.fromkeys([*TREND, *self._names]))
        self.simulated: list[Candidate] = []
        self._front: list[Candidate] = []

    def tell(self, candidate: Candidate, losses: Sequence[float], violations: Mapping[str, float]) -> None:
        """What simulation found of a candidate that may be simulated."""
        if candidate.violation > 0:
            return
        candidate.losses = np.array(losses)
        candidate.late = max((violations[name] for name in self._late), default=-1.0)
        self.simulated.append(candidate)
        if candidate.late <= 0:
            both = [*self._front, candidate]
            mask = front_mask(_losses(both))
            self._front = [one for one, keep in zip(both, mask, strict=True) if keep]

    def best(self, count: int) -> list[Candidate]:
        """Designs to look around: of the front, else those that miss the constraints least."""
        if self._front:
            return [self._front[i] for i in self._generator.permutation(len(self._front))[:count]]
        return sorted(self.simulated, key=lambda candidate: candidate.late)[:count]

    def ranked(self, pool: list[Candidate], count: int) -> list[Candidate]:
        """The pool in a new order: first the `count` that are best tried together, then the others by promise."""
        if not pool:
            return []
        bounds = self._bounds(pool)
        levels = _Levels.fitted(self._signs, _losses(self.simulated) if self.simulated else bounds)
        front = levels.of(_losses(self._front)) if self._front else np.empty((0, len(self._names)))
        mean, deviation, late = self._predicted(pool, levels.of(bounds), levels, front)
        width = np.ptp(front if len(front) > 1 else mean, axis=0)
        width = np.maximum(width, 1e-3 * max(1e-9, float(width.max())))
        hoped = mean - OPTIMISM * deviation
        return [pool[i] for i in _greedy(mean / width, hoped / width, late, front / width, count)]

    def _bounds(self, pool: Sequence[Candidate]) -> Matrix:
        """Proven bounds of the losses `[pool, objectives]`, 0 where there is none."""
        known = np.array([[candidate.known.get(name) or 0.0 for name in self._names] for candidate in pool])
        out: Matrix = self._signs * known
        return out

    def _trend(self, candidates: Sequence[Candidate]) -> Matrix:
        """Logarithms of bounds `[candidates, trends]`, 0 where there is none."""
        known = np.array([[c.known.get(name) or 1.0 for name in self._trends] for c in candidates])
        out: Matrix = np.log(np.maximum(known, 1e-300))
        return out

    def _predicted(
        self, pool: list[Candidate], bounds: Matrix, levels: _Levels, front: Matrix
    ) -> tuple[Matrix, Matrix, Matrix]:
        """Mean and deviation of the levels `[pool, objectives]`, and the violation of constraints on results `[pool]`.

        Without enough trials the bounds are the prediction.
        """
        mean, deviation, late = bounds.copy(), np.zeros_like(bounds), np.full(len(pool), -1.0)
        outputs = len(self._modelled) + bool(self._late)
        if len(self.simulated) < ENOUGH or not outputs:
            return mean, deviation, late
        told = self._taught(levels, front)
        found = levels.of(_losses(told))[:, self._modelled]
        if self._late:
            found = np.hstack([found, np.clip([[c.late] for c in told], -1.0, 2.0)])
        features = self._encoder.matrix([c.features for c in [*told, *pool]])
        model = fit(features[: len(told)], self._trend(told), found)
        value, spread = model.predict(features[len(told) :], self._trend(pool))
        models = len(self._modelled)
        mean[:, self._modelled], deviation[:, self._modelled] = value[:, :models], spread[:, :models]
        if self._late:
            late = value[:, models]
        return mean, deviation, late

    def _taught(self, levels: _Levels, front: Matrix) -> list[Candidate]:
        """The trials that the surrogate learns from."""
        if len(self.simulated) <= POINTS:
            return self.simulated
        latest, older = self.simulated[-POINTS // 4 :], self.simulated[: -POINTS // 4]
        if not len(front):
            return [older[i] for i in self._generator.permutation(len(older))[: POINTS - len(latest)]] + latest
        promise = _promise(levels.of(_losses(older)), front)
        order = np.argsort(-promise, kind="stable")
        near, far = order[: POINTS // 2], order[POINTS // 2 :]
        drawn = far[self._generator.permutation(len(far))[: POINTS // 4]]
        return [older[i] for i in sorted([*near, *drawn])] + latest


def _losses(candidates: Sequence[Candidate]) -> Matrix:
    return np.array([candidate.losses for candidate in candidates])


def _promise(points: Matrix, front: Matrix) -> Matrix:
    """How far the front `[F, M]` would have to give way for each of `points` `[N, M]`: above 0 what it lacks, `[N]`."""
    out = np.full(len(points), np.inf)
    for member in front:
        np.minimum(out, (member - points).max(axis=1), out=out)
    return out


def _greedy(mean: Matrix, hoped: Matrix, late: Matrix, front: Matrix, count: int) -> list[int]:
    """Indices of the pool `[N]`: `count` chosen one by one, each then counted as on the front, then all the others."""
    likely = np.maximum(late, 0.0)
    if not len(front):  # any point will do to begin with: the one that is best on the whole
        front = mean[np.argmin(np.round(mean.sum(axis=1) + 10 * likely, DIGITS))][None, :] + 1.0
    sure, open_ = _promise(mean, front), np.ones(len(mean), bool)
    hopeful = _promise(hoped, front)
    chosen: list[int] = []
    for number in range(min(count, len(mean))):
        score = np.round((hopeful if number % 3 == 2 else sure) - 10 * likely, DIGITS)
        index = int(np.argmax(np.where(open_, score, -np.inf)))
        chosen.append(index)
        open_[index] = False
        for promise, points in ((sure, mean), (hopeful, hoped)):
            np.minimum(promise, (mean[index] - points).max(axis=1), out=promise)
    rest = np.argsort(-np.round(sure - 10 * likely, DIGITS), kind="stable")
    return chosen + [int(i) for i in rest if open_[i]]
