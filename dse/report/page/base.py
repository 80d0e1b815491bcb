"""What the parts of the page share: charts as data, escaping, and the names of designs."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dse.evaluate.record import TrialRecord
from dse.report.describe import compare
from dse.report.summary import Summary, spread_indices
from dse.report.units import clean_text, shorten_text
from dse.report.values import to_json

MOST_BARS = 40
"""Designs that a chart with a row for each shows at most."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A plotly figure as plain data.

    A colour `@name` stands for the style sheet's variable `--name`, so that charts follow the light or dark theme.
    """

    name: str
    title: str
    note: str
    data: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any]
    legend: Sequence[tuple[str, str]] = ()
    """Name and colour (`@name`) of each trace, for a legend in HTML: plotly's own takes the room of the bars."""


def escape_html(text: object) -> str:
    """`text`, cleaned, as HTML."""
    return html.escape(clean_text(text))


def plot_text(text: object) -> str:
    """`text`, cleaned, as plotly shows it: it reads tags such as `<b>` and `<a href>` in every string."""
    return html.escape(clean_text(text), quote=False)


def charts_json(charts: Sequence[Chart]) -> str:
    """The charts as JSON that cannot end the script element it stands in."""
    document = {chart.name: {"data": chart.data, "layout": chart.layout} for chart in charts}
    return to_json(document).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def front_rows(summary: Summary, told: bool) -> list[tuple[TrialRecord, str]]:
    """The front members shown in charts that have one row per design, each with the name of its row.

    A name is the trial's number and, where `told`, what the design has that others have not.
    """
    front = summary.front
    knee = frozenset(index for index, trial in enumerate(front) if trial.number == summary.knee)
    phrases = compare([trial.decided_document for trial in front]).phrases if told else ((),) * len(front)
    return [
        (part, _row(part, (name, *phrases[index]) if name else phrases[index], index in knee))
        for index in spread_indices(len(front), MOST_BARS, knee)
        for name, part in front[index].parts
        if part.metrics is not None
    ]


def _row(trial: TrialRecord, phrases: Sequence[str], knee: bool) -> str:
    return plot_text(f"{'★ ' if knee else ''}#{trial.number} {shorten_text(', '.join(phrases), 52)}")


def count_designs(summary: Summary) -> int:
    """Number of designs of the front: one for each workload of each member."""
    return sum(len(trial.parts) for trial in summary.front)


HEATMAP = {
    "type": "heatmap",
    "hovertemplate": "%{y}<br>%{hovertext}<extra></extra>",
    "texttemplate": "%{text}",
    "zmin": 0,
    "zmax": 1,
    "xgap": 3,
    "ygap": 3,
    "showscale": False,
    "colorscale": [[0, "@heat0"], [1, "@heat1"]],
}
"""A trace of shares, a row for each design, with their texts in the cells."""


def rows_layout(count: int, title: str) -> dict[str, Any]:
    """Layout of a chart with a row for each of `count` designs."""
    return {
        "height": 102 + 26 * count,
        "barmode": "stack",
        "bargap": 0.28,
        "margin": {"l": 10, "r": 16, "t": 26, "b": 46},
        "showlegend": False,
        "xaxis": {"title": {"text": title, "standoff": 8}, "zeroline": False},
        "yaxis": {"type": "category", "autorange": "reversed", "automargin": True, "ticksuffix": "  "},
    }


def shown_note(shown: int, count: int) -> str:
    """That a chart shows only some of the designs; empty where it shows all."""
    return "" if shown == count else f"{shown} of {count} designs, evenly spread over the front."
