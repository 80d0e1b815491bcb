"""Pareto fronts: dominance, hypervolume, knee, reference point. Every matrix here is to be minimised.

A point *dominates* another when it is no worse in every objective and better in one. Points with equal values do not
dominate each other, so all of them are on the front. Dominance and hypervolume come from the `moocore` library
(Fonseca, Paquete, López-Ibáñez 2006).
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

BENT = 0.01
"""How far a knee is below the line through the ends of its front, in lengths of the front, at the least."""
WORTH = 0.2
"""Percent of one objective that a percent of another must buy."""
ALIKE = 0.025
"""Members of a front that differ by no more in each objective are one: layouts of a cluster that are nearly equal."""


def front_mask(points: Matrix) -> NDArray[np.bool_]:
    """Which of `points` `[N, M]` no other dominates, `[N]`. A point with NaN is never on the front.

    Infinities are well defined: where nothing is proven of an objective, its bound is one.
    """
    import moocore

    mask: NDArray[np.bool_] = np.logical_not(np.isnan(points).any(axis=1))
    if mask.any():
        finite = np.nan_to_num(points[mask])  # moocore crashes on infinities in three columns and more
        mask[mask] = moocore.is_nondominated(finite, keep_weakly=True)
    return mask


_MOST_PAIRS = 2_000_000
"""Pairs of points that are compared at once."""


def dominated_mask(front: Matrix, points: Matrix) -> NDArray[np.bool_]:
    """Which of `points` `[N, M]` some member of `front` `[F, M]` dominates, `[N]`."""
    mask = np.zeros(len(points), bool)
    if not len(front) or not len(points):
        return mask
    best, worst = points.min(axis=0), points.max(axis=0)
    if ((front <= best).all(axis=1) & (front < best).any(axis=1)).any():
        return ~mask  # one member dominates even what has the best of all points
    able = front[(front <= worst).all(axis=1)]
    step = max(1, _MOST_PAIRS // len(points))
    for begin in range(0, len(able), step):
        left = np.flatnonzero(~mask)
        no_worse = np.ones((len(left), len(able[begin : begin + step])), bool)
        better = np.zeros_like(no_worse)
        for column in range(points.shape[1]):
            own, others = points[left, column, None], able[begin : begin + step, column]
            no_worse &= others <= own
            better |= others < own
        mask[left] = (no_worse & better).any(axis=1)
    return mask


def shares_behind(front: Matrix, corners: Matrix) -> NDArray[np.float64]:
    """By which share of its values each member of `front` `[F, M]` is at most behind `corners` `[C, M]`, `[F]`.

    That by which some corner is better in all objectives at once, at the most (the epsilon indicator of Zitzler et al.
    2003, relative to the member); 0 where none is. Infinite where a corner is not known (minus infinity) in any. An
    objective that is the same in all of them says nothing.
    """
    differ = _differing(front, corners)
    front, corners = front[:, differ], corners[:, differ]
    found = np.zeros(len(front))
    for corner in corners:
        better = np.maximum(front - corner, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(better > 0, better / np.abs(front), 0.0)
        found = np.maximum(found, shares.min(axis=1))
    return found


def shares_worse(points: Matrix, own: NDArray[np.float64]) -> NDArray[np.float64]:
    """By which share each of `points` `[N, M]` is worse than `own` `[M]`, in the objective where it is most, `[N]`."""
    worse: NDArray[np.float64] = changes(points, own).max(axis=1)
    return worse


def changes(points: Matrix, own: NDArray[np.float64]) -> Matrix:
    """By which share of `own` `[M]` each of `points` `[N, M]` is worse in each objective, below 0 better, `[N, M]`."""
    found: Matrix = (points - own) / (np.abs(own) + (own == 0))
    return found


def _differing(some: Matrix, others: Matrix) -> NDArray[np.bool_]:
    """In which objectives not all of them are equal, `[M]`; all where they are in each."""
    found: NDArray[np.bool_] = (some != some[:1]).any(axis=0) | (others != some[:1]).any(axis=0)
    return found if found.any() else ~found


def hypervolume(points: Matrix, reference: NDArray[np.float64]) -> float:
    """Volume dominated by `points` `[N, M]` and bounded by `reference` `[M]`; 0 for no points."""
    import moocore

    inside = points[(points < reference).all(axis=1)] if len(points) else points
    return float(moocore.hypervolume(inside, ref=reference)) if len(inside) else 0.0


def reference_point(points: Matrix) -> NDArray[np.float64]:
    """1.1 x the worst of `points` `[N, M]` per objective, moved away from the front also where that is negative."""
    worst: NDArray[np.float64] = points.max(axis=0)
    return worst + 0.1 * np.abs(worst)


def knee(front: Matrix) -> int | None:
    """Index of the front's knee: the point farthest below the line through its extremes (Das 1999), normalised.

    There is none, `None`, with one or two points, nor where no point is below that line by `BENT`. With more than two
    objectives the hyperplane through the per-objective extremes takes the place of the line.
    """
    low, high = (front.min(axis=0), front.max(axis=0)) if len(front) else (None, None)
    if low is None or high is None or len(np.unique(front, axis=0)) < 3:
        return None
    span = np.where(high > low, high - low, 1.0)
    below = 1.0 - ((front - low) / span).sum(axis=1)
    return int(np.argmax(below)) if below.max() >= BENT else None


def worth_mask(front: Matrix) -> NDArray[np.bool_]:
    """Which members of a front `[N, M]` lie where a percent of one objective buys at least `WORTH` percent of another.

    These are the members within the box of those that are best by some sum of logarithms whose weights differ by at
    most 1 / `WORTH`: proper efficiency with bounded trade-offs (Geoffrion 1968), as far as the front is convex. What is
    to be maximised is below 0 here. All of a front where an objective has values of both signs, or 0: no percents.
    """
    signs = np.sign(front[:1])
    if not len(front) or (front * signs <= 0).any():
        return np.ones(len(front), bool)
    weights = np.array(list(product((WORTH, 1.0), repeat=front.shape[1])))
    ends = front[np.argmin((signs * np.log(front * signs)) @ weights.T, axis=0)]
    within: NDArray[np.bool_] = ((front >= ends.min(axis=0)) & (front <= ends.max(axis=0))).all(axis=1)
    return within


def _count_apart(front: Matrix) -> int:
    """How many members of a front differ by more than `ALIKE` from those before them in some objective."""
    apart: list[NDArray[np.float64]] = []
    for member in front:
        if all((np.abs(member - other) > ALIKE * np.abs(other)).any() for other in apart):
            apart.append(member)
    return len(apart)


def compromise_units(front: Matrix, played: NDArray[np.float64]) -> NDArray[np.float64]:
    """How much of each objective counts alike in a compromise, `[M, 1, S]`; infinity: it does not count.

    `front` `[N, M]` is as predicted, `played` `[M, N, S]` what it comes to in S scenarios. They are the lengths in each
    scenario of the part of the front that is worth its price (`worth_mask`): its last members buy next to nothing, and
    how far a search went that way must not weigh the others. A front of two values has only ends, each a length away
    from the other, and so has a part of fewer than three members that are no nearer than `ALIKE`: there the mean size
    of each objective. A percent of one objective counts for at most 1 / `WORTH` percent of another: a front is no
    longer for prices that are nearly the same on it.
    """
    worth = worth_mask(front)
    part = played[:, worth]
    size: NDArray[np.float64] = np.abs(part).mean(axis=1, keepdims=True)
    if _count_apart(front[worth]) < 3 or knee(front[worth]) is None:
        return np.where(size > 0, size, np.inf)
    length = np.ptp(part, axis=1, keepdims=True)
    longest = np.divide(length, size, out=np.zeros_like(length), where=size > 0).max(axis=0)
    return np.where(length > 0, np.maximum(length, WORTH * longest * size), np.inf)


def nearness(points: Matrix, front: Matrix) -> NDArray[np.float64]:
    """How far each of `points` `[N, M]` is from being undominated by `front` `[F, M]`, `[N]`.

    The additive epsilon indicator of one point (Zitzler et al. 2003): by how much all its objectives have to improve,
    in lengths of the front, until no member is better in all. 0 on the front or where a member is equalled in one
    objective, below 0 beyond it. An objective that is the same in all of them says nothing.
    """
    differ = _differing(front, points)
    front, points = front[:, differ], points[:, differ]
    span = front.max(axis=0) - front.min(axis=0)
    worst = np.abs(front).max(axis=0)
    unit = np.where(span > 0, span, np.where(worst > 0, worst, 1.0))
    far = np.full(len(points), -np.inf)
    for member in front:
        far = np.maximum(far, ((points - member) / unit).min(axis=1))
    return far
