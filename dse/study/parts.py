"""`journal.NNNNN.parquet`: a part of a journal that is full, its lines as columns (`dse.study.columns_of_lines`).

The whole of it can be read again as lines, to the byte, and single columns without the rest. A part is data of anybody:
its schema, its size and every value that is used are checked, and nothing in it is ever run or unpickled.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dse.study.columns_of_lines import LINE, SHAPE, LineColumns
from dse.study.derived import JOB, METRIC, Derived, read_places
from dse.study.files import part_of, synchronise_folder
from dse.study.leaves import GAP, WRITTEN, Kind, pointers, template, text_of, write_leaf
from dse.study.optuna_file import seal, unseal
from simcore.document.problem import InputError, Problem

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

PART = "journal.{:05d}.parquet"
_NAME = re.compile(r"journal\.(\d{5})\.parquet")
FORM = 1
"""Version of the files; another number where they mean something else."""
MOST_ROWS, MOST_COLUMNS, MOST_BYTES, MOST_SHAPE = 200_000, 20_000, 4 << 30, 4 << 20
"""What a part may have: rows, columns, bytes when it is unpacked, letters of a shape. This program writes a tenth."""
_KINDS: tuple[Kind, ...] = ("int", "float", "bool", *WRITTEN)
FIX = "take the file out of the folder: --resume evaluates its trials again"


def part_paths(folder: Path) -> list[Path]:
    """The parts of a journal, in order."""
    return sorted(path for path in folder.glob("journal.*.parquet") if _NAME.fullmatch(path.name))


def free_part(folder: Path) -> Path:
    """The name of a part that there is not yet, the first one."""
    number = 0
    while (path := folder / PART.format(number)).exists():
        number += 1
    return path


def missing_parts(paths: Sequence[Path]) -> list[str]:
    """Names of parts that are not there though later ones are."""
    known = {path.name for path in paths}
    last = max((int(path.name.split(".")[1]) for path in paths), default=-1)
    return [name for number in range(last) if (name := PART.format(number)) not in known]


def write_part(
    path: Path, lines: Iterable[bytes], most: int, told: Mapping[str, Any], beside: Derived | None = None
) -> None:
    """Write a part of up to `most` sound lines, which is there afterwards whatever happens, or is not.

    `told` is kept in it (`JournalPart.told`): anything that JSON can say. `beside` are the metrics of the lines'
    trials, which have been added when the lines have been gone through.
    """
    import pyarrow as pa
    from pyarrow import parquet

    columns = LineColumns(most)
    columns.fill(unseal(line).decode() for line in lines)
    arrays, repeated = columns.arrays()
    more, places = ({}, None) if beside is None else beside.arrays(columns)
    arrays |= more
    noted = json.dumps({"form": FORM, **({} if places is None else {"metrics": places}), **told})
    table = pa.table(arrays)
    plain = [name for name in arrays if name not in repeated]
    floats = [name for name in plain if name.startswith(("float ", METRIC))]
    hidden = part_of(path)
    try:
        with hidden.open("wb") as file:
            with parquet.ParquetWriter(
                file,
                table.schema,
                compression="zstd",
                compression_level=6,
                use_dictionary=repeated,
                use_byte_stream_split=floats,
                write_statistics=False,
                write_page_checksum=True,
                store_schema=False,
            ) as writer:
                writer.add_key_value_metadata({"dse": noted})
                writer.write_table(table, row_group_size=most)
            file.flush()
            os.fsync(file.fileno())
        hidden.replace(path)
        synchronise_folder(path.parent)
    finally:
        hidden.unlink(missing_ok=True)


class JournalPart:
    """A part of a journal, open for reading. Raises `InputError` where the file is not what `write_part` writes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with _Explained(path), self._open() as file:  # what Arrow knows of an open file is half a megabyte
            self.told: Mapping[str, Any] = self._check(file)
            self.rows = int(file.metadata.num_rows)

    def _open(self, texts: Sequence[str] = ()) -> parquet.ParquetFile:
        """The file; columns of `texts` are read as places in a list of them."""
        from pyarrow import parquet

        return parquet.ParquetFile(
            self.path,
            read_dictionary=[*texts],
            page_checksum_verification=True,
            thrift_string_size_limit=64 << 20,
            thrift_container_size_limit=1 << 20,
        )

    def _check(self, file: parquet.ParquetFile) -> Mapping[str, Any]:
        import pyarrow as pa

        found = file.metadata
        told = json.loads((found.metadata or {}).get(b"dse", b"{}"))
        if not isinstance(told, dict) or told.get("form") != FORM:
            raise ValueError(f"a file of another form ({told.get('form') if isinstance(told, dict) else told})")
        size = sum(found.row_group(group).total_byte_size for group in range(found.num_row_groups))
        if found.num_rows > MOST_ROWS or found.num_columns > MOST_COLUMNS or size > MOST_BYTES:
            raise ValueError(f"{found.num_rows} rows, {found.num_columns} columns, {size} bytes")
        types = {"int": pa.int64(), "float": pa.float64(), "bool": pa.bool_(), METRIC: pa.float64(), JOB: pa.int64()}
        for column in file.schema_arrow:
            kind = column.name.partition(" ")[0]
            if column.type != types.get(kind, pa.string()) or kind not in (*_KINDS, METRIC, JOB, SHAPE, LINE):
                raise ValueError(f"a column '{column.name[:80]}' of {column.type}")
        self.names = tuple(file.schema_arrow.names)
        if SHAPE not in self.names or len(set(self.names)) < len(self.names):
            raise ValueError("no shapes, or a column twice")
        return told

    def read(self, names: Sequence[str]) -> pa.Table:
        """Some columns, texts as places in a list of them."""
        texts = [name for name in names if name.partition(" ")[0] in (*WRITTEN, SHAPE, LINE)]
        with _Explained(self.path), self._open(texts) as file:
            table = file.read(columns=[*names], use_threads=False).select([*names]).combine_chunks()
            if table.num_rows != self.rows:
                raise ValueError(f"{table.num_rows} rows in a file of {self.rows}")
        return table

    def read_numbers(self) -> NDArray[np.int64]:
        """Numbers of its trials, `[rows]`."""
        name = "int /user_attrs/number"
        with _Explained(self.path):
            column = self.read([name]).column(0)
            if column.null_count:
                raise ValueError("a trial without a number")
            found: NDArray[np.int64] = column.to_numpy()
            if len(found) and found.min() < 0:
                raise ValueError("a trial with a negative number")
        return found

    def read_keys(self) -> list[str]:
        """Keys of its designs, as they are written."""
        with _Explained(self.path):
            column = self.read(["text /user_attrs/key"]).column(0)
            if column.null_count:
                raise ValueError("a trial without a key")
        return column.to_pylist()  # type: ignore[no-any-return]

    def figures(self, place: str) -> NDArray[np.float64]:
        """The numbers at a place of each trial (`dse.study.leaves.pointers`), NaN where it has none, `[rows]`."""
        found = np.full(self.rows, np.nan)
        names = [name for kind in ("int", "float") if (name := f"{kind} {place}") in self.names]
        with _Explained(self.path):
            for column in self.read(names).columns if names else ():
                values = column.to_numpy(zero_copy_only=False).astype(np.float64)
                known = column.is_valid().to_numpy()
                found[known] = values[known]
        return found

    def plain(self, name: str) -> tuple[NDArray[np.bool_], NDArray[Any]]:
        """A column of numbers, or of true and false: which trials have a value there, and the values, `[rows]`."""
        if name not in self.names:
            return np.zeros(self.rows, dtype=bool), np.zeros(self.rows)
        with _Explained(self.path):
            column = self.read([name]).column(0)
            filled = column.fill_null(False if name.startswith("bool ") else 0)
            return column.is_valid().to_numpy(), filled.to_numpy(zero_copy_only=False)

    @cached_property
    def derived(self) -> dict[str, str | None] | None:
        """Where the metrics stand (`dse.study.derived`); None where the part has not all that there are now."""
        return read_places(self.told.get("metrics")) if JOB in self.names else None

    def metric(self, name: str) -> NDArray[np.float64]:
        """A metric of each trial, where there are `derived` ones; NaN where a trial has none, `[rows]`."""
        place = (self.derived or {}).get(name)
        if place is not None:
            return self.figures(place)
        column = f"{METRIC} {name}"
        if column not in self.names:
            return np.full(self.rows, np.nan)
        with _Explained(self.path):
            found: NDArray[np.float64] = self.read([column]).column(0).to_numpy(zero_copy_only=False)
        return found

    def jobs(self) -> NDArray[np.uint64]:
        """The digest of the job of each trial, where there are `derived` ones, `[rows]`."""
        with _Explained(self.path):
            found = self.read([JOB]).column(0).fill_null(0).to_numpy()
        return np.ascontiguousarray(found).view(np.uint64)

    def shapes(self) -> tuple[NDArray[np.int32], list[dict[str, list[str]]]]:
        """Which shape each trial has, `[rows]`; of each shape the places, by the two keys above them.

        `{"/user_attrs/params": [...]}` has the whole places below that, in the order of the line.
        """
        with _Explained(self.path):
            column = self.read([SHAPE]).column(0).chunk(0)
            codes = column.indices.fill_null(-1).to_numpy().astype(np.int32)
            found = []
            for shape in column.dictionary.to_pylist():
                by_head: dict[str, list[str]] = {}
                for place in _checked_places(shape):
                    by_head.setdefault("/".join(place.split("/")[:3]), []).append(place)
                found.append(by_head)
        return codes, found

    def words(self, place: str, kind: Kind = "text") -> tuple[NDArray[np.int32], list[Any]]:
        """The text at a place of each trial, `[rows]`: which of those that it comes with, -1 where there is none.

        Of the kind `raw`, the number.
        """
        name = f"{kind} {place}"
        if name not in self.names:
            return np.full(self.rows, -1, dtype=np.int32), []
        with _Explained(self.path):
            column = self.read([name]).column(0).chunk(0)
            codes = column.indices.fill_null(-1).to_numpy().astype(np.int32)
            read = text_of if kind == "text" else json.loads
            return codes, [read(text) for text in column.dictionary.to_pylist()]

    def lines(self, rows: NDArray[np.int64] | None = None) -> list[bytes]:
        """The lines of some rows, in that order; of all."""
        with _Explained(self.path):
            table = self._table if rows is None else self._table.take(rows)
            return [seal(line.encode()) for line in _lines(table)]

    @cached_property
    def _table(self) -> pa.Table:
        return self.read([name for name in self.names if not name.startswith((METRIC, JOB))])

    def forget(self) -> None:
        """Hold no rows any more; they are read again when they are asked for."""
        import pyarrow as pa

        if self.__dict__.pop("_table", None) is not None:
            pa.default_memory_pool().release_unused()  # else each part that is read leaves some of it behind


