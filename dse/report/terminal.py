"""The front as a table in the terminal, and a summary of the study in a few lines.

Values that differ over the front have columns; values that all designs share are printed once above the table. In a
narrow terminal one column of running text holds all that differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from dse.evaluate.record import StudyRecord
from dse.report.counted import convert_units, counts_samples, unit_of
from dse.report.describe import Comparison, compare
from dse.report.gap import describe_gaps
from dse.report.infeasible import explain_infeasible
from dse.report.reasons import describe_reasons
from dse.report.sensitivity import describe_improvement
from dse.report.summary import Summary, spread_indices, summarize
from dse.report.units import MISSING, Scale, always_shown, clean_text, format_number, label, scale, shorten_text
from dse.report.values import trial_metrics
from dse.report.words import (
    describe_best,
    describe_counts,
    describe_prices,
    describe_proof,
    describe_volume,
    describe_without_value,
    ties_note,
)
from dse.report.workloads import EXPLAINED, describe_own_best, workload_tables
from dse.whatif.answers import NOTHING, WhatIf
from simcore.metrics import METRICS

__all__ = ["explain_infeasible", "print_front"]

_LONGEST = 30
_LEAST_ROOM = 28
_LEAST_HEADING = 7
_ASCII = str.maketrans({"★": "*", "–": "-", "…": "~"})


def print_front(record: StudyRecord, console: Console, what_if: WhatIf = NOTHING) -> None:
    """Print the front of a study, or the reason why there is none, and the summary."""
    record = convert_units(record)
    summary = summarize(record, what_if)
    for paragraph in describe_gaps(record, summary):
        _print_text(console, paragraph)
    if summary.front:
        _print_table(record, summary, console)
    else:
        _print_text(console, explain_infeasible(record))
    sentences = [describe_counts(summary), describe_without_value(record)] if summary.front else []
    sentences += [describe_volume(record, summary)]
    sentences += [describe_proof(summary)]
    sentences += [describe_best(objective, summary) for objective in record.objectives]
    for sentence in [*sentences, describe_prices(record)]:
        if sentence:
            _print_text(console, sentence)


def _print_table(record: StudyRecord, summary: Summary, console: Console) -> None:
    members = summary.front
    numbers = [trial.number for trial in members]
    knee = frozenset() if summary.knee is None else frozenset({numbers.index(summary.knee)})
    shown = spread_indices(len(members), _LONGEST, knee)
    compared = compare([trial.decided_document for trial in members])
    size = "1 design" if len(members) == 1 else f"{format_number(len(members))} designs"
    _print_text(console, f"{clean_text(record.space)}: {size} on the Pareto front", "bold")
    if compared.common:
        _print_text(console, f"{'The design' if len(members) == 1 else 'All'}: {compared.common}.")
    columns = _columns(record, summary)
    wide = _table(columns, summary, shown, _Differing(compared.columns, compared.rows), console)
    console.print(
        wide if _width(wide, console) <= console.width else _narrow_table(columns, summary, shown, compared, console)
    )
    note = ties_note(summary)
    if note:
        _print_text(console, note)
    if summary.knee is not None:
        why = next(describe_reasons(trial) for trial in members if trial.number == summary.knee)
        _print_text(console, f"★ Knee: trial {summary.knee}. {why}")
    better = describe_improvement(summary, record.objectives)
    if better:
        _print_text(console, better)
    _print_workloads(record, summary, shown, console)
    if len(shown) < len(members):
        _print_text(console, f"{len(shown)} of {len(members)} shown, evenly spread; all of them are in pareto.csv.")


def _print_workloads(record: StudyRecord, summary: Summary, shown: Sequence[int], console: Console) -> None:
    """Print each workload's values on the clusters of the front, and the cluster it would have chosen alone."""
    workloads = workload_tables(record, summary, software=False)
    if not workloads:
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), collapse_padding=True)
    table.add_column("trial", justify="right", no_wrap=True)
    for workload in workloads:
        for heading in workload.headings:
            table.add_column(_text(f"{shorten_text(workload.title, 20)}\n{heading}", console), justify="right")
    for index in shown:
        cells = [cell for workload in workloads for cell in workload.rows[index]]
        table.add_row(str(summary.front[index].number), *(_text(cell, console) for cell in cells))
    console.print(table)
    for sentence in [EXPLAINED, *describe_own_best(record, summary)]:
        _print_text(console, sentence)


@dataclass(frozen=True, slots=True)
class _NumberColumn:
    """A column of numbers: its heading, its unit, and a cell for each member of the front."""

    heading: str
    unit: str
    cells: tuple[str, ...]
    objective: bool = False


