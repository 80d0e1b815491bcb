"""The section on a cluster that is bought for several workloads: each one's software there, its value, its regret."""

from __future__ import annotations

from dse.evaluate.record import StudyRecord
from dse.report.page.base import Column, Section, escape_html, marks, paragraphs, table, trial_name
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
    notes = paragraphs([EXPLAINED]) + paragraphs(describe_own_best(record, summary), "said")
    return Section("workloads", "Workloads and their regret", notes + blocks, "Workloads")


def _block(summary: Summary, workload: WorkloadTable) -> str:
    columns = [Column("trial", number=True)]
    columns += [Column(heading, number=index < _NUMBERS) for index, heading in enumerate(workload.headings)]
    marked = marks(summary)
    rows = [
        [trial_name(trial.number, marked.get(trial.number, "")), *map(escape_html, row)]
        for trial, row in zip(summary.front, workload.rows, strict=True)
    ]
    common = f"<p class='note'><b>On all clusters:</b> {escape_html(workload.common)}.</p>" if workload.common else ""
    return f"<h3>{escape_html(workload.title)}</h3>{common}{table(workload.title, columns, rows)}"
