"""Lines of a journal as columns in the making: one for each leaf of them, and one for their shapes.

A leaf has a column for each kind of value that it takes, called by the kind and its place: `float /values/0`. A row
has a value in at most one of them; where its shape has the leaf and no column a value, that is `null`. A line that is
no object of leaves is kept as it is, in the column `line`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dse.study.leaves import WRITTEN, Kind, pointers, read_leaf, split_line

if TYPE_CHECKING:
    import pyarrow as pa

SHAPE, LINE = "shape", "line"
AT_ONCE = 1000
"""Lines whose leaves are held as text."""
_EMPTY: dict[Kind, tuple[str, Any]] = {"int": ("int64", 0), "float": ("float64", 0.0), "bool": ("bool", False)}


@dataclass
class _Column:
    """The values of one kind at one place, `[rows]`; of a text its place in `texts`."""

    values: NDArray[Any]
    known: NDArray[np.bool_]
    texts: dict[str, int] = field(default_factory=dict)

    def array(self, kind: Kind, rows: int) -> pa.Array:
        """The first rows of the column, for a file."""
        import pyarrow as pa

        values = pa.array(self.values[:rows], mask=~self.known[:rows])
        return _repeated(values, self.texts) if kind in WRITTEN else values

    @property
    def repeats(self) -> bool:
        """Whether a list of its different values pays."""
        return len(np.unique(self.values)) * 2 < len(self.values)


def _repeated(places: pa.Array, texts: Iterable[str]) -> pa.Array:
    """A column of texts, as their places among all different ones."""
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(places, pa.array([*texts], pa.string()))


class LineColumns:
    """Columns of up to so many rows."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.rows = 0
        """Rows that are filled."""
        self._columns: dict[tuple[Kind, str], _Column] = {}
        self._places: dict[str, list[str]] = {}
        self._shapes, self._lines = [""] * most, dict[int, str]()

    def fill(self, lines: Iterable[str]) -> None:
        """Put each line into its row, from the first."""
        held: dict[str, tuple[list[int], list[list[str]]]] = {}
        for row, line in enumerate(lines):
            self.rows = row + 1
            found = split_line(line)
            if found is None or not self._has_places(found[0]):
                self._lines[row] = line
                continue
            rows, leaves = held.setdefault(found[0], ([], []))
            rows.append(row)
            leaves.append(found[1])
            if row % AT_ONCE == AT_ONCE - 1:
                self._flush(held)
        self._flush(held)

    def _has_places(self, shape: str) -> bool:
        if shape not in self._places:
            try:
                self._places[shape] = pointers(shape)
            except ValueError:
                return False
        return True

    def _flush(self, held: dict[str, tuple[list[int], list[list[str]]]]) -> None:
        for shape, (rows, leaves) in held.items():
            self._add(shape, rows, leaves)
        held.clear()

    def _add(self, shape: str, rows: Sequence[int], leaves: Sequence[Sequence[str]]) -> None:
        """The leaves of lines with one shape."""
        columns = list(zip(*leaves, strict=True))
        read = [{text: read_leaf(text) for text in set(texts)} for texts in columns]
        for row in rows:
            self._shapes[row] = shape
        where = np.array(rows)
        for place, texts, known in zip(self._places[shape], columns, read, strict=True):
            self._put(place, where, texts, known)

    def _put(self, place: str, where: NDArray[np.int64], texts: Sequence[str], known: dict[str, Any]) -> None:
        kinds = {kind for kind, _ in known.values()} - {"null"}
        for kind in kinds:
            column = self._column(kind, place)
            if kind in WRITTEN:
                for found, value in known.values():
                    if found == kind:
                        column.texts.setdefault(value, len(column.texts))
                known = {t: (k, column.texts[v] if k == kind else v) for t, (k, v) in known.items()}
            if len(known) == 1:
                (value,) = (value for _, value in known.values())
                column.values[where], column.known[where] = value, True
                continue
            of_kind = [at for at, text in enumerate(texts) if known[text][0] == kind]
            rows = where[of_kind]
            column.values[rows] = [known[texts[at]][1] for at in of_kind]
            column.known[rows] = True

    def _column(self, kind: Kind, place: str) -> _Column:
        found = self._columns.get((kind, place))
        if found is None:
            dtype, empty = _EMPTY.get(kind, ("int32", 0))
            found = _Column(np.full(self._most, empty, dtype=dtype), np.zeros(self._most, dtype=bool))
            self._columns[kind, place] = found
        return found

    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """The numbers at each place among the metrics, NaN where there are none."""
        found: dict[str, NDArray[np.float64]] = {}
        for (kind, place), column in self._columns.items():
            if kind in ("int", "float") and place.startswith("/user_attrs/metrics/"):
                values = found.setdefault(place, np.full(self.rows, np.nan))
                known = column.known[: self.rows]
                values[known] = column.values[: self.rows][known]
        return found

    def arrays(self) -> tuple[dict[str, pa.Array], list[str]]:
        """All columns by name, and the names of those that have few different values."""
        import pyarrow as pa

        shapes: dict[str, int] = {}
        codes = [shapes.setdefault(shape, len(shapes)) for shape in self._shapes[: self.rows]]
        # A shape is some kilobytes: as an array of texts they would take more room than all else together.
        arrays: dict[str, pa.Array] = {SHAPE: _repeated(pa.array(codes, pa.int32()), shapes)}
        if self._lines:
            lines = [self._lines.get(row) for row in range(self.rows)]
            arrays[LINE] = pa.array(lines, pa.string()).dictionary_encode()
        repeated = [SHAPE]
        for (kind, place), column in self._columns.items():
            name = f"{kind} {place}"
            arrays[name] = column.array(kind, self.rows)
            if column.repeats:
                repeated.append(name)
        return arrays, repeated
