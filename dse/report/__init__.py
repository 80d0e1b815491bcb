"""Reports of a study: tables, `pareto.json`, plots, a page, the terminal.

Each is a pure function of a `StudyRecord` and of the answers of `dse.whatif`.
The libraries that draw and write are imported when a report is made, so importing this package is cheap.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dse.evaluate.note import Note, be_silent
from dse.evaluate.record import StudyRecord
from dse.whatif.answers import NOTHING, WhatIf

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["explain_infeasible", "print_front", "write_reports"]


def write_reports(
    record: StudyRecord, folder: str | Path, what_if: WhatIf = NOTHING, note: Note = be_silent
) -> tuple[Path, ...]:
    """Write `trials.csv`, `trials.parquet`, `pareto.csv`, `.json`, `.png`, `.svg` and `report.html` into `folder`.

    `what_if` are the answers to questions that took simulations (`dse.whatif`); `note` is told how far the files are.
    Each file is replaced whole or not at all. Returns their paths. Raises `OSError` where the folder cannot be written.
    """
    from dse.report import write

    return write.write_reports(record, folder, what_if, note)


def print_front(record: StudyRecord, console: Console, what_if: WhatIf = NOTHING) -> None:
    """Print the front and a summary of the study, or why nothing is feasible, to `console`."""
    from dse.report import terminal

    terminal.print_front(record, console, what_if)


def explain_infeasible(record: StudyRecord) -> str:
    """Why nothing in a study is feasible and how close it came; empty where something is."""
    from dse.report import infeasible

    return infeasible.explain_infeasible(record)
