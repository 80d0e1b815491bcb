"""The sections on a cluster for several futures and workloads: the value of each there, its regret, its software."""

from __future__ import annotations

from collections.abc import Sequence

from dse.evaluate.record import StudyRecord
from dse.report.futures import describe_future, future_table
from dse.report.page.base import Column, Section, escape_html, marks, paragraphs, table, trial_name
from dse.report.phases import HEADINGS, NOTE, describe_plans, plan_rows
from dse.report.summary import Summary
from dse.report.workloads import EXPLAINED, WorkloadTable, describe_own_best, workload_tables

_NUMBERS = 3
"""Columns of numbers with which each table begins: the value and two regrets."""


def workloads_section(record: StudyRecord, summary: Summary) -> Section | None:
    """A table for each workload; None where no cluster is bought."""
    told = workload_tables(record, summary, software=True)
    if not told:
        return None
    blocks = "".join(_block(summary, workload) for workload in told)
    own = [] if summary.futures else describe_own_best(record, summary)
    notes = paragraphs([EXPLAINED]) + paragraphs(own, "said")
    return Section("workloads", "Workloads and their regret", notes + blocks, "Workloads")


def futures_section(record: StudyRecord, summary: Summary) -> Section | None:
    """The front over the futures; None where there are none."""
    told = future_table(record, summary)
    if told is None or record.purchase is None:
        return None
    columns = [Column("trial", number=True), *(Column(heading, number=True) for heading in told.headings)]
    futures = [describe_future(future, record.purchase.names) for future in record.purchase.futures]
    own = (
        paragraphs([EXPLAINED])
        + paragraphs([f"{text}." for text in futures])
        + paragraphs(describe_own_best(record, summary), "said")
    )
    body = own + table("Futures", columns, _rows(summary, told.rows))
    return Section("futures", "Futures and their regret", body, "Futures")


def phases_section(record: StudyRecord) -> Section | None:
    """The plans of buying in phases that are worth their money; None where there are none."""
    rows = plan_rows(record)
    if not rows:
        return None
    columns = [Column(heading, number=index > 2) for index, heading in enumerate(HEADINGS)]
    told = paragraphs(describe_plans(record), "said") + paragraphs([NOTE])
    body = told + table("Plans", columns, [[escape_html(cell) for cell in row] for row in rows])
    return Section("phases", "Buying at once, or in phases", body, "Phases")


def _rows(summary: Summary, rows: Sequence[Sequence[str]]) -> list[list[str]]:
    marked = marks(summary)
    return [
        [trial_name(trial.number, marked.get(trial.number, "")), *map(escape_html, row)]
        for trial, row in zip(summary.front, rows, strict=True)
    ]


def _block(summary: Summary, workload: WorkloadTable) -> str:
    columns = [Column("trial", number=True)]
    columns += [Column(heading, number=index < _NUMBERS) for index, heading in enumerate(workload.headings)]
    rows = _rows(summary, workload.rows)
    common = f"<p class='note'><b>On all clusters:</b> {escape_html(workload.common)}.</p>" if workload.common else ""
    return f"<h3>{escape_html(workload.title)}</h3>{common}{table(workload.title, columns, rows)}"
