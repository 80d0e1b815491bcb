"""Fronts of several runs on common axes, and the front of all of them.

With one objective the best so far of each run, with two a staircase each, with more a panel for each pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dse.evaluate.record import TrialRecord
from dse.report.plots import style
from dse.report.plots.fronts import Fronts, RunFront
from dse.report.points import Kind, Window, best_so_far, staircase, time_ends, window
from dse.report.units import format_number, format_with_unit, label, shorten_text

_SHAPES = ("o", "s", "D", "^", "v", "P", "X", "p")
_HALO: dict[str, Any] = {"s": 190, "facecolors": "none", "edgecolors": style.INK, "linewidths": 1.0, "zorder": 6}
"""Around what is on the front of all runs."""


def draw_overlay(data: Fronts) -> Figure:
    """The figure: 11 inches wide."""
    with rc_context(style.STYLE):
        objectives = data.runs[0].record.objectives
        if len(objectives) == 1:
            return _draw_progress(data)
        return _draw_panels(data, list(combinations(range(len(objectives)), 2)))


def _draw_panels(data: Fronts, pairs: Sequence[tuple[int, int]]) -> Figure:
    columns = 1 if len(pairs) == 1 else 2
    rows = -(-len(pairs) // columns)
    height = 6.2 if rows == 1 else 1.2 + 4.0 * rows
    figure = Figure(figsize=(11, height))
    objectives = data.runs[0].record.objectives
    windows = [_window(data, index) for index in range(len(objectives))]
    units = [style.axis_scale(o, limits) for o, limits in zip(objectives, windows, strict=True)]
    for number, pair in enumerate(pairs):
        axes = figure.add_axes(_place(number, rows, columns, height))
        for which, index in zip("xy", pair, strict=True):
            style.set_axis(axes, which, windows[index], units[index])
            title = style.axis_title(objectives[index], units[index], arrow=len(pairs) == 1)
            (axes.set_xlabel if which == "x" else axes.set_ylabel)(title, labelpad=6)
        for index, run in enumerate(data.runs):
            _draw_run(axes, data, index, run, pair)
        _draw_bounds(axes, data, pair, windows)
    _draw_names(figure, data, height)
    _write(figure, data)
    return figure


def _place(number: int, rows: int, columns: int, height: float) -> tuple[float, float, float, float]:
    row, column = divmod(number, columns)
    wide = (0.71 - 0.075 * (columns - 1)) / columns
    tall = (height - 1.85 - 0.75 * (rows - 1)) / rows
    bottom = 0.95 + (rows - 1 - row) * (tall + 0.75)
    return 0.075 + column * (wide + 0.085), bottom / height, wide, tall / height


def _window(data: Fronts, index: int) -> Window:
    """Covers all fronts, and the trials near them."""
    objective = data.runs[0].record.objectives[index]
    shown: dict[Kind, list[TrialRecord]] = {"cut": [], "infeasible": [], "dominated": []}
    shown["front"] = [trial for run in data.runs for trial in run.summary.front]
    known = [bound for run in data.runs if (bound := run.summary.bounds[objective.name]) is not None]
    bound = (min if objective.sign > 0 else max)(known) if len(known) == len(data.runs) else None
    return window(objective, shown, bound)


def _draw_run(axes: Axes, data: Fronts, index: int, run: RunFront, pair: tuple[int, int]) -> None:
    objectives = run.record.objectives
    chosen = [objectives[at] for at in pair]
    colour, front = style.SERIES[index % len(style.SERIES)], run.summary.front
    below = len(data.runs) - 1 - index  # the first runs are larger: what several runs found shows all of them
    xs, ys = ([trial.values[o.name] for trial in front] for o in chosen)
    if len(objectives) == 2 and front:
        axes.plot(*staircase(objectives, front), color=colour, linewidth=1.4 + 1.2 * below, alpha=0.8, zorder=4)
    for axis, objective in zip("xy", chosen, strict=True):
        _draw_intervals(axes, axis, objective.name, front, (xs, ys), colour)
    many = len(front) > style.MOST_VECTORS
    shape = _SHAPES[index % len(_SHAPES)]
    edge: dict[str, Any] = {"s": 34 + 42 * below, "edgecolors": "white", "linewidths": 0.7}
    axes.scatter(xs, ys, color=colour, marker=shape, zorder=5, rasterized=many, **edge)
    on_union = {trial for at, trial in data.union if at == index}
    kept = [(x, y) for x, y, trial in zip(xs, ys, front, strict=True) if trial.number in on_union]
    if kept:
        axes.scatter(*zip(*kept, strict=True), **_HALO, rasterized=len(kept) > style.MOST_VECTORS)
    knee = next((trial for trial in front if trial.number == run.summary.knee), None)
    for trial, marker in ((knee, style.KNEE), (run.robust, style.ROBUST)):
        if trial is not None:
            place = ([trial.values[o.name]] for o in chosen)
            axes.scatter(*place, zorder=7, **{**marker, "s": 0.7 * marker["s"], "color": colour})


def _draw_intervals(
    axes: Axes,
    axis: str,
    name: str,
    front: Sequence[TrialRecord],
    places: tuple[Sequence[float], Sequence[float]],
    colour: str,
) -> None:
    draw = axes.hlines if axis == "x" else axes.vlines
    for trial, x, y in zip(front, *places, strict=True):
        ends = time_ends(trial, name)
        if ends is not None:
            draw(y if axis == "x" else x, *ends, color=colour, alpha=0.18, linewidth=3, zorder=2, capstyle="butt")


def _draw_bounds(axes: Axes, data: Fronts, pair: tuple[int, int], windows: Sequence[Window]) -> None:
    for line, at in zip((axes.axvline, axes.axhline), pair, strict=True):
        name = data.runs[0].record.objectives[at].name
        for index, run in enumerate(data.runs):
            bound = run.summary.bounds[name]
            if bound is not None and windows[at].holds(bound):
                line(bound, color=style.SERIES[index % len(style.SERIES)], linewidth=1.0, linestyle=(0, (5, 3)))


def _draw_progress(data: Fronts) -> Figure:
    figure = Figure(figsize=(11, 6.0))
    axes = figure.add_axes((0.075, 0.155, 0.71, 0.69))
    objective = data.runs[0].record.objectives[0]
    limits = _progress_window(data)
    unit = style.axis_scale(objective, limits)
    last = max((run.record.trials[-1].number for run in data.runs if run.record.trials), default=1)
    for index, run in enumerate(data.runs):
        numbers, values = best_so_far(objective, run.record.trials)
        if numbers:
            colour = style.SERIES[index % len(style.SERIES)]
            end = run.record.trials[-1].number
            axes.step([*numbers, end], [*values, values[-1]], where="post", color=colour, linewidth=1.8)
            axes.scatter([end], [values[-1]], color=colour, marker=_SHAPES[index % len(_SHAPES)], zorder=5)
        bound = run.summary.bounds[objective.name]
        if bound is not None and limits.holds(bound):
            axes.axhline(bound, color=style.SERIES[index % len(style.SERIES)], linewidth=1.0, linestyle=(0, (5, 3)))
    style.set_axis(axes, "y", limits, unit)
    axes.set_xlim(-0.02 * last - 0.5, 1.02 * last + 0.5)
    axes.set_ylabel(style.axis_title(objective, unit), labelpad=7)
    axes.set_xlabel("Trial", labelpad=7)
    _draw_names(figure, data, 6.0)
    _write(figure, data)
    return figure


def _progress_window(data: Fronts) -> Window:
    """From the best of all to the first best of the run that began worst, as a window shows a front."""
    objective = data.runs[0].record.objectives[0]
    shown: dict[Kind, list[TrialRecord]] = {"cut": [], "infeasible": [], "front": []}
    shown["dominated"] = [
        trial
        for run in data.runs
        for trial in run.record.feasible_trials.numbered_among(best_so_far(objective, run.record.trials)[0])
    ]
    known = [bound for run in data.runs if (bound := run.summary.bounds[objective.name]) is not None]
    return window(objective, shown, (min if objective.sign > 0 else max)(known, default=None))


def _draw_names(figure: Figure, data: Fronts, height: float) -> None:
    """The key at the right: each run in its colour, with how much of the front of all runs is its own."""
    handles: list[Any] = []
    many = len(data.runs[0].record.objectives) > 1
    for index, run in enumerate(data.runs):
        own = sum(at == index for at, _ in data.union)
        front = f"{len(run.summary.front)} on its front,\n{own} on that of all" if many else _best(run)
        text = f"{shorten_text(run.name, 28)}\n{front}"
        look: dict[str, Any] = {
            "color": style.SERIES[index % len(style.SERIES)],
            "marker": _SHAPES[index % len(_SHAPES)],
        }
        handles.append(Line2D([], [], linewidth=1.4, label=text, **look))
    if many:
        handles.append(_marker("o", "none", "on the front of all runs", 11))
    if any(run.summary.knee is not None for run in data.runs):
        handles.append(_marker("*", "white", "knee", 12))
    if any(run.robust is not None for run in data.runs):
        handles.append(_marker(style.ROBUST["marker"], "white", "robust pick", 8))
    figure.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(0.795, 1 - 0.8 / height),
        frameon=False,
        fontsize=9,
        labelspacing=0.9,
    )


def _best(run: RunFront) -> str:
    objective = run.record.objectives[0]
    best = run.summary.best[objective.name]
    return f"best {format_with_unit(best, objective.unit, objective.name)}"


def _marker(shape: str, inside: str, text: str, size: float) -> Line2D:
    return Line2D(
        [],
        [],
        linewidth=0,
        marker=shape,
        markersize=size,
        markerfacecolor=inside,
        markeredgecolor=style.INK,
        label=text,
    )


def _write(figure: Figure, data: Fronts) -> None:
    trials = sum(run.summary.trials for run in data.runs)
    union = f"{data.distinct} designs on the front of all" if data.union else "nothing feasible"
    one = len(data.runs[0].record.objectives) == 1
    said = "best so far of each run" if one else union
    style.write_headline(
        figure, f"{len(data.runs)} runs on common axes", f"{said}  ·  {format_number(trials)} designs evaluated"
    )
    objectives = data.runs[0].record.objectives
    timed = any(time_ends(t, o.name) for run in data.runs for t in run.summary.front for o in objectives)
    bounds = any(bound is not None for run in data.runs for bound in run.summary.bounds.values())
    better = ", ".join(f"{label(o.name)} {'down' if o.sign > 0 else 'up'}" for o in objectives)
    style.draw_note(
        figure,
        [
            f"Better: {better}.",
            style.INTERVALS if timed and not one else "",
            "Dashed: proven bounds." if bounds else "",
        ],
    )
