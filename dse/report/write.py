"""All files of a report, each written whole or not at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dse.evaluate.note import Note, be_silent
from dse.evaluate.record import StudyRecord
from dse.report.counted import convert_units
from dse.report.front import pareto_json
from dse.report.importance import importance
from dse.report.page import report_html
from dse.report.plots import plot_bytes
from dse.report.summary import summarize
from dse.report.table_stream import write_trials
from dse.report.tables import csv_text, pareto_table, parquet_bytes, trials_table
from dse.study.files import write_whole
from dse.study.give_back import give_back
from dse.whatif.answers import NOTHING, WhatIf

DRAWING = {"importance": 0.0, "tables": 0.4, "plots": 0.45, "page": 0.75, "files": 0.95}
"""What drawing consists of, and the share of its time that is over when each part begins, as measured."""
MANY = 20_000
"""Trials above which the tables of all of them are written row by row."""
FILES = ("trials.csv", "trials.parquet", "pareto.csv", "pareto.json", "pareto.png", "pareto.svg", "report.html")


def write_reports(
    record: StudyRecord, folder: str | Path, what_if: WhatIf = NOTHING, note: Note = be_silent
) -> tuple[Path, ...]:
    """Write every report of a study into `folder`, which is made where it is missing; return their paths."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    many = len(record.trials) > MANY
    if many:  # first, while matplotlib and Optuna are not there yet: it takes more memory than all other parts
        _begin("tables", record, note)
        write_trials(convert_units(record), place / "trials.csv", place / "trials.parquet")
    contents = report_files(record, what_if, note, tables=not many)
    _begin("files", record, note)
    for name, content in contents.items():
        write_whole(place / name, content)
    return tuple(place / name for name in FILES)


def report_files(
    record: StudyRecord, what_if: WhatIf = NOTHING, note: Note = be_silent, tables: bool = True
) -> dict[str, bytes]:
    """The content of every file of `FILES` by name; without `tables` those of all trials are left out."""
    _begin("importance", record, note)
    record = convert_units(record)
    summary = replace(summarize(record, what_if), importance=importance(record))
    _begin("tables", record, note)
    trials = trials_table(record) if tables else None
    texts = {
        **({} if trials is None else {"trials.csv": csv_text(trials)}),
        "pareto.csv": csv_text(pareto_table(record, summary)),
        "pareto.json": pareto_json(record, summary),
    }
    _begin("plots", record, note)
    plots = plot_bytes(record, summary)
    _begin("page", record, note)
    texts["report.html"] = report_html(record, summary)
    # A lone surrogate (a name read from a broken file) has no UTF-8; it must not cost the report.
    encoded = {name: text.encode("utf-8", "replace") for name, text in texts.items()}
    binary = {} if trials is None else {"trials.parquet": parquet_bytes(trials)}
    return encoded | binary | {"pareto.png": plots["png"], "pareto.svg": plots["svg"]}


def _begin(part: str, record: StudyRecord, note: Note) -> None:
    """A part begins: say so, and give back what the one before has left of a large study."""
    if len(record.trials) > MANY:
        give_back()
    note(part, DRAWING[part])
