"""The tables of many trials, written row by row: a study of a million has no room for all of its rows at once.

The CSV comes first, and says what kind of value each column has; the Parquet file is then made of it, group by group,
by Arrow. An empty text cannot be told from an empty cell there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.evaluate.record import StudyRecord
from dse.report.table_blocks import Column, column_blocks, csv_rows, kinds_of
from dse.report.tables import ColumnTable, Row, dtype_of, trials_table, write_csv
from dse.study.files import part_of

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_BYTES = 128 << 10
"""Text of the CSV that is read at once; Arrow reads some thirty such blocks ahead."""
GROUP_ROWS = 10_000
"""Rows of the Parquet file that are a group, at least."""


@dataclass
class _Noted:
    """Rows that note, as they pass, what kinds of values each column has."""

    table: ColumnTable
    kinds: dict[str, set[type]] = field(default_factory=dict)
    large: set[str] = field(default_factory=set)
    """Columns with an integer that 64 bits do not hold."""

    def __iter__(self) -> Iterator[Row]:
        for row in self.table.rows:
            for name, value in row.items():
                if value is not None:
                    self.kinds.setdefault(name, set()).add(type(value))
                    if type(value) is int and abs(value) >= 2**63:
                        self.large.add(name)
            yield row

    def note(self, block: Mapping[str, Column]) -> Mapping[str, Column]:
        """Note a block of columns."""
        for name, column in block.items():
            kinds, large = kinds_of(column)
            self.kinds.setdefault(name, set()).update(kinds)
            if large:
                self.large.add(name)
        return block


def write_trials(record: StudyRecord, csv: Path, parquet: Path) -> None:
    """Write the tables of all trials, each whole or not at all; column by column where no row says more."""
    table = trials_table(record)
    write_tables(table, csv, parquet, None if record.purchase is not None else column_blocks(record))


def write_tables(
    table: ColumnTable, csv: Path, parquet: Path, blocks: Iterator[Mapping[str, Column]] | None = None
) -> None:
    """Write both files, each whole or not at all; of `blocks` of columns instead of rows where they are given."""
    text, packed = part_of(csv), part_of(parquet)
    rows = _Noted(table)
    try:
        with text.open("w", encoding="utf-8", errors="replace", newline="") as out:
            if blocks is None:
                write_csv(ColumnTable(table.columns, rows, table.numbers), out)
            else:
                write_csv(ColumnTable(table.columns, (), table.numbers), out)
                out.writelines(csv_rows(table.columns, rows.note(block)) for block in blocks)
            out.flush()
            os.fsync(out.fileno())
        _write_parquet(text, packed, _schema(table, rows))
        packed.replace(parquet)
        text.replace(csv)
    finally:
        for part in (text, packed):
            part.unlink(missing_ok=True)


def _schema(table: ColumnTable, rows: _Noted) -> pa.Schema:
    """The columns with the types that a small table has (`dse.report.tables.make_frame`)."""
    import pandas as pd
    import pyarrow as pa

    types: dict[str, Any] = {
        name: dtype_of(rows.kinds.get(name, set()), name in table.numbers, name in rows.large) for name in table.columns
    }
    empty = pd.DataFrame({name: pd.Series([], dtype=dtype) for name, dtype in types.items()})
    return pa.Schema.from_pandas(empty, preserve_index=False)


def _write_parquet(text: Path, packed: Path, schema: pa.Schema) -> None:
    from pyarrow import csv, parquet

    read = csv.open_csv(
        text,
        read_options=csv.ReadOptions(block_size=BLOCK_BYTES, column_names=schema.names, skip_rows=1, use_threads=False),
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types=schema,
            null_values=[""],
            strings_can_be_null=True,
            true_values=["true"],
            false_values=["false"],
        ),
    )
    with parquet.ParquetWriter(packed, schema, compression="zstd") as writer:
        for group in _groups(read):
            writer.write_table(group.cast(schema), row_group_size=len(group))


def _groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches, as many together as make `GROUP_ROWS`; the last ones may have fewer."""
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(map(len, held)) >= GROUP_ROWS:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)
