"""Rows of stacked bars: what the pictures of time, money, bandwidth and memory have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from dse.report.plots import style
from dse.report.plots.base import Plot
from dse.report.plots.chosen import Chosen
from dse.report.units import Scale, clean_text, scale, shorten_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW, _TOP, _BOTTOM, _WIDTH = 0.48, 1.2, 1.0, 11.0
"""Heights of a row and of what is above and below the rows, and the width, in inches."""
_LEFT, _NARROW, _RIGHT = 0.30, 0.12, 0.905
"""Where the bars begin, with and without text on what designs differ in, and where the axis ends."""
_SHORT = 14
"""Letters of a name that fit beside bars that begin at the left."""
_LETTER = 0.083
"""Width of a letter in a bar, in inches."""
_LIGHT = 0.55
"""Luminance above which text on a colour is dark."""


@dataclass(frozen=True)
class Row:
    """One bar: its parts add up to its total."""

    name: str
    note: str
    told: str
    parts: Mapping[str, float]
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Texts inside parts in place of their numbers, the longest first: the first one that fits is shown."""
    run: str = ""
    trial: int | None = None
    interval: tuple[float, float] | None = None
    """Where nine of ten measurements of the total would lie."""


@dataclass(frozen=True)
class Bars:
    """A picture of rows [SI]."""

    title: str
    said: str
    axis: str
    unit: str
    rows: tuple[Row, ...]
    caption: str = ""
    limits: Mapping[str, float] = field(default_factory=dict)
    """Lines across all rows, each with its name."""
    scale: tuple[float, str] | None = None
    """Factor and unit of the axis, where its values do not decide them."""


class StackedBars(Plot[Bars]):
    """A kind of picture with a row of stacked bars for each design."""

    takes = frozenset({"trial"})
    designs = True

    @abstractmethod
    def colours(self, data: Bars) -> Mapping[str, str]:
        """Colours of all parts, in the order of stacking."""

    @final
    def draw(self, data: Bars) -> Figure:
        """See `Plot.draw`."""
        return draw_bars(data, self.colours(data))


def row_of(chosen: Chosen, parts: Mapping[str, float], labels: Mapping[str, tuple[str, ...]] | None = None) -> Row:
    """The row of a design."""
    return Row(chosen.name, chosen.note, chosen.told, parts, labels or {}, chosen.run, chosen.trial)


def draw_bars(data: Bars, colours: Mapping[str, str]) -> Figure:
    """The figure: 11 inches wide, as high as it has rows; `colours` of all parts, in the order of stacking."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(style.STYLE):
        height = _TOP + _BOTTOM + _ROW * max(2, len(data.rows))
        figure = Figure(figsize=(_WIDTH, height))
        long = any(row.told or len(f"{row.name} {row.note}") > _SHORT for row in data.rows)
        left = _LEFT if long else _NARROW
        axes = figure.add_axes((left, _BOTTOM / height, _RIGHT - left, 1 - (_TOP + _BOTTOM) / height))
        totals = [end for row in data.rows for end in (sum(row.parts.values()), *(row.interval or ()))]
        unit = scale(data.unit, [*totals, *data.limits.values()]) if data.scale is None else Scale(*data.scale)
        kept = [part for part in colours if any(row.parts.get(part, 0.0) > 0 for row in data.rows)]
        most = max([*totals, *data.limits.values()]) / unit.factor or 1.0
        axes.set_xlim(0, 1.02 * most)
        axes.set_ylim(len(data.rows) - 0.4, -0.6)
        for at, row in enumerate(data.rows):
            _draw_row(axes, at, row, [(part, colours[part]) for part in kept], unit)
        _draw_limits(axes, data.limits, unit)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.grid(visible=True, axis="x", color="#E4E7EB", linewidth=0.7)
        axes.set_xlabel(f"{data.axis} [{unit.unit}]", labelpad=6)
        style.draw_key(figure, {part: colours[part] for part in kept}, 0.66, handleheight=0.9)
        style.write_headline(figure, data.title, data.said)
        style.draw_note(figure, [data.caption])
        return figure


def _draw_row(axes: Axes, at: int, row: Row, parts: Sequence[tuple[str, str]], unit: Scale) -> None:
    from matplotlib.colors import to_rgb

    whole, begin = axes.get_xlim()[1], 0.0
    wide = axes.get_position().width * _WIDTH / whole
    for part, colour in parts:
        width = row.parts.get(part, 0.0) / unit.factor
        if width <= 0:
            continue
        axes.barh(at, width, 0.66, left=begin, color=colour, edgecolor="white", linewidth=0.8)
        texts = row.labels.get(part, (style.format_three(width),))
        text = next((text for text in texts if len(text) * _LETTER < width * wide), "")
        axes.text(
            begin + width / 2,
            at,
            clean_text(text),
            ha="center",
            va="center",
            fontsize=8.5,
            color=style.ink_on(to_rgb(colour), _LIGHT),
        )
        begin += width
    if row.interval is not None:  # below the bar, where it hides no text
        ends = [value / unit.factor for value in row.interval]
        axes.plot(ends, [at + 0.41] * 2, color=style.INK, linewidth=1.3, marker="|", markersize=5, clip_on=False)
    total = unit.text(style.three_digits(begin) * unit.factor)
    box = {"boxstyle": "square,pad=0.12", "facecolor": "white", "edgecolor": "none"}
    axes.text(begin + 0.01 * whole, at, total, va="center", fontsize=9.5, fontweight="bold", bbox=box)
    _name_row(axes, at, row)


def _name_row(axes: Axes, at: int, row: Row) -> None:
    """At the left: name and note, below them in what the design differs from the others."""
    across, place = axes.get_yaxis_transform(), axes.get_position()
    left = -(place.x0 - 0.012) / place.width
    name = shorten_text(f"{row.name}  {row.note}", 34)
    axes.text(left, at - (0.16 if row.told else 0), name, transform=across, va="center", fontsize=10, weight="bold")
    told = shorten_text(row.told, 50)
    axes.text(left, at + 0.2, told, transform=across, va="center", fontsize=7.8, color=style.QUIET)


def _draw_limits(axes: Axes, limits: Mapping[str, float], unit: Scale) -> None:
    for name, value in limits.items():
        axes.axvline(value / unit.factor, color=style.INK, linewidth=1.3, linestyle=(0, (5, 3)))
        axes.annotate(
            f"{name} {unit.text(style.three_digits(value / unit.factor) * unit.factor)}",
            (value / unit.factor, 1.0),
            xycoords=axes.get_xaxis_transform(),
            xytext=(0, 3),
            textcoords="offset points",
            ha="right" if value / unit.factor > 0.5 * axes.get_xlim()[1] else "left",
            fontsize=9,
        )
