"""Two objectives: the front as a staircase among everything that was tried."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dse.evaluate.record import StudyRecord
from dse.evaluate.spread import spread_indices
from dse.report.plots import style
from dse.report.points import KINDS, Window, groups, robust_of, staircase, time_ends, window
from dse.report.summary import Summary
from dse.report.units import Scale
from dse.space.objective import Objective

_LABEL = 0.04
"""Height of a bound's label, as a share of the axes."""
_BARS = 8
"""Members of the front that show their interval."""
_NOTE = 0.3
"""Width of the knee's note, as a share of the axes."""


def draw(record: StudyRecord, summary: Summary) -> Figure:
    """The figure, 10 x 6.2 inches."""
    figure = Figure(figsize=(10, 6.2))
    axes = figure.add_axes((0.085, 0.15, 0.66, 0.715))
    shown = groups(record, summary)
    objectives = record.objectives
    windows = [window(objective, shown, summary.bounds[objective.name]) for objective in objectives]
    units = [style.axis_scale(objective, limits) for objective, limits in zip(objectives, windows, strict=True)]
    for kind in KINDS:
        points = [shown[kind].values(objective.name) for objective in objectives]
        style.draw_points(axes, kind, points[0], points[1])
    _draw_stairs(axes, record, summary, windows)
    lines = [_draw_bound(axes, index, objectives, summary, windows, units) for index in (0, 1)]
    for which, objective, limits, unit in zip("xy", objectives, windows, units, strict=True):
        style.set_axis(axes, which, limits, unit)
        (axes.set_xlabel if which == "x" else axes.set_ylabel)(style.axis_title(objective, unit), labelpad=7)
    _draw_robust(axes, objectives, record, summary)
    _draw_knee(axes, record, summary, units)
    if not any(shown.values()):
        axes.text(0.5, 0.5, "nothing to show", transform=axes.transAxes, ha="center", color="#52606D")
    style.draw_legend(figure, (0.765, 0.87), record, summary, shown, bound=any(lines))
    style.draw_headline(figure, record, summary)
    intervals = _draw_intervals(axes, objectives, summary)
    style.draw_note(
        figure,
        [
            style.why_empty(record),
            style.INTERVALS if intervals else "",
            style.outside_note(objectives, windows, shown, summary),
        ],
    )
    return figure


def _draw_stairs(axes: Axes, record: StudyRecord, summary: Summary, windows: list[Window]) -> None:
    xs, ys = staircase(record.objectives, summary.front)
    if not xs:
        return
    axes.plot(xs, ys, color=style.BLUE, linewidth=1.5, zorder=4)
    # What the front dominates goes on to the worse end of each axis.
    ends = [limits.high if o.sign > 0 else limits.low for o, limits in zip(record.objectives, windows, strict=True)]
    axes.plot([xs[0], xs[0]], [ends[1], ys[0]], color=style.BLUE, linewidth=1.0, alpha=0.35, zorder=4)
    axes.plot([xs[-1], ends[0]], [ys[-1], ys[-1]], color=style.BLUE, linewidth=1.0, alpha=0.35, zorder=4)
    area = axes.fill_between([*xs, ends[0]], [*ys, ys[-1]], ends[1], color=style.BLUE, alpha=0.05, linewidth=0)
    area.set_zorder(0.5)


def _draw_bound(
    axes: Axes,
    index: int,
    objectives: tuple[Objective, ...],
    summary: Summary,
    windows: list[Window],
    units: list[Scale],
) -> bool:
    """Draw the proven bound of objective `index`, if it has one inside its window."""
    bound = summary.bounds[objectives[index].name]
    if bound is None or not windows[index].holds(bound):
        return False
    text = f"proven bound {units[index].text(bound)}"
    look: dict[str, Any] = {
        "color": style.INK,
        "linewidth": 0.9,
        "linestyle": (0, (5, 3)),
        "alpha": 0.75,
        "zorder": 1.5,
    }
    if index == 0:
        axes.axvline(bound, **look)
        near_left = bound - windows[0].low < 0.05 * (windows[0].high - windows[0].low)
        side = "left" if near_left else "right"
        at = axes.get_xaxis_transform()
        axes.text(bound, 0.985, f" {text} ", transform=at, rotation=90, fontsize=8.5, va="top", ha=side)
    else:
        axes.axhline(bound, **look)
        # Beyond the bound, where no design can be, if there is room: the staircase ends just on this side of it.
        low, high = windows[1].low, windows[1].high
        lower = objectives[1].sign > 0
        beyond = (bound - low if lower else high - bound) > _LABEL * (high - low)
        side = "top" if lower == beyond else "bottom"
        across = axes.get_yaxis_transform()
        axes.text(0.995, bound, text, transform=across, ha="right", fontsize=8.5, va=side)
    return True


def _draw_intervals(axes: Axes, objectives: tuple[Objective, ...], summary: Summary) -> bool:
    """A light bar through some members of the front, where their times are known to lie; whether there is any."""
    kept = [summary.front[index] for index in spread_indices(len(summary.front), _BARS)]
    for index, objective in enumerate(objectives):
        other = objectives[1 - index].name
        known = [(trial.values[other], ends) for trial in kept if (ends := time_ends(trial, objective.name))]
        if known:
            draw = axes.hlines if index == 0 else axes.vlines
            places, spans = [place for place, _ in known], np.array([ends for _, ends in known])
            draw(places, spans[:, 0], spans[:, 1], color=style.BLUE, alpha=0.16, linewidth=2.5, zorder=1.2)
            return True
    return False


def _draw_robust(axes: Axes, objectives: tuple[Objective, ...], record: StudyRecord, summary: Summary) -> None:
    robust = robust_of(record, summary)
    if robust is not None:
        axes.scatter(*([robust.values[objective.name]] for objective in objectives), zorder=6.5, **style.ROBUST)


def _draw_knee(axes: Axes, record: StudyRecord, summary: Summary, units: list[Scale]) -> None:
    knee = next((trial for trial in summary.front if trial.number == summary.knee), None)
    if knee is None:
        return
    x, y = (knee.values[objective.name] for objective in record.objectives)
    axes.scatter([x], [y], zorder=7, **style.KNEE)
    robust = robust_of(record, summary)
    name = "knee and robust pick" if robust is not None and robust.number == knee.number else "knee"
    text = f"{name}: {units[0].text(x)}, {units[1].text(y)}"
    # Towards what the knee dominates, where the staircase never runs; back inside where that would leave the axes.
    right, up = (objective.sign > 0 for objective in record.objectives)
    at = axes.transLimits.transform(axes.transScale.transform((x, y)))
    leaves = at[0] > 1 - _NOTE if right else at[0] < _NOTE
    axes.annotate(
        text,
        (x, y),
        xytext=(0 if leaves else 24 if right else -24, 28 if up else -28),
        textcoords="offset points",
        fontsize=9.5,
        ha="right" if right == leaves else "left",
        va="bottom" if up else "top",
        zorder=8,
        bbox={"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": "#CBD2D9", "alpha": 0.92},
        arrowprops={"arrowstyle": "-", "color": style.INK, "linewidth": 0.8},
    )
