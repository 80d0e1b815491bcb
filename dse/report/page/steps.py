"""The section on sensitivity: for each design of the front, what one step of each parameter changes."""

from __future__ import annotations

from dse.evaluate.record import StudyRecord
from dse.report.describe import compare
from dse.report.page.base import escape_html
from dse.report.sensitivity import StepRow, describe_improvement, is_dominating, sensitivity_note, step_rows
from dse.report.summary import Summary
from dse.report.units import label
from dse.whatif.answers import ParameterStep

_NOTE = (
    "One parameter moved to its neighbouring value in the space, all else as it was; what changes, in percent of the "
    "value before. A step that opens other parameters takes what the design has for them, else their first value. "
    "Steps in bold lead to a design that dominates this one."
)


def steps_section(record: StudyRecord, summary: Summary) -> str:
    """A table for each design that was asked, the knee's open; empty where there is no front."""
    if not summary.front:
        return ""
    phrases = compare([trial.decided_document for trial in summary.front]).phrases
    blocks = []
    for trial, told in zip(summary.front, phrases, strict=True):
        steps = summary.what_if.steps.get(trial.number)
        if steps:
            shown = trial.number == summary.knee or len(summary.what_if.steps) == 1
            star = " <span class='star' title='knee'>★</span>" if trial.number == summary.knee else ""
            title = f"<b>#{trial.number}</b>{star} {escape_html(', '.join(told))}"
            table = _table(record, steps)
            blocks.append(f"<details{' open' if shown else ''}><summary>{title}</summary>{table}</details>")
    said = [_NOTE if blocks else "", describe_improvement(summary, record.objectives), sensitivity_note(summary)]
    notes = "".join(f"<p class='note'>{escape_html(text)}</p>" for text in said if text)
    if not notes:
        return ""
    return f"<section class='steps'><h2>Sensitivity: one step from each design</h2>{notes}{''.join(blocks)}</section>"


def _table(record: StudyRecord, steps: tuple[ParameterStep, ...]) -> str:
    heads = "".join(f"<th class='n'>{escape_html(label(objective.name))}</th>" for objective in record.objectives)
    rows = "".join(_row(row, len(record.objectives)) for row in step_rows(record.objectives, steps))
    head = f"<thead><tr><th>step</th>{heads}</tr></thead>"
    return f"<div class='scroll'><table>{head}<tbody>{rows}</tbody></table></div>"


def _row(row: StepRow, objectives: int) -> str:
    kind = " class='better'" if is_dominating(row.step) else ""
    moves = "<br>".join(escape_html(move) for move in row.moves)
    others = f" <small>and {row.others} that follow</small>" if row.others else ""
    told = "".join(f"<td class='n'>{escape_html(text)}</td>" for text in row.losses)
    if not row.step.is_feasible:
        told = f"<td class='why' colspan='{objectives}'>{escape_html(row.losses[0])}</td>"
    return f"<tr{kind}><td>{moves}{others}</td>{told}</tr>"
