"""The section on sensitivity: for each design of the front, what one step of each parameter changes."""

from __future__ import annotations

from dse.evaluate.record import StudyRecord
from dse.report.describe import compare
from dse.report.page.base import SIGNS, Column, Section, escape_html, marks, paragraphs, table
from dse.report.sensitivity import StepRow, describe_improvement, is_dominating, sensitivity_note, step_rows
from dse.report.summary import Summary
from dse.report.units import label
from dse.whatif.answers import ParameterStep

_NOTE = (
    "One parameter moved to its neighbouring value in the space, all else as it was; what changes, in percent of the "
    "value before. A step that opens other parameters takes what the design has for them, else their first value. "
    "Steps in bold lead to a design that dominates this one."
)


def steps_section(record: StudyRecord, summary: Summary) -> Section | None:
    """A table for each design that was asked, the knee's open; None where there is no front."""
    if not summary.front:
        return None
    phrases = compare([trial.decided_document for trial in summary.front]).phrases
    marked, blocks = marks(summary), []
    for trial, told in zip(summary.front, phrases, strict=True):
        steps = summary.what_if.steps.get(trial.number)
        if steps:
            shown = trial.number == summary.knee or len(summary.what_if.steps) == 1
            title = f"{SIGNS.get(marked.get(trial.number, ''), '')} #{trial.number} {escape_html(', '.join(told))}"
            body = _table(record, trial.number, steps)
            blocks.append(f"<details class='part'{' open' if shown else ''}><summary>{title}</summary>{body}</details>")
    notes = [_NOTE if blocks else "", describe_improvement(summary, record.objectives), sensitivity_note(summary)]
    if not any(notes):
        return None
    return Section(
        "steps", "Sensitivity: one step from each design", paragraphs(notes) + "".join(blocks), "Sensitivity"
    )


def _table(record: StudyRecord, trial: int, steps: tuple[ParameterStep, ...]) -> str:
    columns = [Column("step"), *(Column(label(objective.name), number=True) for objective in record.objectives)]
    rows = step_rows(record.objectives, steps)
    kinds = ["better" if is_dominating(row.step) else "" for row in rows]
    cells = [_cells(row, len(record.objectives)) for row in rows]
    return table(f"One step from trial {trial}", columns, cells, kinds)


def _cells(row: StepRow, objectives: int) -> list[str]:
    moves = "<br>".join(escape_html(move) for move in row.moves)
    others = f" <small>and {row.others} that follow</small>" if row.others else ""
    told = [escape_html(text) for text in row.losses]
    return [f"{moves}{others}", *told, *[""] * (objectives - len(told))]
