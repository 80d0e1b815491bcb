"""Parallel coordinates of the front: a line for each design, an axis for each parameter that differs and objective."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dse.evaluate.record import StudyRecord
from dse.report.aspects import short_names
from dse.report.page.base import Chart, plot_text
from dse.report.summary import Summary
from dse.report.units import MISSING, label, scale, shorten_text
from dse.report.values import cell, finite_or_none
from dse.space.hole import magnitude

_MOST_AXES = 9
_MOST_TICKS = 12


def chart(record: StudyRecord, summary: Summary) -> Chart | None:
    """The chart, or None where no parameter differs over the front."""
    front = summary.front
    paths = dict.fromkeys(path for trial in front for path in trial.params)
    columns = {path: [trial.params.get(path) for trial in front] for path in paths}
    differing = [path for path, values in columns.items() if len({cell(value) for value in values}) > 1]
    if not differing:
        return None
    # Where there is no room for all, those that matter most along the front, in the order of the space.
    matter = {path: max(s.get(path, 0.0) for s in near) for path in differing} if (near := _near_front(summary)) else {}
    ranked = sorted(differing, key=lambda path: -matter.get(path, 0.0))[: _MOST_AXES - len(record.objectives)]
    kept = [path for path in differing if path in ranked]
    axes = [_axis(_name(path, differing), columns[path]) for path in kept]
    for objective in record.objectives:
        values = [trial.values[objective.name] for trial in front]
        unit = scale(objective.unit, values, objective.name)
        title = f"{label(objective.name)} [{unit.unit}]" if unit.unit else label(objective.name)
        axes.append(_axis(title, [finite_or_none(value / unit.factor) for value in values], objective=True))
    first = [trial.values[record.objectives[0].name] for trial in front]
    line = {"color": first, "colorscale": [[0, "@front"], [0.5, "@context"], [1, "@tensor"]], "showscale": False}
    fonts = {"labelfont": {"size": 12, "color": "@ink"}, "tickfont": {"size": 11, "color": "@ink"}}
    hidden = {"rangefont": {"size": 1, "color": "rgba(0,0,0,0)"}}
    trace = {"type": "parcoords", "dimensions": axes, "line": line, "labelangle": -14, **fonts, **hidden}
    note = "Drag along an axis to keep only the designs that pass there; drag its name to move it."
    if len(kept) < len(differing):
        note += f" {len(differing) - len(kept)} more parameters differ; trials.csv has them all."
    layout = {"height": 430, "margin": {"l": 90, "r": 90, "t": 96, "b": 30}}
    return Chart("parameters", "Parameters of the front", note, [trace], layout)


def _axis(name: str, values: Sequence[Any], *, objective: bool = False) -> dict[str, Any]:
    """Many different numbers on a scale of their own; else one tick a value at equal distances, in order."""
    title = plot_text(shorten_text(name, 30))
    numeric = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
    if numeric and (objective or len(set(values)) > _MOST_TICKS):
        return {"label": title, "values": list(values), "tickformat": "~g" if objective else ""}
    # Plotly sets the ticks of this chart as plain text, unlike every other string it shows: nothing to escape.
    texts = [MISSING if value is None else cell(value) for value in values]
    ordered = [cell(value) for value in sorted(set(values))] if numeric else sorted(set(texts), key=_order)
    order = {text: index for index, text in enumerate(ordered)}
    ticks = {
        "tickvals": list(order.values()),
        "ticktext": [shorten_text(_shorten_notation(text), 20) for text in order],
    }
    return {"label": title, "values": [order[text] for text in texts], **ticks}


def _order(text: str) -> tuple[float, str]:
    """Quantities by size, then names."""
    size = magnitude(text)
    return (math.inf if size is None else size), text


def _near_front(summary: Summary) -> list[Mapping[str, float]]:
    return list(summary.importance.near_front.values())


def _shorten_notation(text: str) -> str:
    """A network or an algorithm in its short notation: `switch(8)_ring(4)` is `SW8 Ring4`."""
    for word, short in short_names().items():
        text = text.replace(word, short)
    return text.replace("(", "").replace(")", "").replace("_", " ") if "(" in text else text


def _name(path: str, paths: Sequence[str]) -> str:
    """The end of a path, as much of it as tells it apart from the others."""
    if path.endswith(".split"):
        return f"{path.split('.')[-2]} budget"
    keys = path.split(".")
    for start in range(len(keys) - 1, 0, -1):
        short = ".".join(keys[start:])
        if sum(other == short or other.endswith(f".{short}") for other in paths) == 1:
            return short
    return path
