"""Draws a grid of cells: colour for the value, below it the memory, hatched where nothing can be built."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from dse.report.aspects import DEGREES
from dse.report.plots import style
from dse.report.sensitivity import short_path
from dse.report.units import clean_text, format_number, label, scale, shorten_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class CellState:
    """The best trial of a cell, or the one that came nearest to being one."""

    x: Any
    y: Any
    state: str
    """As of a trial: `feasible`, `infeasible`, `cut`."""
    value: float | None
    """Value of the metric; None where nothing feasible was found."""
    memory: float | None
    """What must be reserved on the fullest stage of an NPU [B]; None where it is not known."""
    trial: int | None
    """None where the cell was filled."""
    trials: int
    """How many fell into it."""
    why: str
    """What rules it out; empty where it is feasible."""


@dataclass(frozen=True)
class Cells:
    """A grid [SI]."""

    run: str
    x: str
    y: str
    metric: str
    unit: str
    better: str
    xs: tuple[Any, ...]
    ys: tuple[Any, ...]
    cells: tuple[CellState, ...]
    trials: int
    filled: int
    around: int | None
    """The trial around which cells were filled."""
    ruled_out: int
    """Designs that were not simulated because they are proven to be off the front."""


def draw_cells(data: Cells) -> Figure:
    """The figure: as large as its cells need."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(style.STYLE):
        longest = max(len(_text(y)) for y in data.ys)
        left = 0.55 + min(3.2, 0.085 * longest) + 0.25
        wide, tall = _cell_size(len(data.xs), len(data.ys))
        slanted = max(len(_text(x)) for x in data.xs) * 0.085 > wide
        below = 1.05 + (min(1.7, 0.06 * max(len(_text(x)) for x in data.xs)) if slanted else 0.0)
        width, height = max(9.0, left + wide * len(data.xs) + 1.5), below + tall * len(data.ys) + 1.05
        figure = Figure(figsize=(width, height))
        box = (left / width, below / height, wide * len(data.xs) / width, tall * len(data.ys) / height)
        axes = figure.add_axes(box)
        _draw_cells(axes, data, tall)
        _set_axes(axes, data, slanted)
        _draw_scale(figure, data, (box[0] + box[2] + 0.25 / width, box[1], 0.16 / width, box[3]))
        _write(figure, data)
        return figure


def _cell_size(columns: int, rows: int) -> tuple[float, float]:
    """Width and height of a cell, in inches: as large as a slide lets them be."""
    return max(0.8, min(2.6, 8.0 / columns)), max(0.46, min(0.95, 5.2 / rows))


def _colours(data: Cells) -> tuple[Any, Any]:
    """The map of colours, and what brings values onto it: logarithmic where they spread more than ten-fold."""
    from matplotlib import colormaps
    from matplotlib.colors import LogNorm, Normalize

    known = [cell.value for cell in data.cells if cell.value is not None] or [0.0, 1.0]
    low, high = min(known), max(known)
    norm = (
        LogNorm(low, high)
        if low > 0 and high > 10 * low
        else Normalize(low, high if high > low else low + abs(low) or 1.0)
    )
    return colormaps["cividis" if data.better == "higher" else "cividis_r"], norm


def _draw_cells(axes: Axes, data: Cells, tall: float) -> None:
    from matplotlib.patches import Rectangle

    colours, norm = _colours(data)
    unit = scale(data.unit, [cell.value for cell in data.cells], data.metric)
    memory = scale("B", [cell.memory for cell in data.cells])
    columns, rows = ({value: at for at, value in enumerate(values)} for values in (data.xs, data.ys))
    best = _best_cell(data)
    for cell in data.cells:
        x, y = columns[cell.x], rows[cell.y]
        built = cell.value is not None
        colour: Sequence[float] = colours(norm(cell.value)) if built else (0.95, 0.955, 0.965)
        edge: dict[str, Any] = {
            "edgecolor": style.VERMILION if cell is best else "white",
            "linewidth": 2.6 if cell is best else 1.2,
        }
        hatch = None if built else "////"
        patch = Rectangle(
            (x - 0.5, y - 0.5),
            1,
            1,
            facecolor=colour,
            hatch=hatch,
            zorder=3 if cell is best else 2,
            clip_on=False,
            **edge,
        )
        if hatch:
            patch.set_edgecolor("#D4D9DF")
        axes.add_patch(patch)
        ink = style.ink_on(colour, 0.5) if built else style.INK
        lines = [unit.number(cell.value) if built else _short(cell.why)]
        held = "" if cell.memory is None else f"{style.format_three(cell.memory / memory.factor)} {memory.unit}"
        if cell.trial is None and built:
            lines[0] += "°"
        axes.text(
            x,
            y - (0.14 if held else 0),
            lines[0],
            ha="center",
            va="center",
            fontsize=9 if built else 7.5,
            color=ink,
            fontweight="bold" if cell is best else "normal",
            zorder=4,
        )
        if held and tall >= 0.4:
            axes.text(x, y + 0.22, held, ha="center", va="center", fontsize=7.2, color=ink, zorder=4)


