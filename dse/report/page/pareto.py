"""The interactive plot of the front: hover shows what a design is, a click leads to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.describe import headline
from dse.report.page.base import Chart, plot_text
from dse.report.points import KINDS, Kind, Window, best_so_far, count_outside, groups, staircase, title, window
from dse.report.summary import Summary, spread_indices
from dse.report.units import Scale, format_number, format_with_unit, label, scale, shorten_text
from dse.space.objective import Objective

_MOST_POINTS = 3000
"""Points of one kind at most, over all panels: more are slow to draw, and no easier to read."""

_GAP = 0.04
"""Room between two panels, as a share of the plot."""

_MARKERS: dict[Kind, dict[str, Any]] = {
    "cut": {"symbol": "square-open", "size": 7, "color": "@cut"},
    "infeasible": {
        "symbol": "x-thin",
        "size": 7,
        "color": "@infeasible",
        "line": {"width": 1.6, "color": "@infeasible"},
    },
    "dominated": {"symbol": "circle", "size": 6, "color": "@dominated", "opacity": 0.7},
    "front": {"symbol": "circle", "size": 10, "color": "@front", "line": {"width": 1, "color": "@surface"}},
}
_KNEE = {"symbol": "star", "size": 19, "color": "@knee", "line": {"width": 1.2, "color": "@ink"}}


class _Plane:
    """Where the trials of a study lie: windows, units, and hover texts."""

    def __init__(self, record: StudyRecord, summary: Summary) -> None:
        self.objectives = record.objectives
        self.summary = summary
        self.shown = groups(record, summary)
        panels = max(1, len(record.objectives) * (len(record.objectives) - 1) // 2)
        self.most = _MOST_POINTS // panels
        self._hovers: dict[int, str] = {}
        self.windows = [window(o, self.shown, summary.bounds[o.name]) for o in record.objectives]
        self.units = [
            scale(o.unit, [limits.low, limits.high], o.name)
            for o, limits in zip(record.objectives, self.windows, strict=True)
        ]

    def values(self, index: int, trials: Sequence[TrialRecord]) -> list[float]:
        """The values of objective `index`, in the units of its axis."""
        return [trial.values[self.objectives[index].name] / self.units[index].factor for trial in trials]

    def sample(self, kind: Kind) -> list[TrialRecord]:
        """The trials of a kind, thinned out where there are too many."""
        trials = self.shown[kind]
        return [trials[index] for index in spread_indices(len(trials), self.most)]

    def hover(self, trial: TrialRecord) -> str:
        """What a trial is, made once for all panels."""
        if trial.number not in self._hovers:
            self._hovers[trial.number] = _hover(self.objectives, trial)
        return self._hovers[trial.number]

    def axis(self, index: int) -> dict[str, Any]:
        """The axis of objective `index`."""
        return _axis(self.objectives[index], self.windows[index], self.units[index])


def chart(record: StudyRecord, summary: Summary) -> Chart | None:
    """The plot, or None where no trial has a point."""
    plane = _Plane(record, summary)
    if not any(plane.shown.values()):
        return None
    data, layout = _convergence(plane, record) if len(record.objectives) == 1 else _pairs(plane)
    layout |= {
        "legend": {"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "traceorder": "reversed"},
        "margin": {"l": 70, "r": 20, "t": 40, "b": 56},
        "hovermode": "closest",
    }
    heading = "Convergence" if len(record.objectives) == 1 else "Pareto front"
    return Chart("pareto", heading, _note(plane), data, layout)


def _pairs(plane: _Plane) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """One panel for each pair of objectives, below the diagonal."""
    rows = len(plane.objectives) - 1
    data: list[dict[str, Any]] = []
    shapes: list[dict[str, Any]] = []
    layout: dict[str, Any] = {"height": 560 if rows == 1 else 150 + 310 * rows, "shapes": shapes}
    panels = [(row, column) for row in range(rows) for column in range(row + 1)]
    for panel, (row, column) in enumerate(panels):
        suffix = "" if panel == 0 else str(panel + 1)
        axes = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
        pair = (column, row + 1)
        data += [{**trace, **axes, "showlegend": panel == 0 and trace["name"] != ""} for trace in _traces(plane, pair)]
        shapes += [{**line, **_refs(line, suffix)} for line in _bounds(plane, pair)]
        left, low = column * (1 + _GAP) / rows, (rows - 1 - row) * (1 + _GAP) / rows
        size = (1 + _GAP) / rows - _GAP
        across, up = plane.axis(pair[0]), plane.axis(pair[1])
        across |= {"domain": [left, left + size], "anchor": axes["yaxis"], "showticklabels": row == rows - 1}
        up |= {"domain": [low, low + size], "anchor": axes["xaxis"], "showticklabels": column == 0}
        if row < rows - 1:
            across.pop("title")
        if column > 0:
            up.pop("title")
        layout |= {f"xaxis{suffix}": across, f"yaxis{suffix}": up}
    return data, layout


def _traces(plane: _Plane, pair: tuple[int, int]) -> list[dict[str, Any]]:
    traces = [_points(plane, kind, pair) for kind in KINDS if plane.shown[kind]]
    if len(plane.objectives) == 2 and plane.shown["front"]:
        xs, ys = staircase(plane.objectives, plane.shown["front"])
        factors = [unit.factor for unit in plane.units]
        line = {"color": "@front", "width": 2}
        stairs = {"type": "scatter", "mode": "lines", "line": line, "hoverinfo": "skip", "legendgroup": "front"}
        scaled = {"x": [x / factors[0] for x in xs], "y": [y / factors[1] for y in ys]}
        traces.insert(len(traces) - 1, {**stairs, **scaled, "name": "", "showlegend": False})
    knee = [trial for trial in plane.shown["front"] if trial.number == plane.summary.knee]
    if knee:
        traces.append(_scatter(plane, knee, pair, "knee", _KNEE))
    return traces


def _points(plane: _Plane, kind: Kind, pair: tuple[int, int]) -> dict[str, Any]:
    name = title(kind, plane.shown, len(plane.objectives))
    return {**_scatter(plane, plane.sample(kind), pair, name, _MARKERS[kind]), "legendgroup": kind}


def _scatter(
    plane: _Plane, trials: Sequence[TrialRecord], pair: tuple[int, int], name: str, marker: dict[str, Any]
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "marker": marker,
        "x": plane.values(pair[0], trials),
        "y": plane.values(pair[1], trials),
        "text": [plane.hover(trial) for trial in trials],
        "customdata": [trial.number for trial in trials],
        "hovertemplate": "%{text}<extra></extra>",
    }


def _convergence(plane: _Plane, record: StudyRecord) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    (objective,) = plane.objectives
    data = []
    for kind in KINDS:
        if plane.shown[kind]:
            trace = _points(plane, kind, (0, 0))
            data.append({**trace, "x": trace["customdata"]})
    numbers, values = best_so_far(objective, record.trials)
    if numbers:
        last = record.trials[-1].number
        ys = [value / plane.units[0].factor for value in (*values, values[-1])]
        line = {"color": "@front", "width": 2, "shape": "hv"}
        steps = {"type": "scatter", "mode": "lines", "name": "best so far", "line": line, "hoverinfo": "skip"}
        data.append({**steps, "x": [*numbers, last], "y": ys})
    shapes = [{**line, "xref": "paper", "yref": "y"} for line in _bounds(plane, (None, 0))]
    layout = {"height": 460, "shapes": shapes, "yaxis": plane.axis(0)}
    return data, layout | {"xaxis": {"title": {"text": "trial", "standoff": 8}, "zeroline": False}}


def _bounds(plane: _Plane, pair: tuple[int | None, int]) -> list[dict[str, Any]]:
    """Thin lines at the proven bounds of a pair of objectives, each across the whole panel."""
    lines = []
    for which, index in zip("xy", pair, strict=True):
        bound = None if index is None else plane.summary.bounds[plane.objectives[index].name]
        if index is None or bound is None or not plane.windows[index].holds(bound):
            continue
        at, across = bound / plane.units[index].factor, "y" if which == "x" else "x"
        label_of = {"text": f"proven bound {plot_text(plane.units[index].text(bound))}"}
        place = {
            "textposition": "end",
            "xanchor": "right",
            "yanchor": "bottom",
            "font": {"size": 11, "color": "@muted"},
        }
        style = {"color": "@muted", "width": 1.2, "dash": "dash"}
        ends = {f"{which}0": at, f"{which}1": at, f"{across}0": 0, f"{across}1": 1}
        lines.append({"type": "line", "layer": "below", "line": style, "label": {**label_of, **place}, **ends})
    return lines


def _refs(line: dict[str, Any], suffix: str) -> dict[str, str]:
    upright = line["x0"] == line["x1"]
    return {
        "xref": f"x{suffix}" if upright else f"x{suffix} domain",
        "yref": f"y{suffix} domain" if upright else f"y{suffix}",
    }


def _axis(objective: Objective, limits: Window, unit: Scale) -> dict[str, Any]:
    ends = [limits.low / unit.factor, limits.high / unit.factor]
    name = label(objective.name)
    unit_text = f" [{unit.unit}]" if unit.unit else ""
    better = "lower" if objective.sign > 0 else "higher"
    text = plot_text(f"{shorten_text(name, 50)}{unit_text}, {better} is better")
    return {
        "title": {"text": text, "standoff": 8},
        "type": "log" if limits.log else "linear",
        "range": [math.log10(end) for end in ends] if limits.log else ends,
        "zeroline": False,
    }


def _hover(objectives: Sequence[Objective], trial: TrialRecord) -> str:
    values = [f"{label(o.name)} {format_with_unit(trial.values[o.name], o.unit, o.name)}" for o in objectives]
    state = f"cut by {trial.cut_by}: bounds" if trial.state == "cut" else trial.state
    broken = [f"misses {name} by {missed:.3g}" for name, missed in trial.violations.items() if missed > 0]
    lines = [", ".join(values), *broken[:3]]
    told = headline(trial.decided_document) if trial.design is not None else ""
    words, wrapped = told.split(", "), [""]
    for word in words:
        if len(wrapped[-1]) + len(word) > 58:
            wrapped.append("")
        wrapped[-1] += f", {word}" if wrapped[-1] else word
    first = f"<b>#{trial.number}</b> {plot_text(shorten_text(state, 60))}"
    return "<br>".join([first, *(plot_text(shorten_text(line, 90)) for line in [*lines, *wrapped] if line)])


def _note(plane: _Plane) -> str:
    hidden = count_outside(plane.objectives, plane.windows, plane.shown)
    parts = [f"{format_number(hidden[kind])} {kind}" for kind in reversed(KINDS) if kind in hidden]
    far = f"Outside this window (zoom out to see them): {', '.join(parts)}." if parts else ""
    thinned = [kind for kind in KINDS if len(plane.shown[kind]) > plane.most]
    thin = f"Thinned out to {format_number(plane.most)} points: {', '.join(thinned)}." if thinned else ""
    click = "A click on a point of the front leads to its design." if plane.shown["front"] else ""
    return " ".join(text for text in (far, thin, click) if text)
