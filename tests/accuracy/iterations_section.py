"""Errors on all measured iterations: by device, software and kind of model for `docs/accuracy.md`, and by table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from dse.measured.measured import MeasuredTable, read_table
from dse.measured.validate import Accuracy, Prediction, accuracy, group_by_kind, predict

HERE = Path(__file__).parent
TABLES = (
    *(HERE / "data" / f"{name}.csv" for name in ("a100_multi_node", "a100_single_node", "b200", "megatron_recompute")),
    *sorted((HERE / "iterations").glob("*.csv")),
)
"""Rows that were fitted to and rows that were not."""
FIGURES = "| rows | MAPE | median | bias | order | regret | coverage | width |"

BY_TABLE = """
## Measured iterations by table

Errors of `dse validate` on each table, in percent; the columns are those of [accuracy.md](accuracy.md#the-table). Rows
that no design can express are counted beside those that are compared:

| table | not expressed {figures}
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|
{tables}
{reasons}"""
BY_GROUP = """
| device | software | model {figures}
|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|
{groups}
"""


def iterations_sections() -> tuple[str, str]:
    """Prediction against measurement over all tables: by group, for users; by table, with what was not expressed."""
    tables = {path.stem: read_table(path) for path in TABLES}
    predictions = {name: list(predict(table.rows)) for name, table in tables.items()}
    groups = "\n".join(_groups([p for rows in predictions.values() for p in rows]))
    lines = "\n".join(
        f"| {name} | {len(table.not_expressed) or ''} {_cells(len(predictions[name]), accuracy(predictions[name]))}"
        for name, table in tables.items()
    )
    by_table = BY_TABLE.format(figures=FIGURES, tables=lines, reasons="\n".join(_reasons(tables)))
    return BY_GROUP.format(figures=FIGURES, groups=groups).strip(), by_table.strip() + "\n"


def _groups(predictions: Sequence[Prediction]) -> Iterator[str]:
    for by, group in group_by_kind(predictions):
        of = f"{by['kind']}, {by['precision']}"
        yield f"| {by['device']} | {by['software']} | {of} {_cells(len(group), accuracy(group))}"


def _cells(rows: int, found: Accuracy) -> str:
    order = "" if found.pairwise_order is None else f"{found.pairwise_order:.3f}"
    errors = f"{100 * found.mape:.1f} | {100 * found.median:.1f} | {100 * found.bias:+.1f}"
    covered = "" if found.coverage is None else f"{100 * found.coverage:.0f}"
    width = "" if found.width is None else f"{100 * found.width:.0f}"
    return f"| {rows} | {errors} | {order} | {100 * found.regret_mean:.1f} | {covered} | {width} |"


def _reasons(tables: dict[str, MeasuredTable]) -> Iterator[str]:
    """Why rows are not expressed, most frequent first."""
    counted = Counter((name, row.why) for name, table in tables.items() for row in table.not_expressed)
    if counted:
        yield "\nNot expressed:\n"
    for (name, why), count in counted.most_common():
        yield f"- {name}, {count}: {why}"
