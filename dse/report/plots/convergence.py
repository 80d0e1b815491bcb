"""One objective: every trial in order, and the best so far as a staircase down to the proven bound."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from dse.evaluate.record import StudyRecord
from dse.report.plots import style
from dse.report.points import KINDS, best_so_far, groups, robust_of, window
from dse.report.summary import Summary
from dse.report.units import format_number


def draw(record: StudyRecord, summary: Summary) -> Figure:
    """The figure, 10 x 5.6 inches."""
    figure = Figure(figsize=(10, 5.6))
    axes = figure.add_axes((0.085, 0.145, 0.67, 0.70))
    (objective,) = record.objectives
    shown = groups(record, summary)
    bound = summary.bounds[objective.name]
    limits = window(objective, shown, bound)
    unit = style.axis_scale(objective, limits)
    for kind in KINDS:
        trials = shown[kind]
        style.draw_points(axes, kind, trials.numbers.astype(np.float64), trials.values(objective.name))
    last = int(record.trials.numbers.max()) if record.trials else 1
    numbers, values = best_so_far(objective, record.trials)
    if numbers:
        axes.step([*numbers, last], [*values, values[-1]], where="post", color=style.BLUE, linewidth=1.6, zorder=4)
        text = f"best {unit.text(values[-1])}"
        axes.annotate(text, (last, values[-1]), xytext=(6, 0), textcoords="offset points", fontsize=9, va="center")
    robust = robust_of(record, summary)
    if robust is not None:
        axes.scatter([robust.number], [robust.values[objective.name]], zorder=4.5, **{**style.ROBUST, "s": 150})
    drawn = bound is not None and limits.holds(bound)
    if bound is not None and drawn:
        axes.axhline(bound, color=style.INK, linewidth=0.9, linestyle=(0, (5, 3)), alpha=0.75, zorder=1.5)
        at, beyond = axes.get_yaxis_transform(), "top" if objective.sign > 0 else "bottom"
        axes.text(0.005, bound, f"proven bound {unit.text(bound)}", transform=at, va=beyond, fontsize=8.5)
    style.set_axis(axes, "y", limits, unit)
    axes.set_xlim(-0.02 * last - 0.5, 1.02 * last + 0.5)
    axes.xaxis.set_major_formatter(lambda value, _: format_number(round(value)))
    axes.set_ylabel(style.axis_title(objective, unit), labelpad=7)
    axes.set_xlabel("Trial", labelpad=7)
    style.draw_legend(figure, (0.805, 0.85), record, summary, shown, bound=drawn)
    style.draw_headline(figure, record, summary)
    style.draw_note(figure, [style.why_empty(record), style.outside_note([objective], [limits], shown, summary)])
    return figure