def _best_cell(data: Cells) -> CellState | None:
    known = [cell for cell in data.cells if cell.value is not None]
    choose = min if data.better == "lower" else max
    return choose(known, key=lambda cell: cell.value or 0.0) if known else None


def _short(why: str) -> str:
    return "\n".join(wrap(clean_text(why), 15, max_lines=2, placeholder="…"))


def _text(value: Any) -> str:
    return shorten_text("yes" if value is True else "no" if value is False else value, 34)


def _set_axes(axes: Axes, data: Cells, slanted: bool) -> None:
    axes.set_xlim(-0.5, len(data.xs) - 0.5)
    axes.set_ylim(-0.5, len(data.ys) - 0.5)
    axes.set_xticks(range(len(data.xs)), [_text(x) for x in data.xs], fontsize=9.5)
    if slanted:
        axes.tick_params(axis="x", rotation=30)
        for text in axes.get_xticklabels():
            text.set_horizontalalignment("right")
    axes.set_yticks(range(len(data.ys)), [_text(y) for y in data.ys], fontsize=9.5)
    axes.invert_yaxis()
    axes.tick_params(length=0)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.set_xlabel(_title(data.x), labelpad=6)
    axes.set_ylabel(_title(data.y), labelpad=8)


def _title(key: str) -> str:
    """`parallelism.tensor` is *tensor parallel*."""
    section, _, name = key.partition(".")
    if name == "npu":
        return "NPU"
    return f"{name} parallel" if section == "parallelism" and name in DEGREES else short_path(key)


def _draw_scale(figure: Figure, data: Cells, place: tuple[float, float, float, float]) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.ticker import FuncFormatter, NullFormatter

    if not any(cell.value is not None for cell in data.cells):
        return
    colours, norm = _colours(data)
    unit = scale(data.unit, [cell.value for cell in data.cells], data.metric)
    bar = figure.colorbar(ScalarMappable(norm, colours), cax=figure.add_axes(place))
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: style.format_three(value / unit.factor)))
    bar.ax.yaxis.set_minor_formatter(NullFormatter())
    bar.outline.set_visible(False)
    name = label(data.metric)
    bar.set_label(f"{name[:1].upper()}{name[1:]} [{unit.unit}]\n{data.better} is better", fontsize=9)
    bar.ax.tick_params(labelsize=8.5)


def _write(figure: Figure, data: Cells) -> None:
    name = label(data.metric)
    title = f"{name[:1].upper()}{name[1:]} by {_title(data.x)} and {_title(data.y)}"
    parts = [data.run, f"the best of {format_number(data.trials)} designs in each cell"]
    if data.filled:
        parts.append(f"{data.filled} empty cells filled around trial {data.around}")
    style.write_headline(figure, title, "  ·  ".join(parts))
    style.draw_note(figure, list(_notes(data)))


def _notes(data: Cells) -> Iterator[str]:
    if data.ruled_out:
        more = "" if data.filled else " (--fill N simulates more)"
        yield "A cell's value is the best simulated, not the best there is:"
        yield f"{format_number(data.ruled_out)} designs off the front were ruled out by proof alone{more}."
    if any(cell.memory is not None for cell in data.cells):
        yield "Below: memory of an NPU."
    yield "Framed: the best." if _best_cell(data) is not None else "Nothing feasible was found."
    if any(cell.value is None for cell in data.cells):
        yield "Hatched: no design that can be built, and why."
    if data.filled:
        yield f"°: simulated with all else as near to trial {data.around} as can be."
    if len(data.cells) < len(data.xs) * len(data.ys):
        yield "Blank: never tried, or not in the space."
