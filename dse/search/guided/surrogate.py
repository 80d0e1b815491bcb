"""A light surrogate: what simulation adds to the proven bounds, by a Gaussian process over few points.

Each output is a linear trend in the logarithms of the bounds (the bound of the iteration time is within a few percent
for most designs) plus a Gaussian process with a Matérn-5/2 kernel over the design's features for what the bounds do not
see (Rasmussen, Williams 2006, chapters 2, 4 and 5). Length scale and noise come from a small grid, by marginal
likelihood. numpy alone, and milliseconds: the sampler sees to it that there are at most a few hundred points.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from dse.space.hole import magnitude

Matrix = NDArray[np.float64]
_SCALES = (0.5, 1.0, 2.0, 4.0)
_NOISES = (1e-4, 1e-2, 1e-1)
_RIDGE = 1e-3


@dataclass
class Encoder:
    """Parameters of a design as numbers: log2 of what is a number, a column for each value of what is not."""

    columns: dict[tuple[str, Any], int] = field(default_factory=dict)
    _known: dict[tuple[str, str], tuple[int, float]] = field(default_factory=dict)

    def encode(self, params: Mapping[str, Any]) -> dict[int, float]:
        """Column -> value of the parameters; a column that is not there is 0."""
        row: dict[int, float] = {}
        for path, value in params.items():
            key = path, repr(value)
            known = self._known.get(key)
            if known is None:
                known = self._known[key] = self._encode_value(path, value)
            row[known[0]] = known[1]
        return row

    def _encode_value(self, path: str, value: Any) -> tuple[int, float]:
        number = magnitude(value)
        if number is not None and number > 0:
            return self._column(path, None), 1.0 + float(np.log2(number))
        return self._column(path, value if isinstance(value, str | bool) else repr(value)), 1.0

    def _column(self, path: str, value: Any) -> int:
        return self.columns.setdefault((path, value), len(self.columns))

    def matrix(self, rows: list[dict[int, float]]) -> Matrix:
        """The rows as a matrix `[rows, columns so far]`."""
        out = np.zeros((len(rows), len(self.columns)))
        lengths = [len(row) for row in rows]
        columns = np.fromiter(chain.from_iterable(rows), np.intp, sum(lengths))
        values = chain.from_iterable(row.values() for row in rows)
        out[np.repeat(np.arange(len(rows)), lengths), columns] = np.fromiter(values, np.float64, len(columns))
        return out


@dataclass(frozen=True)
class Surrogate:
    """A fitted model: `predict` gives mean and standard deviation of each output."""

    trend: Matrix
    """`[1 + trend inputs, outputs]`."""
    points: Matrix
    """Scaled features of the training points `[n, columns]`."""
    scaling: Matrix
    models: tuple[tuple[float, Matrix, Matrix, float], ...]
    """Per output: length scale, inverse of the kernel matrix `[n, n]`, weights `[n]`, spread."""

    def predict(self, features: Matrix, trends: Matrix) -> tuple[Matrix, Matrix]:
        """Mean and standard deviation `[N, outputs]` of `features` `[N, columns]` and `trends` `[N, trend inputs]`."""
        with limit_threads():
            return self._predict(features, trends)

    def _predict(self, features: Matrix, trends: Matrix) -> tuple[Matrix, Matrix]:
        mean = _append_ones(trends) @ self.trend
        apart = scaled_distances(features * self.scaling, self.points)
        deviation = np.empty_like(mean)
        kernels: dict[float, Matrix] = {}
        for output, (scale, inverse, weights, spread) in enumerate(self.models):
            if scale not in kernels:
                kernels[scale] = matern(apart / scale)
            kernel = kernels[scale]
            mean[:, output] += spread * (kernel @ weights)
            left = 1.0 - ((kernel @ inverse) * kernel).sum(axis=1)
            deviation[:, output] = spread * np.sqrt(np.maximum(left, 0.0))
        return mean, deviation


def limit_threads() -> Any:
    """Linear algebra on one thread while the context lasts: the same digits on any number of cores, and no waiting."""
    return _pools().limit(limits=1, user_api="blas")


@cache
def _pools() -> ThreadpoolController:
    return ThreadpoolController()


def fit(features: Matrix, trends: Matrix, targets: Matrix) -> Surrogate:
    """Fit `targets` `[n, outputs]` at `features` `[n, columns]` with trend inputs `[n, q]`; n is at least 2."""
    with limit_threads():
        return _fit(features, trends, targets)


def _fit(features: Matrix, trends: Matrix, targets: Matrix) -> Surrogate:
    spread = features.std(axis=0)
    scaling = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 1e-12)
    points = features * scaling
    design = _append_ones(trends)
    penalty = _RIDGE * np.eye(design.shape[1])
    penalty[0, 0] = 0.0
    trend: Matrix = np.asarray(np.linalg.lstsq(design.T @ design + penalty, design.T @ targets, rcond=None)[0])
    residuals = targets - design @ trend
    apart = scaled_distances(points, points)
    units = np.maximum(residuals.std(axis=0), 1e-12)
    best: list[tuple[float, float, Matrix, Matrix]] = [(-np.inf, 1.0, residuals, residuals)] * targets.shape[1]
    width = float(np.sqrt(max(1, int((scaling > 0).sum()))))
    for scale in _SCALES:
        kernel = matern(apart / (scale * width))
        for noise in _NOISES:
            lower = np.linalg.cholesky(kernel + noise * np.eye(len(points)))
            whitened = np.linalg.solve(lower, residuals / units)
            likelihood = -0.5 * (whitened**2).sum(axis=0) - np.log(np.diag(lower)).sum()
            better = [o for o in range(targets.shape[1]) if likelihood[o] > best[o][0]]
            if better:
                inner = np.linalg.solve(lower, np.eye(len(points)))
                for o in better:
                    best[o] = (float(likelihood[o]), scale * width, inner.T @ inner, inner.T @ whitened[:, o])
    models = tuple((scale, inverse, w, float(unit)) for (_, scale, inverse, w), unit in zip(best, units, strict=True))
    return Surrogate(trend, points, scaling, models)


def _append_ones(trends: Matrix) -> Matrix:
    return np.hstack([np.ones((len(trends), 1)), trends])


def scaled_distances(one: Matrix, other: Matrix) -> Matrix:
    """Euclidean distances `[N, n]` of points `[N, columns]` and `[n, columns]`."""
    squares = (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1)[None, :] - 2.0 * one @ other.T
    out: Matrix = np.sqrt(np.maximum(squares, 0.0))
    return out


def matern(ratio: Matrix) -> Matrix:
    """Matérn kernel with smoothness 5/2 at distances in length scales."""
    root = np.sqrt(5.0) * ratio
    out: Matrix = (1.0 + root + root**2 / 3.0) * np.exp(-root)
    return out