def _columns(record: StudyRecord, summary: Summary) -> list[_NumberColumn]:
    members = summary.front
    measured = [trial_metrics(trial) for trial in members]
    samples = counts_samples(members)
    columns = []
    for objective in record.objectives:
        values = [trial.values[objective.name] for trial in members]
        columns.append(_column(objective.name, scale(objective.unit, values, objective.name), values, objective=True))
    if summary.ties and any(summary.ties.values()):
        counts = [len(summary.ties[trial.number]) for trial in members]
        columns.append(_NumberColumn("ties", "", tuple(str(count) if count else MISSING for count in counts)))
    chosen = {objective.name for objective in record.objectives}
    for name in always_shown(page=False):
        found = [metrics[name] for metrics in measured]
        if name not in chosen and any(value is not None for value in found):
            columns.append(_column(name, scale(unit_of(METRICS[name].unit, samples), found, name), found))
    if any(metrics["memory.reserved"] is not None for metrics in measured):
        columns.append(_memory(measured))
    return columns


def _column(name: str, unit: Scale, values: Sequence[float | None], *, objective: bool = False) -> _NumberColumn:
    short = METRICS[name].short if name in METRICS else ""
    return _NumberColumn(short or label(name), unit.unit, tuple(unit.number(value) for value in values), objective)


def _memory(measured: Sequence[dict[str, float | None]]) -> _NumberColumn:
    cells = []
    for metrics in measured:
        reserved, capacity = metrics["memory.reserved"], metrics["memory.capacity"]
        whole = MISSING if reserved is None or capacity is None else f"{reserved / 2**30:.1f}/{capacity / 2**30:.4g}"
        cells.append(whole)
    return _NumberColumn("memory", "GiB", tuple(cells))


@dataclass(frozen=True, slots=True)
class _Differing:
    """The values in which designs differ: headings, and their cells for each member of the front."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def _narrow_table(
    columns: Sequence[_NumberColumn], summary: Summary, shown: Sequence[int], compared: Comparison, console: Console
) -> Table:
    """The table with one column for all differences, whose lines break between phrases only.

    Columns beyond the objectives are left out if this one needs their room.
    """
    heading = ("differences",) if compared.columns else ()
    kept = list(columns)
    while True:
        bare = _table(kept, summary, shown, _Differing((), ()), console)
        room = console.width - _width(bare, console) - 2
        extra = [column for column in kept if not column.objective]
        if room >= _LEAST_ROOM or not heading or not extra:
            break
        kept.remove(extra[-1])
    rows = tuple((_pack_phrases(phrases, max(room, 12)),) for phrases in compared.phrases)
    return _table(kept, summary, shown, _Differing(heading, rows), console)


def _pack_phrases(phrases: Sequence[str], width: int) -> str:
    lines = [""]
    for phrase in phrases:
        joined = f"{lines[-1]}, {phrase}" if lines[-1] else phrase
        if len(joined) + 1 <= width or not lines[-1]:
            lines[-1] = joined
        else:
            lines[-1] += ","
            lines.append(phrase)
    return "\n".join(lines)


def _width(table: Table, console: Console) -> int:
    return Measurement.get(console, console.options.update(max_width=10_000), table).maximum


def _table(
    columns: Sequence[_NumberColumn], summary: Summary, shown: Sequence[int], differing: _Differing, console: Console
) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), collapse_padding=True)
    table.add_column("trial", justify="right", no_wrap=True)
    widths = [max(_LEAST_HEADING, *map(len, (column.unit, *column.cells))) for column in columns]
    headings = [
        wrap(column.heading, width, break_long_words=False) for column, width in zip(columns, widths, strict=True)
    ]
    lines = max(map(len, headings), default=1)
    for column, words in zip(columns, headings, strict=True):
        heading = _text("\n".join([*[""] * (lines - len(words)), *words]), console)
        heading.append(f"\n{column.unit}", style="dim")
        table.add_column(heading, justify="right", no_wrap=True)
    for name in differing.headings:
        table.add_column(_text(name, console))
    for index in shown:
        trial = summary.front[index]
        star = trial.number == summary.knee
        cells = [f"{'★ ' if star else ''}{trial.number}", *(column.cells[index] for column in columns)]
        cells += differing.rows[index] if differing.headings else ()
        table.add_row(*(_text(cell, console) for cell in cells), style="bold" if star else None)
    return table


def _print_text(console: Console, text: str, style: str = "") -> None:
    console.print(_text(text, console, style))


def _text(text: str, console: Console, style: str = "") -> Text:
    ascii_only = console.options.ascii_only
    shown = text.translate(_ASCII).encode("ascii", "replace").decode("ascii") if ascii_only else text
    return Text(shown, style=style)
