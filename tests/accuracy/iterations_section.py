"""The summary of `docs/accuracy.md`: errors on all measured iterations, by device, software and kind of model."""

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

TEXT = """
## Measured iterations in short

Errors of `dse validate` on all tables, in percent: the mean of the absolute errors, their median, their mean with its
sign (below zero: predictions are too fast), the order of the designs of a job, regret, the coverage of the intervals,
which are meant to hold 90 %, and their median width as a share of the prediction ([measured.md](measured.md#output)).

| device | software | model {figures}
|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|
{groups}

By table; rows that no design can express are counted beside those that are compared:

| table | not expressed {figures}
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|
{tables}
{reasons}"""


def iterations_section() -> Iterator[str]:
    """Prediction against measurement over all tables: by group, by table, and what could not be expressed."""
    tables = {path.stem: read_table(path) for path in TABLES}
    predictions = {name: list(predict(table.rows)) for name, table in tables.items()}
    groups = "\n".join(_groups([p for rows in predictions.values() for p in rows]))
    lines = "\n".join(
        f"| {name} | {len(table.not_expressed) or ''} {_cells(len(predictions[name]), accuracy(predictions[name]))}"
        for name, table in tables.items()
    )
    reasons = "\n".join(_reasons(tables))
    yield from TEXT.format(figures=FIGURES, groups=groups, tables=lines, reasons=reasons).lstrip().splitlines()
    yield ""


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
