"""Cells of the trials of a journal: of a part from its columns, of what it lacks and of lines from whole trials."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.cells import EMPTY, Cells
from dse.evaluate.trial import TrialRecord
from dse.evaluate.trials import Rows
from dse.run.part_columns import PARAMS, PartColumns
from dse.study.derived import metric_names
from dse.study.kept import split_by_owner
from dse.study.leaves import WRITTEN, pointer_text
from dse.study.stored import StoredTrial


class JournalCells:
    """The cells of trials by their rows in a journal: those of the parts, and then of the lines."""

    def __init__(
        self,
        parts: Sequence[PartColumns | None],
        starts: Rows,
        read: Callable[[Rows], Sequence[StoredTrial]],
        record: Callable[[StoredTrial], TrialRecord],
    ) -> None:
        """`parts` are those that have columns; `starts` where each begins, and where the lines do, `[parts + 1]`."""
        self._parts, self._starts, self._read, self._record = parts, starts, read, record
        self._held: tuple[int, Cells] | None = None
        """The cells of the part that was asked for last."""

    def cells(self, rows: Rows) -> Cells:
        """The cells of some rows, in that order."""
        pieces = []
        for owner, where in split_by_owner(self._starts, rows):
            part = self._parts[owner] if owner < len(self._parts) else None
            if part is None:
                found = Cells.of([self._record(stored) for stored in self._read(rows[where])])
            else:
                its = rows[where] - self._starts[owner]
                found = _at(self._of_part(owner, part), its)
                if its.max() == part.part.rows - 1:
                    self._held = None  # whoever goes through the trials in order is done with it
            pieces.append((where, found))
        return Cells.join(len(rows), pieces)

    def _of_part(self, owner: int, part: PartColumns) -> Cells:
        if self._held is None or self._held[0] != owner:
            self._held = None  # before the others take their room
            found = Cells(
                {name: _finite(part.part.metric(name)) for name in metric_names()},
                {name: _finite(column) for name, column in part.violations().items()},
                {name: _param(part, name) for name in part.names(PARAMS, f"{PARAMS}/")},
            )
            self._held = owner, found
        return self._held[1]


def _at(cells: Cells, rows: Rows) -> Cells:
    return Cells(
        {name: column[rows] for name, column in cells.metrics.items()},
        {name: column[rows] for name, column in cells.violations.items()},
        {name: column[rows] for name, column in cells.params.items()},
    )


def _finite(column: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isfinite(column), column, np.nan)


def _param(columns: PartColumns, name: str) -> NDArray[Any]:
    """The values of a parameter, which may be of several kinds."""
    place = f"{PARAMS}/{pointer_text(name)}"
    found = np.full(columns.part.rows, EMPTY, dtype=object)
    found[columns.has_place(place)] = None
    for kind in ("int", "float", "bool"):
        known, values = columns.part.plain(f"{kind} {place}")
        found[known] = np.array(values.tolist(), dtype=object)[known]
    for kind in WRITTEN:
        codes, texts = columns.part.words(place, kind)
        known = codes >= 0
        found[known] = np.array([*texts, None], dtype=object)[codes[known]]
    return found
