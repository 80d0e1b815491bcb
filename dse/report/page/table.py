"""The front as a table of HTML, for a page without scripts and for paper; a script puts one that sorts in its place."""

from __future__ import annotations

from collections.abc import Sequence

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.evaluate.spread import spread_indices
from dse.report.counted import counts_samples, unit_of
from dse.report.describe import compare
from dse.report.page.base import MOST_ROWS, Column, escape_html, marks, table, trial_name
from dse.report.reasons import describe_bounds
from dse.report.summary import Summary
from dse.report.units import always_shown, label, scale
from dse.report.values import trial_metrics
from simcore.metrics import METRICS


def front_table(record: StudyRecord, summary: Summary) -> str:
    """At most `MOST_ROWS` designs: numbers in one unit a column, what differs, where time goes."""
    front, marked = summary.front, marks(summary)
    kept = frozenset(index for index, trial in enumerate(front) if trial.number in marked)
    shown = spread_indices(len(front), MOST_ROWS, kept)
    compared = compare([trial.decided_document for trial in front])
    numbers = _numbers(record, front)
    columns = [Column("trial", number=True), *(column for column, _ in numbers)]
    columns += [*(Column(name) for name in compared.columns), Column("time goes to")]
    rows = [
        [
            trial_name(front[at].number, marked.get(front[at].number, "")),
            *(texts[at] for _, texts in numbers),
            *map(escape_html, compared.rows[at]),
            escape_html(describe_bounds(front[at])),
        ]
        for at in shown
    ]
    kinds = ["knee" if front[at].number == summary.knee else "" for at in shown]
    return table("Designs of the front", columns, rows, kinds)


def _numbers(record: StudyRecord, front: Sequence[TrialRecord]) -> list[tuple[Column, list[str]]]:
    """A column for each objective and each metric that is always shown, where any design has it."""
    units = {objective.name: objective.unit for objective in record.objectives}
    measured = [trial_metrics(trial) for trial in front]
    samples = counts_samples(front)
    columns = []
    for name in [*units, *(name for name in always_shown(page=True) if name not in units)]:
        pairs = zip(front, measured, strict=True)
        values = [trial.values.get(name) if name in units else metrics[name] for trial, metrics in pairs]
        if any(value is not None for value in values):
            unit = scale(units.get(name, unit_of(METRICS[name].unit, samples) if name in METRICS else ""), values, name)
            texts = [escape_html(unit.number(value)) for value in values]
            columns.append((Column(label(name), number=True, unit=unit.unit), texts))
    return columns
