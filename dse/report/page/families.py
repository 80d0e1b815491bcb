"""The families of the front as a table: designs that the model cannot tell apart, as one row."""

from __future__ import annotations

from dse.evaluate.record import StudyRecord
from dse.report.choice import recommended
from dse.report.families import IDLE, Family, families
from dse.report.page.base import Column, escape_html, marks, table, trial_name
from dse.report.summary import Summary
from dse.report.units import format_number, label, scale
from dse.space.objective import Objective

_NOTE = (
    "A family is designs of one kind between which the model cannot tell, as one row: the values of the one that "
    "stands for them, and below them those of the whole family. What only saves electricity is one row."
)
_NOTE_ONE = "The best of each kind that differs in more than details; below its value, those of its kind."


def families_table(record: StudyRecord, summary: Summary) -> str:
    """A row for each family; empty where there are none."""
    found = families(record, summary)
    if not found:
        return ""
    marked = marks(summary)
    chosen = record.feasible_trials.numbered_among(family.chosen for family in found)
    values = {trial.number: trial.values for trial in chosen}
    columns = [Column("design", number=True), *(_column(o, found) for o in record.objectives)]
    columns += [Column("designs", number=True), Column("what it is")]
    rows = [
        [
            trial_name(family.chosen, marked.get(family.chosen, "")),
            *(
                _value(objective, family, found, values[family.chosen][objective.name])
                for objective in record.objectives
            ),
            format_number(len(family.trials)),
            escape_html(f"{IDLE}: {family.name}" if family.idle else family.name),
        ]
        for family in found
    ]
    built = recommended(record, summary)
    kinds = ["knee" if family.chosen == built else "" for family in found]
    note = _NOTE if len(record.objectives) > 1 else _NOTE_ONE
    title = "Families of the front" if len(record.objectives) > 1 else "The best of each kind"
    return f"<h3>{title}</h3><p class='note'>{note}</p>{table(title, columns, rows, kinds)}"


def _column(objective: Objective, found: tuple[Family, ...]) -> Column:
    unit = scale(objective.unit, [family.high[objective.name] for family in found], objective.name)
    return Column(label(objective.name), number=True, unit=unit.unit)


def _value(objective: Objective, family: Family, found: tuple[Family, ...], value: float) -> str:
    unit = scale(objective.unit, [family.high[objective.name] for family in found], objective.name)
    low, high = unit.number(family.low[objective.name]), unit.number(family.high[objective.name])
    spread = "" if low == high else f"<small>{escape_html(f'{low} to {high}')}</small>"
    return f"{escape_html(unit.number(value))}{spread}"
