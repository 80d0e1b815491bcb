"""Which candidates promise most: predicted values against the front that was found (see `dse.search.guided`).

Values are learned as *levels*: sign x log(value), to be minimised, so that what simulation adds to an estimate is a
difference; they are compared as losses, as the hypervolume is (`dse.search.guided.gain`). Each constraint on results is
learned by itself, and that all are met is as likely as if they were independent (Gardner et al. 2014): the largest
violation of two that pull against each other has a kink where it is least.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from dse.evaluate.pareto import front_mask
from dse.search.guided.candidates import TREND, Candidate
from dse.search.guided.gain import DIGITS, Box, choose_greedily, promise, way_to_give
from dse.search.guided.surrogate import Encoder
from dse.search.guided.view import ESTIMATE, Model, Seen, View
from dse.space.space import Space
from simcore.metrics import BEFORE, is_of

Matrix = NDArray[np.float64]

POINTS = 256
"""Most trials that the surrogate learns from: those nearest to the front, the latest, and some of the others."""
OPTIMISM = 2.0
"""Standard deviations by which every third choice hopes for more."""
LATE = 20.0
"""How fast the promise of a candidate falls with its estimated violation of a constraint on results."""
NEAR = 0.1
"""Violations count up to this: whether one is met by a little is what has to be learned."""
HOPE = 2e-3
"""What the front must lack of an estimate, relative, for its design to be tried whatever the surrogate says."""
TOLD = 4
"""Designs of a job and shape after which what the estimates were off there holds for all of them."""
SHARPEST = 1e-3
"""Least deviation that a predicted violation is taken to have."""


@dataclass(frozen=True)
class _Levels:
    """The transformation of losses `[n, objectives]` to levels."""

    signs: Matrix
    low: Matrix
    """Values down to it are told apart: 0, or the least of an expression that can be negative."""
    shift: Matrix
    """Keeps the logarithm of a value that can be 0 finite."""

    @staticmethod
    def fit(signs: Matrix, losses: Matrix) -> _Levels:
        """Shifts from losses that were seen: a hundredth of the median where some are 0, else next to nothing."""
        values = np.abs(losses)
        middle = np.array([np.median(column[column > 0]) if (column > 0).any() else 1.0 for column in values.T])
        low = np.minimum((signs * losses).min(axis=0), 0.0)
        return _Levels(signs, low, np.where((values <= 0).any(axis=0) | (low < 0), 1e-2, 1e-9) * middle - low)

    def to_levels(self, losses: Matrix) -> Matrix:
        """Levels of losses."""
        out: Matrix = self.signs * np.log(np.maximum(self.signs * losses, self.low) + self.shift)
        return out

    def to_losses(self, levels: Matrix) -> Matrix:
        """Losses of levels; what no float can hold becomes large."""
        out: Matrix = self.signs * (np.exp(np.clip(self.signs * levels, -690.0, 690.0)) - self.shift)
        return out


class Judge:
    """Learns from trials and ranks candidates."""

    def __init__(self, space: Space, encoder: Encoder, seed: int, view: View = ESTIMATE) -> None:
        self._encoder, self._view = encoder, view
        self._generator = np.random.default_rng([seed, 1])
        self._names = [objective.name for objective in space.objectives]
        self._signs = np.array([objective.sign for objective in space.objectives])
        self._late = [constraint.name for constraint in space.constraints if not constraint.is_early]
        self._modelled = [i for i, name in enumerate(self._names) if not is_of(name, BEFORE)]
        self._trends = list(dict.fromkeys([*TREND, *self._names]))
        self.simulated: list[Candidate] = []
        self._front: list[Candidate] = []
        self._fitted: tuple[int, Model] | None = None
        self._shares: list[str] = []
        """Shares of time that the model knows of."""

    def tell(self, candidate: Candidate, losses: Sequence[float], violations: Mapping[str, float]) -> None:
        """What simulation found of a candidate that may be simulated."""
        if candidate.violation > 0:
            return
        candidate.losses = np.array(losses)
        candidate.late = tuple(violations[name] for name in self._late)
        if candidate.known:  # the surrogate learns what simulation adds to estimates
            self.simulated.append(candidate)
        if candidate.late_violation <= 0:
            both = [*self._front, candidate]
            mask = front_mask(_losses(both))
            self._front = [one for one, keep in zip(both, mask, strict=True) if keep]

    def best_designs(self, count: int) -> list[Candidate]:
        """Designs to look around: of the front, else those that miss the constraints least.

        First one of those that are alike in every objective, drawn at random as their order is.
        """
        if self._front:
            drawn = [self._front[i] for i in self._generator.permutation(len(self._front))]
            first = _one_of_each(drawn)
            taken = {*first}
            return [*first, *(candidate for candidate in drawn if candidate not in taken)][:count]
        return sorted(self.simulated, key=lambda candidate: candidate.late_violation)[:count]

    def narrow_front(self, most: int) -> list[Candidate]:
        """One of the designs at each point of the front; none where it has more than `most` points."""
        points = _one_of_each(self._front)
        return points if len(points) <= most else []

    def spread_designs(self, count: int) -> list[Candidate]:
        """Designs of the front, evenly by the first objective; the best by each objective among them."""
        front = sorted(self._front, key=lambda candidate: _losses([candidate])[0].tolist())
        if len(front) <= count:
            return front
        ends = [int(i) for i in _losses(front).argmin(axis=0)]
        even = [round(i * (len(front) - 1) / (count - 1)) for i in range(count)]
        return [front[i] for i in dict.fromkeys([*ends, *even])][:count]

    def best_of_kinds(
        self, pool: Sequence[Candidate], kind: Callable[[Candidate], Hashable], count: int
    ) -> list[Candidate]:
        """The best of the pool by estimates for each kind of design, `count` kinds at most."""
        if not pool:
            return []
        estimates = self._estimates(pool)
        front = estimates[front_mask(estimates)]
        score = np.round(
            promise(*(_Levels.fit(self._signs, estimates).to_levels(x) for x in (estimates, front))), DIGITS
        )
        order = np.argsort(-score, kind="stable")
        best: dict[Hashable, Candidate] = {}
        for i in order:
            best.setdefault(kind(pool[i]), pool[i])
        return list(best.values())[:count]

    def choose_hopeful(self, pool: Sequence[Candidate], count: int) -> list[Candidate]:
        """Candidates that the front lacks by their estimates, each counted as if it were on it; `count` at most.

        The surrogate takes what misled it on one job for a rule of all. Here an estimate is off by what it was least
        off on the same job and shape of the cluster, where `TOLD` designs of these are known and each of its policies
        and algorithms was among theirs; else those with the same ones count alone; and it is right where nothing is
        known.
        """
        open_ones = [c for c in pool if c.known and c.missed_violation <= 0.0]
        if not open_ones or not self._front or not self._modelled:
            return []
        levels = _Levels.fit(self._signs, _losses(self.simulated))
        points = levels.to_levels(self._estimates(open_ones)) + self._estimate_errors(open_ones, levels)
        score = promise(points, levels.to_levels(_losses(self._front)))
        columns = np.ascontiguousarray(points.T)
        chosen: list[Candidate] = []
        while len(chosen) < count and score.max() > HOPE:
            index = int(np.argmax(np.round(score, DIGITS)))
            chosen.append(open_ones[index])
            score = np.minimum(score, way_to_give(points[index], columns))
        return chosen

    def missed_promises(self) -> list[Candidate]:
        """Designs of trials that the front lacks by their estimates, what lacks most first; of each niche one."""
        if not self._front or not self._modelled:
            return []
        levels = _Levels.fit(self._signs, _losses(self.simulated))
        points = levels.to_levels(self._estimates(self.simulated))
        score = np.round(promise(points, levels.to_levels(_losses(self._front))), DIGITS)
        found: dict[tuple[object, ...], Candidate] = {}
        for index in np.argsort(-score, kind="stable"):
            if score[index] > HOPE:
                found.setdefault(self.simulated[index].niche, self.simulated[index])
        return list(found.values())

    def _estimate_errors(self, candidates: Sequence[Candidate], levels: _Levels) -> Matrix:
        """By how much estimates are too good at least, in levels `[candidates, objectives]` (see `hopeful`)."""
        missed = levels.to_levels(_losses(self.simulated)) - levels.to_levels(self._estimates(self.simulated))
        found: dict[object, list[Matrix]] = {}
        tried: dict[object, set[object]] = {}
        for candidate, error in zip(self.simulated, missed, strict=True):
            for key in (candidate.niche, (candidate.niche, candidate.policies)):
                found.setdefault(key, []).append(error)
            tried.setdefault(candidate.niche, set()).update(candidate.policies)
        least = {key: np.min(errors, axis=0) for key, errors in found.items()}
        nothing = np.zeros(len(self._names))
        rows = []
        for candidate in candidates:
            told: object = candidate.niche
            if len(found.get(told, ())) < TOLD or not tried[candidate.niche].issuperset(candidate.policies):
                told = candidate.niche, candidate.policies
            rows.append(least.get(told, nothing))
        return np.array(rows)

    def rank(self, pool: list[Candidate], count: int) -> list[Candidate]:
        """The pool in a new order: first the `count` that are best tried together, then the others by promise."""
        if not pool:
            return []
        estimates = self._estimates(pool)
        levels = _Levels.fit(self._signs, _losses(self.simulated) if self.simulated else estimates)
        mean, deviation, late, likely = self._predict(pool, levels.to_levels(estimates), levels)
        hoped = levels.to_losses(mean - OPTIMISM * deviation)
        mean = levels.to_losses(mean)
        front = _losses(self._front) if self._front else np.empty((0, len(self._names)))
        hopeful = np.vstack([front, mean[late <= 0.0] if (late <= 0.0).any() else mean])
        box = Box.enclose(front, hopeful[front_mask(hopeful)], self._generator)
        order = choose_greedily(box, box.scale_losses(mean), box.scale_losses(hoped), likely, count)
        return [pool[i] for i in order]

    def _estimates(self, pool: Sequence[Candidate]) -> Matrix:
        """Estimates of the losses `[pool, objectives]`, 0 where there is none."""
        out: Matrix = self._signs * np.array([self._estimates_of(candidate) for candidate in pool])
        return out

    def _estimates_of(self, candidate: Candidate) -> tuple[float, ...]:
        """Estimates of one candidate, which many rounds ask for."""
        if candidate.estimates is None:
            candidate.estimates = tuple(candidate.known.get(name) or 0.0 for name in self._names)
        return candidate.estimates

    def _trend(self, candidates: Sequence[Candidate]) -> Matrix:
        """Logarithms of estimates, 0 where there is none, and the violations at them `[candidates, columns]`."""
        known = np.array([[c.known.get(name) or 1.0 for name in self._trends] for c in candidates])
        missed = [_missed_violations(candidates)[:, None]]
        missed += [self._each_missed(candidates)] if len(self._late) > 1 else []
        return np.hstack([np.log(np.maximum(known, 1e-300)), *missed])

    def _each_missed(self, candidates: Sequence[Candidate]) -> Matrix:
        """Violation of each constraint on results at the estimates `[candidates, constraints]`."""
        return _clip_violations([candidate.missed for candidate in candidates])

    def _predict(
        self, pool: list[Candidate], estimates: Matrix, levels: _Levels
    ) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        """Mean and deviation of levels `[pool, objectives]`; violation of constraints and how likely none is `[pool]`.

        Without enough trials the estimates are the prediction.
        """
        mean, deviation, late = estimates.copy(), np.zeros_like(estimates), _missed_violations(pool)
        outputs = len(self._modelled) + len(self._late)
        if len(self.simulated) < self._view.enough or not outputs:
            return mean, deviation, late, np.exp(-LATE * np.maximum(late, 0.0))
        if self._fitted is None or self._fitted[0] != len(self.simulated):
            self._fitted = len(self.simulated), self._fit(levels)
        model = self._fitted[1]
        value, spread = model.predict(self._seen(pool, estimates))
        models = len(self._modelled)
        mean[:, self._modelled], deviation[:, self._modelled] = value[:, :models], spread[:, :models]
        likely = np.ones(len(pool))
        if self._late:
            late = value[:, models:].max(axis=1)
            likely = ndtr(-value[:, models:] / np.maximum(spread[:, models:], SHARPEST)).prod(axis=1)
        return mean, deviation, late, likely

    def _fit(self, levels: _Levels) -> Model:
        told = self._teaching_trials(levels)
        found = levels.to_levels(_losses(told))[:, self._modelled]
        if self._late:
            found = np.hstack([found, _clip_violations([candidate.late for candidate in told])])
        self._shares = sorted({name for c in told for name in c.shares})
        return self._view.fit(self._seen(told, levels.to_levels(self._estimates(told))), found)

    def _seen(self, candidates: Sequence[Candidate], estimates: Matrix) -> Seen:
        """What is known of candidates before their trials; `estimates` are levels `[candidates, objectives]`."""
        viewed = estimates[:, self._modelled]
        if self._late:
            viewed = np.hstack([viewed, self._each_missed(candidates)])
        shares = np.array([[c.shares.get(name, 0.0) for name in self._shares] for c in candidates])
        features = self._encoder.matrix([c.features for c in candidates])
        return Seen(features, self._trend(candidates), shares, viewed)

    def _teaching_trials(self, levels: _Levels) -> list[Candidate]:
        """The trials that the surrogate learns from."""
        if len(self.simulated) <= POINTS:
            return self.simulated
        latest, older = self.simulated[-POINTS // 4 :], self.simulated[: -POINTS // 4]
        if not self._front:
            return [older[i] for i in self._generator.permutation(len(older))[: POINTS - len(latest)]] + latest
        near = promise(levels.to_levels(_losses(older)), levels.to_levels(_losses(self._front)))
        order = np.argsort(-np.round(near, DIGITS), kind="stable")
        close, far = order[: POINTS // 2], order[POINTS // 2 :]
        drawn = far[self._generator.permutation(len(far))[: POINTS // 4]]
        return [older[i] for i in sorted([*close, *drawn])] + latest


def _one_of_each(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The first of the simulated candidates with the same losses."""
    found: dict[tuple[float, ...], Candidate] = {}
    for candidate in candidates:
        found.setdefault(tuple(np.asarray(candidate.losses).tolist()), candidate)
    return list(found.values())


def _losses(candidates: Sequence[Candidate]) -> Matrix:
    return np.array([candidate.losses for candidate in candidates])


def _missed_violations(candidates: Sequence[Candidate]) -> Matrix:
    """Largest violation of a constraint on results at the estimates `[candidates]`, as far as it counts."""
    return _clip_violations([c.missed_violation for c in candidates])


def _clip_violations(violations: Sequence[float] | Sequence[Sequence[float]]) -> Matrix:
    out: Matrix = np.clip(np.array(violations, np.float64), -NEAR, NEAR)
    return out
