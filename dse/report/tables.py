"""`trials.csv`, `trials.parquet`, `pareto.csv`: one row a trial, one column a thing that is known about it.

Columns are: number, state, the objectives, every other metric of `simcore.metrics.METRICS`, the largest violation and
one column per constraint, `cut_by`, `error`, then the parameters by path in order of first appearance; `hypothetical`
where clusters may be ones that nobody sells (`orderable` is 0 where one is). Where a cluster is bought for several
workloads, `NAME: …` has each one's state, objectives, regrets and software; `future NAME: …` has the tuned metric and
the regrets of a future, `worst regret` that of all. All numbers are SI.
The objectives of a cut trial are empty: what is known of them are bounds, not values. Nothing in the tables depends on
when, where, or by how many workers the study ran.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from dse.evaluate.cells import EMPTY
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.evaluate.trials import Trials
from dse.report.families import families
from dse.report.futures import future_cells
from dse.report.robustness import Robustness, robustness
from dse.report.summary import Summary
from dse.report.values import cell, finite_or_none, to_plain, trial_metrics
from dse.report.workloads import workload_cells
from dse.whatif.answers import FACTORS
from simcore.metrics import METRICS

if TYPE_CHECKING:
    import pandas as pd

Row = Mapping[str, Any]


class Rows(Protocol):
    """Rows that can be gone through as often as one likes, and need not be held."""

    def __iter__(self) -> Iterator[Row]: ...


@dataclass(frozen=True, slots=True)
class TrialRows:
    """The rows of trials, each made when it is its turn."""

    trials: Trials
    row: Callable[[TrialRecord], Row]

    def __iter__(self) -> Iterator[Row]:
        return map(self.row, self.trials)


@dataclass(frozen=True, slots=True)
class ColumnTable:
    """Named columns in order, and rows of plain values; a key missing from a row is an empty cell."""

    columns: tuple[str, ...]
    rows: Rows
    numbers: frozenset[str]
    """Columns that hold floats, also where all their cells are empty."""


def trials_table(record: StudyRecord) -> ColumnTable:
    """Every trial, in order."""
    make, columns, numbers = _row_maker(record)
    return ColumnTable(columns, TrialRows(record.trials, make), numbers)


def _row_maker(record: StudyRecord) -> tuple[Callable[[TrialRecord], Row], tuple[str, ...], frozenset[str]]:
    """What makes the row of a trial; the columns; those of floats."""
    names = Names.of(record)
    futures = future_cells(record)
    workloads = {number: {**futures.get(number, {}), **cells} for number, cells in workload_cells(record).items()}
    said: Row = {HYPOTHETICAL: True} if record.hypothetical else {}
    columns = tuple(dict.fromkeys(name for cells in (said, *workloads.values()) for name in cells))

    def row(trial: TrialRecord) -> Row:
        return {**names.row(trial), **said, **workloads.get(trial.number, {})}

    return row, (*names.columns, *columns), names.numbers


def pareto_table(record: StudyRecord, summary: Summary) -> ColumnTable:
    """The members of the front in its order: `rank` and `family` (from 1), knee, how sure, ties, how far behind."""
    make, columns, numbers = _row_maker(record)
    robust = robustness(summary)
    found = families(record, summary)
    family = {number: place for place, family in enumerate(found, start=1) for number in family.trials}
    rows = tuple(
        {
            **make(trial),
            "rank": rank,
            "knee": trial.number == summary.knee,
            FAMILY: family[trial.number],
            **_robust_cells(robust.get(trial.number)),
            **({} if behind is None else {BEHIND: behind}),
            **({} if summary.ties is None else {TIES: " ".join(map(str, summary.ties[trial.number]))}),
        }
        for rank, (trial, behind) in enumerate(zip(summary.front, summary.behind, strict=True), start=1)
    )
    columns = (*columns, "rank", "knee", FAMILY, *ROBUST, TIES, BEHIND)
    return ColumnTable(columns, rows, numbers | {*SURE, BEHIND})


SURE = ("on front", "regret", "regret p90", "time low", "time high")
ROBUST = (*SURE, *(f"robust: batch x{factor:g}" for factor in FACTORS))
FAMILY, TIES, HYPOTHETICAL = "family", "ties", "hypothetical"
BEHIND = "behind at most"


def _robust_cells(found: Robustness | None) -> Row:
    """Cells of the front's own columns (see `dse.report.robustness`)."""
    if found is None:
        return {}
    known: dict[str, Any] = {}
    if found.sure is not None:
        ends = found.sure.interval or (None, None)
        values = (found.sure.on_front, found.sure.regret, found.sure.regret_p90, *ends)
        known |= dict(zip(SURE, map(finite_or_none, values), strict=True))
    known |= {f"robust: batch x{at.factor:g}": at.stays for at in found.batches}
    return {name: value for name, value in known.items() if value is not None}


