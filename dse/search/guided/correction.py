"""What a slow engine adds to the fast one, learned from trials: a Gaussian process over the logarithm of their ratio.

The two engines differ by what one of them leaves out, so the ratio is near a constant where nothing of that happens,
and in proportion to the share of the time in which it does: collisions cost as much as there is communication over the
links that collide. The process has three parts (Kennedy, O'Hagan 2000, with a factor of one; Rasmussen, Williams 2006,
chapters 2 and 5): a constant, a line in the shares of time that the fast engine tells, with weights that are normal
around 0, and a Matérn-5/2 process over the design's parameters for the rest. Its scales are taken from a small grid by
marginal likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.search.guided.surrogate import limit_threads, matern, scaled_distances
from dse.search.guided.view import Seen

Matrix = NDArray[np.float64]
_SCALES = (0.5, 1.0, 2.0)
_LINES = (0.0, 1.0, 10.0)
"""Variance of a weight, in variances of the ratio per spread of a share."""
_ROUGH = (0.03, 0.3, 1.0)
"""Variance of the Matérn part, in variances of the ratio."""
_NOISES = (1e-4, 1e-2)
_LEAST_SPREAD = 1e-4
"""Deviation of ratios that is assumed at least: a difference not seen yet."""


@dataclass(frozen=True)
class _Output:
    """The process of one output."""

    mean: float
    unit: float
    """Deviation of the ratios told [log]."""
    scale: float
    line: float
    rough: float
    inverse: Matrix
    """Inverse of the covariance of the points told `[n, n]`, in units."""
    weights: Matrix
    """`[n]`."""


@dataclass(frozen=True)
class Correction:
    """A fitted correction: see the module."""

    points: Matrix
    """Scaled features of the trials told `[n, columns]`."""
    scaling: Matrix
    lines: Matrix
    """Centred and scaled shares of the trials told `[n, shares]`."""
    middle: Matrix
    widths: Matrix
    outputs: tuple[_Output, ...]

    def predict(self, seen: Seen) -> tuple[Matrix, Matrix]:
        """See `dse.search.guided.view.Model`."""
        features, viewed = seen.features[:, : self.points.shape[1]], seen.viewed
        with limit_threads():
            lines = (seen.shares - self.middle) * self.widths
            product = lines @ self.lines.T
            apart = scaled_distances(features * self.scaling, self.points)
            mean, deviation = viewed.copy(), np.empty_like(viewed)
            for number, own in enumerate(self.outputs):
                cross = own.line * product + own.rough * matern(apart / own.scale)
                whole = own.line * (lines**2).sum(axis=1) + own.rough
                mean[:, number] += own.mean + own.unit * (cross @ own.weights)
                left = whole - ((cross @ own.inverse) * cross).sum(axis=1)
                deviation[:, number] = own.unit * np.sqrt(np.maximum(left, 0.0))
        return mean, deviation


def fit_correction(seen: Seen, targets: Matrix) -> Correction:
    """The correction of designs that trials found to come to `targets` `[n, outputs]`, as levels; n is at least 2."""
    features, shares = seen.features, seen.shares
    with limit_threads():
        spread = features.std(axis=0)
        scaling = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 1e-12)
        points = features * scaling
        middle, wide = shares.mean(axis=0), shares.std(axis=0)
        widths = np.divide(1.0, wide, out=np.zeros_like(wide), where=wide > 1e-9)
        lines = (shares - middle) * widths / np.sqrt(max(1, int((widths > 0).sum())))
        widths = widths / np.sqrt(max(1, int((widths > 0).sum())))
        apart = scaled_distances(points, points)
        width = float(np.sqrt(max(1, int((scaling > 0).sum()))))
        ratios = targets - seen.viewed
        outputs = tuple(_fit_output(ratio, lines @ lines.T, apart, width) for ratio in ratios.T)
    return Correction(points, scaling, lines, middle, widths, outputs)


def _fit_output(ratio: Matrix, product: Matrix, apart: Matrix, width: float) -> _Output:
    mean = float(ratio.mean())
    unit = max(float(ratio.std()), _LEAST_SPREAD)
    rest = (ratio - mean) / unit
    best, found = -np.inf, None
    for scale in _SCALES:
        kernel = matern(apart / (scale * width))
        for line in _LINES:
            for rough in _ROUGH:
                for noise in _NOISES:
                    covariance = line * product + rough * kernel + noise * np.eye(len(rest))
                    lower = np.linalg.cholesky(covariance)
                    whitened = np.linalg.solve(lower, rest)
                    likelihood = float(-0.5 * (whitened**2).sum() - np.log(np.diag(lower)).sum())
                    if likelihood > best + 1e-9:
                        best, found = likelihood, (scale, line, rough, lower, whitened)
    assert found is not None
    scale, line, rough, lower, whitened = found
    inner = np.linalg.solve(lower, np.eye(len(rest)))
    return _Output(mean, unit, scale * width, line, rough, inner.T @ inner, inner.T @ whitened)