def _lines(table: pa.Table) -> Iterator[str]:
    shapes = table.column(SHAPE).to_pylist()
    whole = table.column(LINE).to_pylist() if LINE in table.column_names else [None] * len(shapes)
    leaves: dict[str, list[str]] = {}
    for name in table.column_names:
        kind, _, place = name.partition(" ")
        if kind in _KINDS:
            _merge(leaves, place, [None if v is None else write_leaf(kind, v) for v in table.column(name).to_pylist()])
    nothing = ["null"] * len(shapes)
    known: dict[str, tuple[str, list[list[str]]]] = {}
    for row, (shape, line) in enumerate(zip(shapes, whole, strict=True)):
        if line is not None:
            yield line
            continue
        if shape not in known:
            known[shape] = template(shape), [leaves.get(place, nothing) for place in _checked_places(shape)]
        form, columns = known[shape]
        yield form % tuple([column[row] for column in columns])


def _checked_places(shape: str | None) -> list[str]:
    if shape is None or len(shape) > MOST_SHAPE or shape.count(GAP) > MOST_COLUMNS:
        raise ValueError("a shape that is none, or too large")
    return pointers(shape)


def _merge(leaves: dict[str, list[str]], place: str, found: list[str | None]) -> None:
    """Leaves of one more kind at a place."""
    before = leaves.get(place)
    leaves[place] = [
        text if text is not None else "null" if before is None else before[row] for row, text in enumerate(found)
    ]


class _Explained:
    """Says which file it is, and what to do, where a part cannot be read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Nothing to begin with."""

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        """Arrow's errors are `ValueError` or `OSError`, too, or `ArrowException`."""
        if error is None or isinstance(error, InputError) or not isinstance(error, Exception):
            return
        said = " ".join(str(error).split())[:200]
        problem = Problem((), "a part of a journal as dse optimize writes it", f"what cannot be read ({said})", FIX)
        raise InputError([problem], str(self._path)) from None