def csv_text(table: ColumnTable) -> str:
    """The table as CSV: `\\n` line ends, floats in their shortest exact form, `true` and `false`, empty for nothing."""
    out = io.StringIO()
    write_csv(table, out)
    return out.getvalue()


def write_csv(table: ColumnTable, out: TextIO) -> None:
    """Write the table as `csv_text` gives it, row by row."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([one_line(column) for column in table.columns])
    for row in table.rows:
        writer.writerow([one_line(format_text(row[name])) if name in row else "" for name in table.columns])


def parquet_bytes(table: ColumnTable) -> bytes:
    """The table as Parquet."""
    out = io.BytesIO()
    make_frame(table).to_parquet(out, engine="pyarrow", index=False)
    return out.getvalue()


def make_frame(table: ColumnTable) -> pd.DataFrame:
    """The table as a data frame with nullable types; a column of mixed types becomes text."""
    import pandas as pd

    cells: dict[str, list[Any]] = {name: [] for name in table.columns}
    for row in table.rows:
        for name, column in cells.items():
            column.append(row.get(name, EMPTY))
    return pd.DataFrame({name: _series(values, name in table.numbers) for name, values in cells.items()})


@dataclass(frozen=True, slots=True)
class Names:
    """Names of the columns, by kind; `params` and `constraints` map a name in the record to that of its column."""

    objectives: tuple[str, ...]
    metrics: tuple[str, ...]
    constraints: Mapping[str, str]
    params: Mapping[str, str]

    @classmethod
    def of(cls, record: StudyRecord) -> Names:
        """The columns of a study; a parameter whose path is already a column is told apart by `params.`."""
        objectives = tuple(objective.name for objective in record.objectives)
        others = tuple(name for name, metric in METRICS.items() if name not in objectives and not metric.costly)
        violations = record.trials.violations
        constraints = {name: f"violation: {name}" for name in violations}
        taken = {"number", "state", "violation", "cut_by", "error", "rank", "knee", FAMILY, TIES, BEHIND, *ROBUST}
        taken |= {*objectives, *others, *constraints.values()}
        params = record.trials.params
        return cls(objectives, others, constraints, {p: f"params.{p}" if p in taken else p for p in params})

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns in order."""
        what = ("number", "state", *self.objectives, *self.metrics, "violation", *self.constraints.values())
        return (*what, "cut_by", "error", *self.params.values())

    @property
    def numbers(self) -> frozenset[str]:
        """Columns of floats."""
        return frozenset({*self.objectives, *self.metrics, "violation", *self.constraints.values()})

    def row(self, trial: TrialRecord) -> Row:
        """The cells of one trial that are not empty."""
        measured = trial_metrics(trial)
        cells: dict[str, Any] = {"number": trial.number, "state": trial.state}
        if trial.state in ("feasible", "infeasible"):
            cells |= {name: finite_or_none(trial.values.get(name)) for name in self.objectives}
        cells |= {name: measured[name] for name in self.metrics}
        violations = {name: finite_or_none(value) for name, value in trial.violations.items()}
        cells["violation"] = max((value for value in violations.values() if value is not None), default=None)
        cells |= {self.constraints[name]: value for name, value in violations.items()}
        cells |= {"cut_by": trial.cut_by, "error": trial.error}
        known = {name: value for name, value in cells.items() if value is not None}
        return known | {self.params[path]: to_plain(value) for path, value in trial.params.items()}


def format_text(value: Any) -> str:
    """A cell as text."""
    return repr(value) if isinstance(value, float) else cell(value)


def one_line(text: str) -> str:
    """A text with one kind of line end."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def dtype_of(kinds: set[type], is_number: bool, is_large: bool) -> str:
    """The nullable type of a column with such kinds of values; `is_large`: one is no integer of 64 bits."""
    if kinds == {bool}:
        return "boolean"
    if kinds == {int} and not is_large:
        return "Int64"
    return "Float64" if is_number or (kinds and kinds <= {int, float}) else "string"


def _series(cells: list[Any], is_number: bool) -> pd.Series[Any]:
    import pandas as pd

    values = [None if value is EMPTY else value for value in cells]
    kinds = {type(value) for value in values if value is not None}
    is_large = kinds == {int} and any(value is not None and abs(value) >= 2**63 for value in values)
    dtype = dtype_of(kinds, is_number, is_large)
    if dtype == "string":
        values = [None if value is EMPTY else format_text(value) for value in cells]
    return pd.Series(values, dtype=dtype)
