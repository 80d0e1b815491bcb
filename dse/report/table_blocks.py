"""The table of all trials of a large study as blocks of columns: the cells that a row of `dse.report.tables` has.

Of a study whose designs are its trials; where clusters are bought for workloads, rows say more, and are made one by
one.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.cells import EMPTY
from dse.evaluate.record import StudyRecord
from dse.evaluate.trials import Trials
from dse.report.tables import HYPOTHETICAL, Names, format_text, one_line
from dse.report.values import to_plain

AT_ONCE = 4_000
Column = NDArray[Any] | Sequence[Any]
"""Floats, NaN where a cell is empty; or Python's values, `EMPTY` where it is."""


def column_blocks(record: StudyRecord) -> Iterator[dict[str, Column]]:
    """The columns of some trials after the other, by name; one that is missing is empty."""
    names = Names.of(record)
    for start in range(0, len(record.trials), AT_ONCE):
        yield _columns(record, record.trials.select(np.arange(start, min(start + AT_ONCE, len(record.trials)))), names)


def _columns(record: StudyRecord, trials: Trials, names: Names) -> dict[str, Column]:
    cells = trials.cells()
    simulated = trials.is_state("feasible", "infeasible")
    found: dict[str, Column] = {"number": trials.numbers.tolist(), "state": _texts(trials, "state")}
    for name in names.objectives:
        values = trials.values(name)
        found[name] = np.where(simulated & np.isfinite(values), values, np.nan)
    found |= {name: cells.metrics[name] for name in names.metrics}
    broken = [*cells.violations.values()]
    found["violation"] = np.fmax.reduce(broken) if broken else np.full(len(trials), np.nan)
    found |= {names.constraints[name]: column for name, column in cells.violations.items()}
    found |= {"cut_by": _texts(trials, "cut_by"), "error": _texts(trials, "error")}
    found |= {names.params[name]: column.tolist() for name, column in cells.params.items()}
    if record.hypothetical:
        found[HYPOTHETICAL] = [True] * len(trials)
    return found


def _texts(trials: Trials, name: str) -> list[Any]:
    known = np.array([*trials.texts(name), EMPTY], dtype=object)
    return known[trials.codes(name)].tolist()  # type: ignore[no-any-return]


def kinds_of(column: Column) -> tuple[set[type], bool]:
    """The types of the values of a column, and whether one is an integer that 64 bits do not hold."""
    if isinstance(column, np.ndarray):
        return (set() if np.isnan(column).all() else {float}), False
    found = set(map(type, column)) - {type(EMPTY), type(None)}
    return found, int in found and any(type(value) is int and abs(value) >= 2**63 for value in column)


def texts_of(column: Column) -> list[str]:
    """The cells of a column as CSV has them, quoted where they have to be."""
    if isinstance(column, np.ndarray):
        return _texts_of_floats(column)
    kinds = set(map(type, column)) - {type(EMPTY), type(None)}
    if len(kinds) > 1 or not kinds <= {int, float, bool, str}:  # 1, 1.0 and True are one key
        return [_text(value) for value in column]
    known = {value: _text(value) for value in set(column)}
    return [known[value] for value in column]


def _text(value: Any) -> str:
    return "" if value is EMPTY else quoted(one_line(format_text(to_plain(value))))


def _texts_of_floats(column: NDArray[np.float64]) -> list[str]:
    values, places = np.unique(column, return_inverse=True)  # NaN is one value there
    if 2 * len(values) < len(column) and not (np.signbit(column) & (column == 0)).any():
        texts = np.array(["" if value != value else repr(value) for value in values.tolist()], dtype=object)
        return texts[places].tolist()  # type: ignore[no-any-return]
    return ["" if value != value else repr(value) for value in column.tolist()]


def quoted(text: str) -> str:
    """A cell as Python's `csv` writes it."""
    if not any(letter in text for letter in ',"\n\r'):
        return text
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow([text])
    return out.getvalue()


def csv_rows(columns: Sequence[str], block: Mapping[str, Column]) -> str:
    """The rows of a block, each with its end."""
    count = len(block["number"])
    empty = [""] * count
    cells = [texts_of(block[name]) if name in block else empty for name in columns]
    return "".join(f"{','.join(row)}\n" for row in zip(*cells, strict=True))
