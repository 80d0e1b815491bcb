"""Pictures of studies: lines and bars along an axis, heat maps over two, with published values beside ours."""

from __future__ import annotations

import math
from textwrap import fill
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.textpath import TextPath
from matplotlib.ticker import FuncFormatter, LogLocator

from dse.report.plots import style
from dse.reproduce.part import Part, Plot
from dse.reproduce.play import Player
from dse.reproduce.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

_LETTERS = 84
"""Most letters of names below the axis, on one line."""
_WIDE, _LEFT, _ACROSS = 9.0, {"heat": 0.13}, 0.86
"""Width of the picture [inch]; where its axes begin, 0.07 unless given, and how wide they are, as shares of it."""
_GAP = 8.0
"""Between the names below the axis [pt]."""
_HOLLOW: dict[str, Any] = {"facecolors": "none", "edgecolors": style.INK, "linewidths": 1.3, "s": 46, "zorder": 5}


def draw_plot(study: Study, part: Part, plot: Plot, player: Player) -> Figure:
    """The picture; what has no value is left out."""
    xs = list(part.axes[plot.x])
    across = plot.y or plot.series
    names = list(part.axes[across]) if across else [""]
    places = [[plot.at | {plot.x: x} | ({across: name} if across else {}) for x in xs] for name in names]
    found = [[player.value(part, place, plot.value).number for place in line] for line in places]
    values = np.array([[np.nan if value is None else value for value in line] for line in found])
    known = {tuple(sorted(row.place.items())): row.published for row in study.rows if row.part is part}
    wanted = plot.value is None
    told = [[known.get(tuple(sorted(place.items()))) if wanted else None for place in line] for line in places]
    published = np.array([[np.nan if value is None else value for value in line] for line in told])
    with mpl.rc_context(style.STYLE):
        labels, size = _broken(xs)
        lines = max(label.count("\n") for label in labels)
        high = (1.9 + 0.55 * len(names) if plot.kind == "heat" else 5.2) + 0.18 * lines
        figure = Figure(figsize=(_WIDE, high))
        below = (1.05 + 0.18 * lines) / high
        axes = figure.add_axes((_LEFT.get(plot.kind, 0.07), below, _ACROSS, 1 - 1.0 / high - below))
        {"lines": _lines, "bars": _bars, "heat": _heat}[plot.kind](axes, values, published, names)
        axes.set_xticks(range(len(xs)), labels, fontsize=size)
        axes.set_xlabel(plot.x, labelpad=6)
        if plot.kind == "heat":
            axes.set_yticks(range(len(names)), names)
            axes.set_ylabel(plot.y or "")
        else:
            _set_values(axes, plot)
            if plot.series:
                colours = {name: _colour(index) for index, name in enumerate(names)}
                style.draw_key(figure, colours, 0.66)
        style.write_headline(figure, plot.title or part.name, _said(study, plot, part))
        hollow = "Hollow marks: published." if np.isfinite(published).any() and plot.kind != "heat" else ""
        style.draw_note(figure, [hollow])
    return figure


def _broken(names: list[str]) -> tuple[list[str], float]:
    """Names below the axis, and their size [pt]: on as few lines as leave a gap between neighbours, smaller if need be.

    They break at spaces and underscores.
    """
    margins = 1.1  # of bars, which leave the most
    room = 72 * _WIDE * _ACROSS / (margins * len(names)) - _GAP
    size = mpl.font_manager.FontProperties(size=mpl.rcParams["xtick.labelsize"]).get_size_in_points()

    def width(line: str) -> float:
        return float(TextPath((0, 0), line, size=size).get_extents().width)

    broken, widest = names, math.inf
    for letters in range(max(8, _LETTERS // len(names)), 5, -1):
        broken = [fill(name.replace("_", "_ "), letters, break_long_words=False).replace("_ ", "_") for name in names]
        widest = max(width(line) for name in broken for line in name.split("\n"))
        if widest <= room:
            break
    return broken, size * min(1.0, room / widest)


def _said(study: Study, plot: Plot, part: Part) -> str:
    """What the values are, where the picture is on the other axes, and of which study it is."""
    what = plot.label or part.unit
    return ". ".join(filter(None, [what[:1].upper() + what[1:], ", ".join(plot.at.values()), study.title]))


def _set_values(axes: Axes, plot: Plot) -> None:
    axes.grid(visible=True, axis="y", color="#E4E7EB", linewidth=0.7)
    if plot.log:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        axes.set_ylim(bottom=0)


def _colour(index: int) -> str:
    return style.SERIES[index % len(style.SERIES)]


def _lines(axes: Axes, values: Values, published: Values, names: list[str]) -> None:
    for index in range(len(names)):
        axes.plot(values[index], color=_colour(index), marker="o", markersize=5, linewidth=1.8)
        axes.scatter(range(values.shape[1]), published[index], **{**_HOLLOW, "edgecolors": _colour(index)})


def _bars(axes: Axes, values: Values, published: Values, names: list[str]) -> None:
    wide = 0.8 / len(names)
    for index in range(len(names)):
        at = np.arange(values.shape[1]) + wide * (index - (len(names) - 1) / 2)
        axes.bar(at, np.nan_to_num(values[index]), width=0.92 * wide, color=_colour(index))
        axes.scatter(at, published[index], **_HOLLOW)


def _heat(axes: Axes, values: Values, published: Values, names: list[str]) -> None:
    image = axes.imshow(np.ma.masked_invalid(values), aspect="auto", cmap="cividis")
    for spine in axes.spines.values():
        spine.set_visible(False)
    for (row, column), value in np.ndenumerate(values):
        text = style.format_three(float(value)) if np.isfinite(value) else "–"
        colour = (
            style.ink_on(tuple(image.to_rgba(np.array([value]))[0, :3]), 0.5) if np.isfinite(value) else style.QUIET
        )
        axes.text(column, row, text, ha="center", va="center", fontsize=9.5, color=colour)
