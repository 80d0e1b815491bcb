"""What a fitted NPU says of jobs that it was not fitted to: leave one job, one hidden size, or one device out.

A job is left out by a robust least-squares fit of the model linearised at the fit to all rows, which one job among many
moves little; hidden sizes and devices, which may hold most rows, by a fit of their own. Either way the rows left out
are then simulated. A device is left out by a fit to the rows that the tables have of others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from dse.measured.calibrate.fit import (
    PRIOR,
    ROWS_A_PARAMETER,
    SCALE,
    Fit,
    Floats,
    Sample,
    fit,
    predict,
    read_parameter,
    values_at,
    weight_rows,
    with_values,
)
from dse.measured.measured import MeasuredIteration
from simcore.design.npu import Npu

KINDS: dict[str, Callable[[Sample], Hashable]] = {
    "job": lambda sample: sample.row.job,
    "hidden size": lambda sample: sample.hidden_size,
    "device": lambda sample: sample.design.cluster.npu.name,
}
REWEIGHTINGS = 20


@dataclass(frozen=True)
class HeldOutRows:
    """Rows that were left out together: their places in the table."""

    name: str
    rows: tuple[int, ...]


@dataclass(frozen=True)
class Fold:
    """Predictions of all rows, each by a fit that did not see it, `[rows]` [s]; not a number where there was none."""

    kind: str
    held: tuple[HeldOutRows, ...]
    predicted: Floats


def folds(chosen: Sequence[Sample], kind: str) -> tuple[HeldOutRows, ...]:
    """The rows of each job, hidden size or device; none where there is but one."""
    groups: dict[Hashable, list[int]] = {}
    for i, sample in enumerate(chosen):
        groups.setdefault(KINDS[kind](sample), []).append(i)
    if len(groups) < 2:
        return ()
    names = [str(key) if kind != "job" else f"job {n}" for n, key in enumerate(groups, 1)]
    return tuple(HeldOutRows(name, tuple(rows)) for name, rows in zip(names, groups.values(), strict=True))


def predict_held_out(chosen: Sequence[Sample], whole: Fit, start: Npu, kind: str) -> Fold:
    """Predict every row by a fit without its job, hidden size or device."""
    predicted = np.full(len(chosen), np.nan)
    groups = folds(chosen, kind)
    for group in groups:
        kept = [i for i in range(len(chosen)) if i not in set(group.rows)]
        npu = _step(chosen, whole, start, kept) if kind == "job" else _refit(chosen, whole, start, kept)
        predicted[list(group.rows)] = predict([chosen[i] for i in group.rows], npu)
    return Fold(kind, groups, predicted)


def predict_without_device(
    chosen: Sequence[Sample], others: Sequence[MeasuredIteration], whole: Fit, start: Npu
) -> Fold:
    """Predict every row by a fit to rows of other devices alone; nothing is held where these are too few for one."""
    if len(others) < ROWS_A_PARAMETER * len(whole.names):
        return Fold("device", (), np.full(len(chosen), np.nan))
    held = HeldOutRows(chosen[0].design.cluster.npu.name, tuple(range(len(chosen))))
    return Fold("device", (held,), predict(chosen, fit(weight_rows(others), start, whole.names).npu))


def _refit(chosen: Sequence[Sample], whole: Fit, start: Npu, kept: Sequence[int]) -> Npu:
    return fit([chosen[i] for i in kept], start, whole.names).npu


def _step(chosen: Sequence[Sample], whole: Fit, start: Npu, kept: Sequence[int]) -> Npu:
    """The parameters that fit the rows `kept`, by iteratively reweighted least squares on the linearised model."""
    weights = np.array([chosen[i].weight for i in kept]) / SCALE
    errors = np.log(whole.predicted[list(kept)]) - np.log([chosen[i].row.seconds for i in kept])
    slopes = whole.slopes[list(kept)]
    here = np.log([read_parameter(whole.npu, name) for name in whole.names])
    origin = np.log([read_parameter(start, name) for name in whole.names])
    move = np.zeros(len(whole.names))
    prior = PRIOR * np.eye(len(whole.names))
    for _ in range(REWEIGHTINGS):
        residuals = (errors + slopes @ move) * weights
        robust = (1.0 + residuals**2) ** -0.25  # soft L1: the square root of its derivative by the square
        left = np.vstack([slopes * (weights * robust)[:, None], prior])
        right = np.concatenate([-errors * weights * robust, PRIOR * (origin - here)])
        move = np.linalg.lstsq(left, right, rcond=None)[0]
    return with_values(whole.npu, values_at(whole.names, here + move))
