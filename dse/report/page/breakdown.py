"""Where time, network and money of each design of the front go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dse.report.page.base import HEATMAP, Chart, count_designs, front_rows, plot_text, rows_layout, shown_note
from dse.report.reasons import breakdown
from dse.report.summary import Summary
from dse.report.units import format_percent, format_with_unit, scale
from dse.report.values import read_result

_PATTERNS = {"compute": "", "bubble": ".", "optimizer": "", "other": ""}
_COLOURS = {
    "compute": "@compute",
    "tensor communication": "@tensor",
    "data communication": "@data",
    "pipeline communication": "@pipeline",
    "expert communication": "@expert",
    "context communication": "@context",
    "bubble": "@bubble",
    "optimizer": "@optimizer",
    "other": "@other",
}


def time_chart(summary: Summary) -> Chart | None:
    """The iteration of each design: compute, exposed communication by group, bubble, optimizer, other."""
    shown = front_rows(summary, told=True)
    parts = [breakdown(read_result(trial.metrics)) for trial, _ in shown if trial.metrics is not None]
    if not parts:
        return None
    totals = [sum(part.values()) for part in parts]
    unit = scale("s", totals)
    data = []
    for name in parts[0]:
        times = [part[name] for part in parts]
        if any(time > 0 for time in times):
            shares = [format_percent(t / total if total else 0.0) for t, total in zip(times, totals, strict=True)]
            texts = [f"{name} {format_with_unit(t, 's')}, {share}" for t, share in zip(times, shares, strict=True)]
            bar = _bar(name, _COLOURS[name], [row for _, row in shown], [t / unit.factor for t in times], texts)
            pattern = {"shape": _PATTERNS.get(name, "/"), "size": 6, "solidity": 0.3, "fillmode": "overlay"}
            pattern |= {"fgcolor": "@surface", "fgopacity": 0.5}
            data.append({**bar, "marker": {**bar["marker"], "pattern": pattern}})
    note = "Exposed communication is the time an NPU waits for it; hatched. " + shown_note(
        len(shown), count_designs(summary)
    )
    layout = rows_layout(len(shown), f"time of one iteration [{unit.unit}]")
    return Chart("time", "Where the time goes", note.strip(), data, layout, _legend(data))


def network_chart(summary: Summary) -> Chart | None:
    """How much of each dimension's bandwidth each design uses, as a heat map."""
    shown = front_rows(summary, told=False)
    uses = [read_result(trial.metrics).network for trial, _ in shown if trial.metrics is not None]
    width = max((len(use) for use in uses), default=0)
    if not width:
        return None
    cells = [[row[d] if d < len(row) else None for d in range(width)] for row in uses]
    hover = [[_use(use) for use in row] for row in cells]
    trace = {
        **HEATMAP,
        "x": [f"dimension {index + 1}" for index in range(width)],
        "y": [row for _, row in shown],
        "z": [[None if use is None else use.utilization for use in row] for row in cells],
        "text": [["" if use is None else format_percent(use.utilization) for use in row] for row in cells],
        "hovertext": hover,
        "textfont": {"size": 11},
    }
    layout = rows_layout(len(shown), "share of the bandwidth used, innermost dimension first")
    layout["xaxis"] |= {"type": "category", "showgrid": False}
    return Chart("network", "Use of the network", shown_note(len(shown), count_designs(summary)), [trace], layout)


def _legend(data: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(trace["name"], trace["marker"]["color"]) for trace in data]


def _use(use: Any) -> str:
    if use is None:
        return ""
    sent = f"{format_with_unit(use.bytes_per_npu, 'B')} sent per NPU, busy {format_with_unit(use.busy_s, 's')}"
    return f"{plot_text(use.dimension)}: {format_percent(use.utilization)} used<br>{sent}"


def cost_chart(summary: Summary) -> Chart | None:
    """The price of each design's cluster: network, NPUs, memory."""
    shown = front_rows(summary, told=False)
    costs = [read_result(trial.metrics).cost for trial, _ in shown if trial.metrics is not None]
    if not any(cost.total > 0 for cost in costs):
        return None
    unit = scale("$", [cost.total for cost in costs])
    data = []
    for name, title, colour in (
        ("network", "network", "@tensor"),
        ("npu", "NPUs", "@compute"),
        ("memory", "memory", "@context"),
    ):
        values = [getattr(cost, name) for cost in costs]
        if any(values):
            shares = [
                format_percent(v / cost.total if cost.total else 0.0) for v, cost in zip(values, costs, strict=True)
            ]
            texts = [f"{title} {format_with_unit(v, '$')}, {share}" for v, share in zip(values, shares, strict=True)]
            data.append(_bar(title, colour, [row for _, row in shown], [v / unit.factor for v in values], texts))
    layout = rows_layout(len(shown), f"price of the cluster [{unit.unit}]")
    return Chart(
        "cost", "Where the money goes", shown_note(len(shown), count_designs(summary)), data, layout, _legend(data)
    )


def _bar(name: str, colour: str, rows: list[str], values: list[float], texts: list[str]) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "x": values,
        "y": rows,
        "text": texts,
        "textposition": "none",
        "hovertemplate": "%{y}<br>%{text}<extra></extra>",
        "marker": {"color": colour},
    }
