"""The front as an HTML table: numbers in one unit a column, what differs, where time goes; a heading sorts."""

from __future__ import annotations

from collections.abc import Sequence

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.counted import counts_samples, unit_of
from dse.report.describe import Comparison
from dse.report.page.base import escape_html
from dse.report.reasons import describe_bounds
from dse.report.summary import Summary
from dse.report.units import MISSING, always_shown, format_number, label, scale, shorten_text
from dse.report.values import trial_metrics
from simcore.metrics import METRICS

_MOST_TIES = 2
"""Ties that a cell lists; more are counted."""


def front_table(record: StudyRecord, summary: Summary, compared: Comparison) -> str:
    """The table; the row of the knee has the class `knee`."""
    columns = [_trials(summary), *_numbers(record, summary.front), *_ties(summary)]
    columns += [*_differing_columns(compared), _reasons(summary.front)]
    head = "".join(column.head for column in columns)
    rows = []
    for index, trial in enumerate(summary.front):
        knee = " class='knee'" if trial.number == summary.knee else ""
        rows.append(f"<tr{knee}>{''.join(column.cells[index] for column in columns)}</tr>")
    return f"<table class='sortable'><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


class _PageColumn:
    """A heading and its cells; `values` are what the column sorts by, `classes` how it is set."""

    def __init__(
        self, title: str, unit: str, texts: Sequence[str], values: Sequence[float | str | None], classes: str = ""
    ) -> None:
        below = f"<small>{escape_html(unit)}</small>" if unit else ""
        kind = f" class='{classes}'" if classes else ""
        self.head = f"<th{kind}><button type='button'>{escape_html(title)}{below}</button></th>"
        pairs = zip(texts, values, strict=True)
        self.cells = [f"<td{kind} data-v='{escape_html('' if v is None else v)}'>{text}</td>" for text, v in pairs]


def _trials(summary: Summary) -> _PageColumn:
    numbers = [trial.number for trial in summary.front]
    texts = []
    for trial in summary.front:
        star = "<span class='star' title='knee of the front'>★</span> " if trial.number == summary.knee else ""
        texts.append(f"{star}<a href='#design-{trial.number}'>#{trial.number}</a>")
    return _PageColumn("trial", "", texts, numbers, "n")


def _numbers(record: StudyRecord, front: Sequence[TrialRecord]) -> list[_PageColumn]:
    units = {objective.name: objective.unit for objective in record.objectives}
    measured = [trial_metrics(trial) for trial in front]
    samples = counts_samples(front)
    columns = []
    for name in [*units, *(name for name in always_shown(page=True) if name not in units)]:
        values = [
            trial.values.get(name) if name in units else metrics[name]
            for trial, metrics in zip(front, measured, strict=True)
        ]
        if all(value is None for value in values):
            continue
        unit = scale(units.get(name, unit_of(METRICS[name].unit, samples) if name in METRICS else ""), values, name)
        texts = [escape_html(unit.number(value)) for value in values]
        columns.append(_PageColumn(label(name), unit.unit, texts, values, "n"))
        if name == "memory.reserved":
            columns.append(_headroom(measured))
    return columns


def _ties(summary: Summary) -> list[_PageColumn]:
    """The members that each one cannot be told from; nothing where none has any."""
    known = summary.ties
    if not known or not any(known.values()):
        return []
    numbers = [known[trial.number] for trial in summary.front]
    texts = [_format_ties(others) if others else MISSING for others in numbers]
    return [_PageColumn("ties", "", texts, [len(others) for others in numbers], "n")]


def _format_ties(others: Sequence[int]) -> str:
    """How many, and which: all of them on hovering."""
    listed = " ".join(f"#{other}" for other in others)
    shown = listed if len(others) <= _MOST_TIES else f"{format_number(len(others))}"
    return f"<span title='{escape_html(shorten_text(listed, 600))}'>{escape_html(shown)}</span>"


def _headroom(measured: Sequence[dict[str, float | None]]) -> _PageColumn:
    free = []
    for metrics in measured:
        reserved, capacity = metrics["memory.reserved"], metrics["memory.capacity"]
        free.append(None if reserved is None or not capacity else 1 - reserved / capacity)
    texts = [MISSING if share is None else f"{100 * share:.0f}" for share in free]
    return _PageColumn("memory free", "%", texts, free, "n")


def _differing_columns(compared: Comparison) -> list[_PageColumn]:
    columns = []
    for index, name in enumerate(compared.columns):
        texts = [row[index] for row in compared.rows]
        columns.append(_PageColumn(name, "", [escape_html(text) for text in texts], texts, "what"))
    return columns


def _reasons(front: Sequence[TrialRecord]) -> _PageColumn:
    texts = [describe_bounds(trial) for trial in front]
    return _PageColumn("time goes to", "", [escape_html(text) for text in texts], texts, "what")
