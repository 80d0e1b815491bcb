"""What a candidate would add to the front: hypervolume by sampling, and the additive epsilon indicator where that is 0.

Points drawn evenly in the box between the front's best values and its reference point, those that the front dominates
left out, measure the gain of any predicted point in any number of objectives: the share that it dominates (Bader,
Zitzler 2011). A batch is chosen greedily, each choice counted as if it were on the front (the kriging believer of
Ginsbourger et al. 2010). Below the resolution of the sample the epsilon indicator decides: how far the front would
have to give way for the candidate (Zitzler et al. 2003).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]

HOPEFUL = 3
"""One choice in so many is by the optimistic losses."""
SAMPLES, ROUNDS, ENOUGH = 2048, 6, 512
"""Points drawn at a time, times they are drawn at most, undominated points that are enough."""
MARGIN = 0.1
"""Margin of the reference point beyond the worst of the front, as in `dse.evaluate.pareto.reference_point`."""
DIGITS = 9
"""Digits of a score that count: what two machines' arithmetic may differ in must not change a study."""


@dataclass(frozen=True)
class Box:
    """The region in which gain is measured; losses are scaled to it: 0 the best, 1 the reference point."""

    low: Matrix
    width: Matrix
    front: Matrix
    """Scaled front that was found `[F, objectives]`."""
    samples: Matrix
    """Scaled points that the front does not dominate `[S, objectives]`."""

    @staticmethod
    def enclose(front: Matrix, hoped: Matrix, generator: np.random.Generator) -> Box:
        """The box of the front that was found `[F, objectives]` and that which is predicted `[P, objectives]`.

        What lies beyond the front that was found, but is not dominated, counts: its ends may not be found yet.
        """
        worst = hoped.max(axis=0)
        high = worst + MARGIN * np.maximum(np.abs(worst), 1e-12)
        low = hoped.min(axis=0)
        width = high - low
        scaled = (front - low) / width
        kept: list[Matrix] = []
        for _ in range(ROUNDS):
            points = generator.random((SAMPLES, front.shape[1]))
            kept.append(points[~_covered_mask(points, scaled)])
            if sum(map(len, kept)) >= ENOUGH:
                break
        return Box(low, width, scaled, np.vstack(kept))

    def scale_losses(self, losses: Matrix) -> Matrix:
        """Losses `[N, objectives]` in units of the box."""
        out: Matrix = (losses - self.low) / self.width
        return out


def _covered_mask(points: Matrix, front: Matrix) -> Mask:
    """Which of `points` `[S, M]` some of `front` `[F, M]` dominates, `[S]`."""
    out, columns = np.zeros(len(points), bool), np.ascontiguousarray(points.T)
    for member in front:
        out |= _reaches(member, columns)
    return out


def _reaches(point: Matrix, columns: Matrix) -> Mask:
    """Which points are nowhere less than `point` `[M]`; `columns` are theirs by objective `[M, N]`."""
    out: Mask = point[0] <= columns[0]
    for value, column in zip(point[1:], columns[1:], strict=True):
        out &= value <= column
    return out


def way_to_give(point: Matrix, columns: Matrix) -> Matrix:
    """How far `point` `[M]` would have to give way for each of those with such `columns` `[M, N]`, `[N]`."""
    out: Matrix = point[0] - columns[0]
    for value, column in zip(point[1:], columns[1:], strict=True):
        np.maximum(out, value - column, out=out)
    return out


def promise(points: Matrix, front: Matrix) -> Matrix:
    """How far `front` `[F, M]` would have to give way for each of `points` `[N, M]`: above 0 what it lacks, `[N]`."""
    out, columns = np.full(len(points), np.inf), np.ascontiguousarray(points.T)
    for member in front:
        np.minimum(out, way_to_give(member, columns), out=out)
    return out


class _Gain:
    """Gain of each of `points` `[N, M]`, as the front grows."""

    def __init__(self, box: Box, points: Matrix) -> None:
        self._points, self._samples = np.ascontiguousarray(points.T), np.ascontiguousarray(box.samples.T)
        inside = np.ones((len(points), len(box.samples)), bool)
        for own, others in zip(self._points, self._samples, strict=True):
            inside &= own[:, None] <= others[None, :]
        self._dominates = inside
        self._counts: Matrix = np.count_nonzero(inside, axis=1).astype(np.float64)
        self._open = np.ones(len(box.samples), bool)
        # Without a front every point is as new as any other: the one that is best on the whole goes first.
        self._promise = promise(points, box.front) if len(box.front) else -points.sum(axis=1)

    def scores(self) -> Matrix:
        """What to choose by, `[N]`."""
        share: Matrix = self._counts / max(1, len(self._open))
        out: Matrix = share + 1e-3 * np.clip(self._promise, -100.0, 100.0)
        return out

    def take(self, point: Matrix) -> None:
        """Count a predicted point as on the front."""
        gone = self._open & _reaches(point, self._samples)
        self._open &= ~gone
        self._counts = self._counts - np.count_nonzero(self._dominates[:, gone], axis=1)
        np.minimum(self._promise, way_to_give(point, self._points), out=self._promise)


def choose_greedily(box: Box, mean: Matrix, hoped: Matrix, likely: Matrix, count: int) -> list[int]:
    """Indices of candidates with scaled losses `mean` `[N, M]`: `count` chosen one by one, then all others by score.

    Every third choice is by `hoped`, the optimistic losses; `likely` `[N]` is how far each can be expected to be
    feasible.
    """
    sure, open_ = _Gain(box, mean), np.ones(len(mean), bool)
    hopeful = _Gain(box, hoped)
    chosen: list[int] = []
    for number in range(min(count, len(mean))):
        score = _weight_scores((hopeful if number % HOPEFUL == HOPEFUL - 1 else sure).scores(), likely)
        index = int(np.argmax(np.where(open_, score, -np.inf)))
        chosen.append(index)
        open_[index] = False
        sure.take(mean[index])
        hopeful.take(mean[index])
    rest = np.argsort(-_weight_scores(sure.scores(), likely), kind="stable")
    return chosen + [int(i) for i in rest if open_[i]]


def _weight_scores(scores: Matrix, likely: Matrix) -> Matrix:
    """Scores above 0 count as far as they are likely, those below by how unlikely."""
    weighted: Matrix = np.where(scores > 0, scores * likely, scores - (1.0 - likely)).astype(np.float64)
    return np.round(weighted, DIGITS)
