"""Metrics, violations and parameters of many trials as columns, for tables (beside `dse.evaluate.trials.Columns`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.read import finite_or_none, trial_metrics
from dse.evaluate.trial import TrialRecord

Floats = NDArray[np.float64]
EMPTY = object()
"""In place of a parameter that a trial does not have; one may be None."""


@dataclass(frozen=True)
class Cells:
    """Columns of some trials, `[trials]` each; a number that a trial does not have is NaN."""

    metrics: Mapping[str, Floats]
    violations: Mapping[str, Floats]
    params: Mapping[str, NDArray[Any]]
    """Of Python's values, `EMPTY` where a trial has none."""

    @staticmethod
    def of(trials: Sequence[TrialRecord]) -> Cells:
        """The columns of whole trials."""
        count = len(trials)
        measured = [trial_metrics(trial) for trial in trials]
        metrics: dict[str, Floats] = {name: np.full(count, np.nan) for each in measured[:1] for name in each}
        violations: dict[str, Floats] = {}
        params: dict[str, NDArray[Any]] = {}
        for row, (trial, each) in enumerate(zip(trials, measured, strict=True)):
            for name, value in each.items():
                metrics[name][row] = np.nan if value is None else value
            for name, violation in trial.violations.items():
                finite = finite_or_none(violation)
                violations.setdefault(name, np.full(count, np.nan))[row] = np.nan if finite is None else finite
            for name, given in trial.params.items():
                params.setdefault(name, np.full(count, EMPTY, dtype=object))[row] = given
        return Cells(metrics, violations, params)

    @staticmethod
    def join(count: int, pieces: Sequence[tuple[NDArray[np.int64], Cells]]) -> Cells:
        """The columns of `count` trials, of which the pieces have some each, at their places."""
        if len(pieces) == 1 and np.array_equal(pieces[0][0], np.arange(count)):
            return pieces[0][1]

        def joined(which: Callable[[Cells], Mapping[str, NDArray[Any]]], empty: Any, dtype: Any) -> dict[str, Any]:
            found: dict[str, NDArray[Any]] = {}
            for places, cells in pieces:
                for name, column in which(cells).items():
                    found.setdefault(name, np.full(count, empty, dtype=dtype))[places] = column
            return found

        return Cells(
            joined(lambda cells: cells.metrics, np.nan, np.float64),
            joined(lambda cells: cells.violations, np.nan, np.float64),
            joined(lambda cells: cells.params, EMPTY, object),
        )


ReadCells = Callable[[NDArray[np.int64]], Cells]
"""The columns of some rows, in that order."""
