"""Three objectives or more: a matrix of pairs; the front is that of all objectives, so it is no staircase in a pair."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dse.evaluate.record import StudyRecord
from dse.report.plots import style
from dse.report.points import KINDS, Shown, groups, robust_of, values_of, window
from dse.report.summary import Summary
from dse.report.units import label

_PANEL = 3.1
_BOTTOM = 0.95
"""Room for the axis and two lines of small print, in inches."""


def draw(record: StudyRecord, summary: Summary) -> Figure:
    """The figure: 3.1 inches a panel, one panel below the diagonal for each pair."""
    objectives = record.objectives
    rows = len(objectives) - 1
    width, height = max(8.0, _PANEL * rows + 1.3), _PANEL * rows + 1.7
    figure = Figure(figsize=(width, height))
    shown = groups(record, summary)
    windows = [window(objective, shown, summary.bounds[objective.name]) for objective in objectives]
    units = [style.axis_scale(objective, limits) for objective, limits in zip(objectives, windows, strict=True)]
    bounds = False
    for row in range(rows):
        for column in range(row + 1):
            axes = figure.add_axes(_place(row, column, rows, width, height))
            pair = (column, row + 1)
            for which, index in zip("xy", pair, strict=True):
                style.set_axis(axes, which, windows[index], units[index])
                bounds |= _draw_bound(axes, which, summary.bounds[objectives[index].name])
            _draw_points(axes, record, summary, shown, pair)
            if row == rows - 1:
                axes.set_xlabel(style.axis_title(objectives[column], units[column], arrow=False))
            if column == 0:
                axes.set_ylabel(style.axis_title(objectives[row + 1], units[row + 1], arrow=False))
            axes.tick_params(labelbottom=row == rows - 1, labelleft=column == 0, labelsize=9)
    # Beside the panels above the last row, whose own last panel reaches below the legend.
    floor = (_BOTTOM + _PANEL) / height
    style.draw_legend(figure, (1 - 2.6 / width, 1 - 0.8 / height), record, summary, shown, bound=bounds, floor=floor)
    style.draw_headline(figure, record, summary)
    better = ", ".join(f"{label(o.name)} {'down' if o.sign > 0 else 'up'}" for o in objectives)
    style.draw_note(
        figure, [style.why_empty(record), f"Better: {better}.", style.outside_note(objectives, windows, shown, summary)]
    )
    return figure


def _place(row: int, column: int, rows: int, width: float, height: float) -> tuple[float, float, float, float]:
    left, bottom = 0.85 + column * _PANEL, _BOTTOM + (rows - 1 - row) * _PANEL
    return left / width, bottom / height, (_PANEL - 0.3) / width, (_PANEL - 0.3) / height


def _draw_bound(axes: Axes, which: str, bound: float | None) -> bool:
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    if bound is None or not low <= bound <= high:
        return False
    line = axes.axvline if which == "x" else axes.axhline
    line(bound, color=style.INK, linewidth=0.9, linestyle=(0, (5, 3)), alpha=0.75, zorder=1.5)
    return True


def _draw_points(axes: Axes, record: StudyRecord, summary: Summary, shown: Shown, pair: tuple[int, int]) -> None:
    names = [record.objectives[index].name for index in pair]
    for kind in KINDS:
        xs, ys = (values_of(shown[kind], name) for name in names)
        style.draw_points(axes, kind, xs, ys)
    robust = robust_of(record, summary)
    if robust is not None:
        axes.scatter([robust.values[names[0]]], [robust.values[names[1]]], zorder=6.5, **style.ROBUST)
    knee = [trial for trial in summary.front if trial.number == summary.knee]
    if knee:
        axes.scatter([knee[0].values[names[0]]], [knee[0].values[names[1]]], zorder=7, **style.KNEE)
