"""What tables and reports ask of every trial beside its line: its metrics, and the digest of its job.

They are calculated once, when a part is sealed, because a million trials cannot be read whole for that. Most metrics
are numbers that the lines have anyway. Those have no column of their own: `told` says where they stand.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.read import trial_metrics
from dse.evaluate.trials import job_digest
from dse.study.columns_of_lines import LineColumns
from dse.study.stored import StoredTrial
from simcore.metrics import METRICS

if TYPE_CHECKING:
    import pyarrow as pa

METRIC, JOB = "metric", "job"
"""Kinds of the columns. That of jobs has the bits of `dse.evaluate.trials.job_digest` as a signed number."""


def metric_names() -> tuple[str, ...]:
    """The metrics that tables have of every trial."""
    return tuple(name for name, metric in METRICS.items() if not metric.costly)


class Derived:
    """The metrics and jobs of trials, row by row."""

    def __init__(self) -> None:
        self._names = metric_names()
        self._rows, self._values, self._jobs = array("q"), array("d"), array("Q")

    def add(self, stored: StoredTrial) -> None:
        """The next row."""
        outcome = stored.outcome
        plain = outcome.design is not None and not outcome.workloads
        self._jobs.append(job_digest(outcome.design) if plain else 0)
        if outcome.metrics is not None or outcome.workloads:
            found = trial_metrics(stored.record())
            self._rows.append(len(self._jobs) - 1)
            self._values.extend(np.nan if (value := found[name]) is None else value for name in self._names)

    def arrays(self, lines: LineColumns) -> tuple[dict[str, pa.Array], dict[str, str | None]]:
        """The columns that are none of the lines', and for each metric the place of its column there."""
        import pyarrow as pa

        table = np.full((len(self._jobs), len(self._names)), np.nan)
        table[np.array(self._rows, dtype=np.int64)] = np.array(self._values).reshape(-1, len(self._names))
        numbers = lines.numbers()
        jobs = np.array(self._jobs, dtype=np.uint64).view(np.int64)
        arrays: dict[str, pa.Array] = {JOB: pa.array(jobs)}
        places: dict[str, str | None] = {}
        for name, column in zip(self._names, table.T, strict=True):
            places[name] = _same(np.ascontiguousarray(column), numbers)
            if places[name] is None and not np.isnan(column).all():
                arrays[f"{METRIC} {name}"] = pa.array(column, mask=np.isnan(column))
        return arrays, places


def _same(column: NDArray[np.float64], numbers: dict[str, NDArray[np.float64]]) -> str | None:
    for place, other in numbers.items():
        if np.array_equal(column, other, equal_nan=True):
            return place
    return None


def read_places(told: Any) -> dict[str, str | None] | None:
    """Where a part says that its metrics stand; None where it does not say it of all that there are now."""
    if not isinstance(told, dict):
        return None
    known = {name: place for name, place in told.items() if place is None or isinstance(place, str)}
    return known if set(metric_names()) <= set(known) else None
