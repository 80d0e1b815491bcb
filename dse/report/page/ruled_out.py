"""What was ruled out and why: rules before simulation, constraints that were missed, failures."""

from __future__ import annotations

from dse.evaluate.record import StudyRecord
from dse.report.page.base import Column, Section, escape_html, paragraphs, table
from dse.report.summary import Summary
from dse.report.units import clean_text, format_number
from dse.report.words import count_errors, describe_counts, describe_without_value

_MOST_ERRORS = 10


def ruled_out_section(record: StudyRecord, summary: Summary) -> Section:
    """How the trials ended, and a row for each rule, constraint and error."""
    rows = [("cut before simulation", clean_text(rule), count) for rule, count in summary.cut.items()]
    trials = record.trials
    broken = trials.select(trials.is_state("infeasible")).count_missed()
    rows += [("infeasible", f"misses {clean_text(name)}", count) for name, count in broken.most_common()]
    errors = count_errors(trials.select(trials.is_state("failed")))
    rows += [("failed", error, count) for error, count in errors.most_common(_MOST_ERRORS)]
    title = "What was ruled out, and what failed"
    cells = [[escape_html(state), escape_html(why), format_number(count)] for state, why, count in rows]
    columns = [Column("state"), Column("why"), Column("designs", number=True)]
    notes = paragraphs([describe_counts(summary), describe_without_value(record)])
    return Section("ruled-out", title, notes + (table(title, columns, cells) if cells else ""), "Ruled out")
