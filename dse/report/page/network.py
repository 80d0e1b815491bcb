"""How much of each dimension's bandwidth each design of the front uses."""

from __future__ import annotations

from dse.report.page.base import Bar, Column, Section, bars, escape_html, front_rows, paragraphs, shown_note, table
from dse.report.summary import Summary
from dse.report.units import format_percent, format_with_unit
from dse.report.values import read_result
from simcore.result import DimensionUse


def network_section(summary: Summary) -> Section | None:
    """A row for each design, a cell for each dimension, innermost first; None where nothing has a network."""
    shown = [
        (row, read_result(trial.metrics).network) for trial, row in front_rows(summary) if trial.metrics is not None
    ]
    width = max((len(uses) for _, uses in shown), default=0)
    if not width:
        return None
    columns = [Column("design"), *(Column(f"dimension {index}") for index in range(width))]
    rows = [[row, *(_cell(uses[d]) if d < len(uses) else "" for d in range(width))] for row, uses in shown]
    note = (
        "Share of the bandwidth used over the iteration, innermost dimension first; what an NPU sends; its busy time."
    )
    title = "Use of the network"
    return Section("network", title, paragraphs([note, shown_note(summary)]) + table(title, columns, rows), "Network")


def _cell(use: DimensionUse) -> str:
    share = format_percent(use.utilization)
    sent = f"{format_with_unit(use.bytes_per_npu, 'B')}, busy {format_with_unit(use.busy_s, 's')}"
    bar = bars(
        [Bar("compute", min(1.0, use.utilization), f"{share} used"), Bar("rest", max(0.0, 1 - use.utilization), "")]
    )
    return f"{escape_html(use.dimension)} <b>{share}</b>{bar}<small>{escape_html(sent)}</small>"
