"""The few numbers of an NPU that measured iterations decide, by robust least squares; the simulator is the model.

What kernels decide is fitted on kernels (`dse.measured.kernels`); iterations say what power limits let last.

Residuals are logarithms of predicted over measured times. The rows of one hidden size often differ only in how one job
was spread, so each hidden size has one vote, not each row; and a residual beyond `SCALE` pulls with constant force
(soft L1), because runs on a shared cluster are late now and then, never early. A weak prior holds what the table says
nothing about where it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.measured.measured import MeasuredIteration
from simcore.design.design import Design
from simcore.design.npu import Npu
from simcore.document.problem import InputError, Problem
from simcore.simulate import simulate

Floats = NDArray[np.float64]

SCALE = 0.05
"""Residual from which on a row pulls with constant force."""
PRIOR = 0.3
"""Weight of the prior: what moving a parameter by a factor e is worth, in residuals of `SCALE`."""
ROWS_A_PARAMETER = 4
"""Fewer rows than this for each parameter are refused."""
MARGIN = 0.02
"""How far inside its range, in logarithms, a parameter starts: on its end the fit would not move it."""
STEP = 2e-3
"""Relative step of the differences that stand for derivatives."""


class Parameter(NamedTuple):
    """A number of an NPU with a curve: its path, the range it may take, and what it means."""

    path: tuple[str, ...]
    least: float
    most: float
    meaning: str


PARAMETERS = {
    "sustained": Parameter(("sustained",), 0.3, 1.0, "share of the peak that the power limit lets runs sustain"),
    "memory": Parameter(("curve", "memory"), 0.1, 1.0, "share of the memory bandwidth that streaming operators reach"),
    "kernel": Parameter(("curve", "kernel"), 1e-7, 2e-5, "time of a streaming operator beyond its bytes [s]"),
    "backward": Parameter(
        ("curve", "attention", "backward"), 0.1, 1.0, "share of the forward rate that attention's backward pass reaches"
    ),
}


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

    def seconds(self, npu: Npu) -> float:
        """Predicted iteration time with the curve and the sustained share of `npu` in place of the NPU's own [s]."""
        cluster = self.design.cluster
        own = cluster.npu.model_copy(update={"curve": npu.curve, "sustained": npu.sustained})
        other = cluster.model_copy(update={"npu": own})
        return simulate(self.design.model_copy(update={"cluster": other})).iteration_time_s


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
    """A fitted NPU, and the derivatives of its predictions with respect to the fitted parameters."""

    npu: Npu
    names: tuple[str, ...]
    predicted: Floats
    """Predicted times of the samples, `[rows]` [s]."""
    slopes: Floats
    """Derivatives of their logarithms by those of the parameters, `[rows, parameters]`."""

    def values(self) -> dict[str, float]:
        """The fitted parameters by name."""
        return {name: read_parameter(self.npu, name) for name in self.names}


def read_parameter(npu: Npu, name: str) -> float:
    """A parameter of an NPU."""
    value: Any = npu
    for key in PARAMETERS[name].path:
        value = getattr(value, key)
    return float(value)


def with_values(npu: Npu, values: dict[str, float]) -> Npu:
    """The NPU with some parameters changed."""
    for name, value in values.items():
        npu = _replaced(npu, PARAMETERS[name].path, value)
    return npu


def _replaced(part: Any, path: tuple[str, ...], value: float) -> Any:
    """A part of a document with the number at a path in it changed."""
    inner = value if len(path) == 1 else _replaced(getattr(part, path[0]), path[1:], value)
    return part.model_copy(update={path[0]: inner})


def fit(
    chosen: Sequence[Sample],
    start: Npu,
    names: Sequence[str],
    progress: Callable[[int], object] = lambda count: None,
) -> Fit:
    """Fit the parameters `names` of `start` to the samples; `progress` hears of every pass over them."""
    from scipy.optimize import least_squares

    origin = np.log([read_parameter(start, name) for name in names])
    weights = np.array([sample.weight for sample in chosen]) / SCALE
    measured = np.log([sample.row.seconds for sample in chosen])
    passes = 0

    def predict_at(point: Floats) -> Floats:
        nonlocal passes
        passes += 1
        progress(passes)
        return predict(chosen, with_values(start, values_at(names, point)))

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
    return Fit(with_values(start, values_at(names, found.x)), tuple(names), best, np.stack(slopes, axis=1))


def values_at(names: Iterable[str], point: Floats) -> dict[str, float]:
    """Parameters by name at a point of their logarithms."""
    return {name: float(np.exp(x)) for name, x in zip(names, point, strict=True)}


def predict(chosen: Iterable[Sample], npu: Npu) -> Floats:
    """Predicted times with the numbers of `npu` [s]."""
    return np.array([sample.seconds(npu) for sample in chosen])
