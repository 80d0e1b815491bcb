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
    contents = report_files(record, what_if, note, tables=not many)
    if many:
        _tell(note, "tables")
        write_trials(convert_units(record), place / "trials.csv", place / "trials.parquet")
    _tell(note, "files")
    for name, content in contents.items():
        write_whole(place / name, content)
    return tuple(place / name for name in FILES)


def report_files(
    record: StudyRecord, what_if: WhatIf = NOTHING, note: Note = be_silent, tables: bool = True
) -> dict[str, bytes]:
    """The content of every file of `FILES` by name; without `tables` those of all trials are left out."""
    _tell(note, "importance")
    record = convert_units(record)
    summary = replace(summarize(record, what_if), importance=importance(record))
    _tell(note, "tables")
    trials = trials_table(record) if tables else None
    _tell(note, "plots")
    plots = plot_bytes(record, summary)
    _tell(note, "page")
    texts = {
        **({} if trials is None else {"trials.csv": csv_text(trials)}),
        "pareto.csv": csv_text(pareto_table(record, summary)),
        "pareto.json": pareto_json(record, summary),
        "report.html": report_html(record, summary),
    }
    # A lone surrogate (a name read from a broken file) has no UTF-8; it must not cost the report.
    encoded = {name: text.encode("utf-8", "replace") for name, text in texts.items()}
    binary = {} if trials is None else {"trials.parquet": parquet_bytes(trials)}
    return encoded | binary | {"pareto.png": plots["png"], "pareto.svg": plots["svg"]}


def _tell(note: Note, part: str) -> None:
    note(part, DRAWING[part])
