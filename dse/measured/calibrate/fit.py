"""The few numbers that measured iterations decide, by robust least squares; the simulator is the model.

Residuals are logarithms of predicted over measured times. The rows of one hidden size often differ only in how one job
was spread, so each hidden size has one vote, not each row; and a residual beyond `SCALE` pulls with constant force
(soft L1), because runs on a shared cluster are late now and then, never early. A weak prior holds what the table says
nothing about where it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.measured.calibrate.parameters import PARAMETERS, Values, read_parameter, with_values
from dse.measured.measured import MeasuredIteration
from simcore.design.design import Design
from simcore.document.problem import InputError, Problem
from simcore.simulate import simulate

Floats = NDArray[np.float64]

SCALE = 0.05
"""Residual from which on a row pulls with constant force."""
PRIOR = 0.3
"""Weight of the prior: what moving a parameter by a factor e is worth, in residuals of `SCALE`."""
ROWS_A_PARAMETER = 4
"""Fewer rows than this for each parameter are refused."""
STEP = 2e-2
"""Relative step of the differences that stand for derivatives: what overlap costs is rounded to thousandths."""
MARGIN = 0.02
"""How far inside its range, in logarithms, a parameter starts: on its end the fit would not move it."""


@dataclass(frozen=True)
class Sample:
    """A measured row whose NPU has a curve."""

    row: MeasuredIteration
    weight: float

    @property
    def design(self) -> Design:
        """The row's design."""
        return self.row.design

    @property
    def hidden_size(self) -> int:
        """The model's hidden size."""
        return self.row.workload.model.hidden

    def seconds(self, values: Values) -> float:
        """Predicted iteration time with `values` in place of the design's own [s]."""
        return simulate(with_values(self.design, values)).iteration_time_s


def samples(
    rows: Sequence[MeasuredIteration], parameters: int, device: str = "", source: str = "calibration"
) -> list[Sample]:
    """The rows, weighted; `device` and `source` say what they are of, and where they were read.

    Raises `InputError` where there are fewer than `ROWS_A_PARAMETER` for each parameter, or an NPU has no curve.
    """
    problems = []
    if len(rows) < ROWS_A_PARAMETER * parameters:
        of = f" of {device}" if device else ""
        wanted = f"at least {ROWS_A_PARAMETER * parameters} rows{of} for {parameters} parameters"
        problems.append(Problem((), wanted, f"{len(rows)}", "measure more, or name fewer parameters with --fit"))
    without = {row.design.cluster.npu.name for row in rows if row.design.cluster.npu.curve is None}
    problems += [
        Problem(("device",), "an NPU with multiprocessors and a curve to start from", f"'{name}'")
        for name in sorted(without)
    ]
    if problems:
        raise InputError(problems, source)
    return weight_rows(rows)


def weight_rows(rows: Sequence[MeasuredIteration]) -> list[Sample]:
    """Weights the rows so that all rows of one hidden size together count as one."""
    counts = Counter(Sample(row, 1.0).hidden_size for row in rows)
    root = np.array([counts[Sample(row, 1.0).hidden_size] ** -0.5 for row in rows])
    return [Sample(row, float(w)) for row, w in zip(rows, root / root.mean(), strict=True)]


@dataclass(frozen=True)
class Fit:
    """Fitted parameters, and the derivatives of the predictions with respect to them."""

    values: dict[str, float]
    """The fitted parameters by name."""
    predicted: Floats
    """Predicted times of the samples, `[rows]` [s]."""
    slopes: Floats
    """Derivatives of their logarithms by those of the parameters, `[rows, parameters]`."""

    @property
    def names(self) -> tuple[str, ...]:
        """The fitted parameters."""
        return tuple(self.values)


def start_values(chosen: Sequence[Sample], names: Sequence[str]) -> dict[str, float]:
    """The parameters as the first row's device and software have them."""
    return {name: max(read_parameter(chosen[0].design, name), PARAMETERS[name].least) for name in names}


def fit(chosen: Sequence[Sample], start: Values, progress: Callable[[int], object] = lambda count: None) -> Fit:
    """Fit parameters, by name with the values to start from; `progress` hears of every pass over the samples."""
    from scipy.optimize import least_squares

    names = tuple(start)
    origin = np.log([start[name] for name in names])
    weights = np.array([sample.weight for sample in chosen]) / SCALE
    measured = np.log([sample.row.seconds for sample in chosen])
    passes = 0

    def predict_at(point: Floats) -> Floats:
        nonlocal passes
        passes += 1
        progress(passes)
        return predict(chosen, values_at(names, point))

    def residuals_at(point: Floats) -> Floats:
        errors = (np.log(predict_at(point)) - measured) * weights
        return np.concatenate([errors, PRIOR * (point - origin)])

    lower = np.log([PARAMETERS[name].least for name in names])
    upper = np.log([PARAMETERS[name].most for name in names])
    inside = np.clip(origin, lower + MARGIN, upper - MARGIN)
    found = least_squares(
        residuals_at, inside, bounds=(lower, upper), loss="soft_l1", diff_step=[STEP], xtol=1e-3, ftol=1e-3, max_nfev=10
    )
    best = predict_at(found.x)
    slopes = [(np.log(predict_at(found.x + step)) - np.log(best)) / STEP for step in STEP * np.eye(len(names))]
    return Fit(values_at(names, found.x), best, np.stack(slopes, axis=1))


def values_at(names: Iterable[str], point: Floats) -> dict[str, float]:
    """Parameters by name at a point of their logarithms."""
    return {name: float(np.exp(x)) for name, x in zip(names, point, strict=True)}


def predict(chosen: Iterable[Sample], values: Values) -> Floats:
    """Predicted times with `values` [s]."""
    return np.array([sample.seconds(values) for sample in chosen])
