"""What the pictures share: style, markers, axes with units, legend, notes, and rendering to reproducible bytes.

Kinds of trials differ by the shape of their marker as well as by colour; the colours are those of Okabe & Ito (2008),
told apart with any common colour blindness. Text is never read as TeX: a `$` is a dollar.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Mapping, Sequence
from textwrap import wrap
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from dse.evaluate.record import StudyRecord
from dse.evaluate.trials import Floats
from dse.report.describe import compare
from dse.report.infeasible import explain_infeasible
from dse.report.points import KINDS, Kind, Shown, Window, count_outside, robust_of, title
from dse.report.summary import Summary
from dse.report.units import (
    Scale,
    clean_text,
    format_brief,
    format_number,
    format_with_unit,
    label,
    scale,
    shorten_text,
)
from dse.space.objective import Objective

_LETTERS = 13.5
"""Letters of the small print that fit in an inch."""
_LINE = 0.192
"""Height of a line beside the plot, in inches."""

MOST_VECTORS = 400
"""Points of one kind that an SVG holds as shapes: each takes a hundred bytes."""

AT_ONCE = 100_000
"""Points that are placed at once: matplotlib copies their coordinates several times."""

Draw = Callable[[StudyRecord, Summary], Figure]

BLUE, GREY, VERMILION, PURPLE, YELLOW, INK = "#0072B2", "#8C9AA6", "#D55E00", "#AA5B8C", "#F0C000", "#1F2933"
QUIET = "#52606D"
"""Style of text beside the point."""
INTERVALS = "Light bars: intervals of predicted times; they move together, so overlap is no tie."
SERIES = ("#0072B2", "#D55E00", "#009E73", "#AA5B8C", "#E69F00", "#56B4E9", "#1F2933", "#8C9AA6")
"""One for each run of a picture: Okabe & Ito's, the darkest first."""
MARKERS: dict[Kind, dict[str, Any]] = {
    "cut": {"marker": "s", "s": 26, "facecolors": "none", "edgecolors": PURPLE, "linewidths": 0.9, "alpha": 0.75},
    "infeasible": {"marker": "x", "s": 26, "color": VERMILION, "linewidths": 1.1, "alpha": 0.75},
    "dominated": {"marker": "o", "s": 20, "color": GREY, "linewidths": 0, "alpha": 0.65},
    "front": {"marker": "o", "s": 46, "color": BLUE, "edgecolors": "white", "linewidths": 0.8},
}
KNEE: dict[str, Any] = {"marker": "*", "s": 260, "color": YELLOW, "edgecolors": INK, "linewidths": 0.9}
ROBUST: dict[str, Any] = {"marker": "D", "s": 90, "color": "#009E73", "edgecolors": INK, "linewidths": 0.9}
# Any: matplotlib types the keys of its settings from 3.11 on, as a Literal of all of them.
STYLE: Any = {
    "font.family": ["DejaVu Sans"],
    "font.size": 11,
    "axes.edgecolor": "#9AA5B1",
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "svg.hashsalt": "dse",
    "svg.fonttype": "path",
}


Form = Literal["png", "svg", "pdf"]
_METADATA: dict[Form, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": "dse"},
    "pdf": {"CreationDate": None, "Creator": "dse", "Producer": None},
}


def render(figure: Figure, form: Form) -> bytes:
    """The figure as a file, without dates or versions: the same bytes for the same figure and version of matplotlib."""
    out = io.BytesIO()
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        # A name in a script that the font lacks is drawn as boxes; that is no reason to fail.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(out, format=form, dpi=160, metadata=_METADATA[form])
    return out.getvalue()


def axis_scale(objective: Objective, window: Window) -> Scale:
    """The unit of an axis that shows `window`."""
    return scale(objective.unit, [window.low, window.high], objective.name)


def axis_title(objective: Objective, unit: Scale, *, arrow: bool = True) -> str:
    """`Iteration time [s]`, with the direction in which it is better."""
    name = label(objective.name)
    better = f"  ({'lower' if objective.sign > 0 else 'higher'} is better)" if arrow else ""
    return shorten_text(f"{name[:1].upper()}{name[1:]}{f' [{unit.unit}]' if unit.unit else ''}{better}", 70)


def set_axis(axes: Axes, which: str, window: Window, unit: Scale) -> None:
    """Limits, scale and readable ticks of axis `x` or `y`."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    if window.log:
        (axes.set_xscale if which == "x" else axes.set_yscale)("log")
        wide = window.high > 1000 * window.low
        axis.set_major_locator(LogLocator(base=10, subs=(1.0,) if wide else (1.0, 2.0, 5.0)))
        axis.set_minor_locator(FixedLocator([]))
    else:
        # At round numbers of the unit shown, which need not be those of SI: 1 GiB = 2^30 B.
        round_numbers = MaxNLocator(nbins=7, steps=[1, 2, 2.5, 5, 10])
        ticks = round_numbers.tick_values(window.low / unit.factor, window.high / unit.factor)
        axis.set_major_locator(FixedLocator([tick * unit.factor for tick in ticks]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: format_brief(value / unit.factor)))
    axis.set_minor_formatter(NullFormatter())
    (axes.set_xlim if which == "x" else axes.set_ylim)(window.low, window.high)
    axes.grid(visible=True, color="#E4E7EB", linewidth=0.7)


def draw_points(axes: Axes, kind: Kind, xs: Sequence[float] | Floats, ys: Sequence[float] | Floats) -> None:
    """The points of one kind; above the grid, the front on top. Many are pixels, in SVG and PDF too."""
    for start in range(0, len(xs), AT_ONCE):
        some = (column[start : start + AT_ONCE] for column in (xs, ys))
        axes.scatter(*some, zorder=2 + KINDS.index(kind), rasterized=len(xs) > MOST_VECTORS, **MARKERS[kind])


def draw_legend(
    figure: Figure,
    place: tuple[float, float],
    record: StudyRecord,
    summary: Summary,
    shown: Shown,
    *,
    bound: bool,
    floor: float = 0.0,
) -> None:
    """The legend with its upper left corner at `place` of the figure, below it what the knee is, down to `floor`."""
    handles = _handles(shown, len(record.objectives), knee=summary.knee is not None, bound=bound)
    if (robust := robust_of(record, summary)) is not None:
        look = {**ROBUST, "s": 50, "label": f"robust pick: trial {robust.number}"}
        handles.insert(1, Figure().add_subplot().scatter([], [], **look))
    figure.legend(handles=handles, loc="upper left", bbox_to_anchor=place, frameon=False, fontsize=9.5)
    index = next((i for i, trial in enumerate(summary.front) if trial.number == summary.knee), None)
    if index is None:
        return
    trial = summary.front[index]
    values = [format_with_unit(trial.values[o.name], o.unit, o.name) for o in record.objectives]
    phrases = compare([member.decided_document for member in summary.front]).phrases[index]
    lines = [f"Knee: trial {trial.number}", *values, *phrases]
    below = place[1] - (0.2 + 0.225 * len(handles)) / figure.get_figheight()
    room = min(12, int((below - floor) * figure.get_figheight() / _LINE))
    kept = lines if len(lines) <= room else [*lines[: room - 1], "…"]
    text = "\n".join(shorten_text(line, 30) for line in kept)
    figure.text(place[0] + 0.012, below, text, fontsize=9.5, va="top", linespacing=1.45, color=QUIET)


def _handles(shown: Shown, objectives: int, *, knee: bool, bound: bool) -> list[Any]:
    handles: list[Any] = []
    probe = Figure().add_subplot()
    for kind in reversed(KINDS):
        if shown[kind]:
            handle = probe.scatter([], [], **MARKERS[kind])
            handle.set_label(title(kind, shown, objectives))
            handles.append(handle)
    if knee:
        handles.insert(1, probe.scatter([], [], **{**KNEE, "s": 110}, label="knee"))
    if bound:
        handles.append(Line2D([], [], color=INK, linewidth=0.9, linestyle=(0, (5, 3)), label="proven bound"))
    return handles


def draw_headline(figure: Figure, record: StudyRecord, summary: Summary) -> None:
    """Title and subtitle, at the top left."""
    count = len(summary.front)
    what = "no feasible design" if not count else "1 design" if count == 1 else f"{format_number(count)} designs"
    front = f"{what} on the Pareto front" if count and len(record.objectives) > 1 else "best design found"
    said = [
        front if count else what,
        f"{format_number(summary.trials)} evaluated",
        f"sampler {clean_text(record.sampler)}",
        f"seed {record.seed}",
    ]
    write_headline(figure, record.space, "  ·  ".join(said))


def write_headline(figure: Figure, title: str, said: str) -> None:
    """Title and subtitle, at the top left."""
    height, wide = figure.get_figheight(), figure.get_figwidth()
    figure.text(0.012, 1 - 0.16 / height, shorten_text(title, int(7 * wide)), fontsize=15, fontweight="bold", va="top")
    figure.text(0.012, 1 - 0.5 / height, shorten_text(said, int(11 * wide)), fontsize=10, color=QUIET, va="top")


def mark_hypothetical(figure: Figure) -> None:
    """Say at the top right that clusters may be ones that nobody sells."""
    look: dict[str, Any] = {"fontsize": 9.5, "color": VERMILION, "ha": "right", "va": "top"}
    figure.text(0.988, 1 - 0.16 / figure.get_figheight(), "hypothetical: not all of this is sold", **look)


def draw_note(figure: Figure, sentences: Sequence[str]) -> None:
    """Small print at the bottom left, in at most two lines."""
    text = shorten_text("  ".join(sentence for sentence in sentences if sentence), 400)
    lines = wrap(text, int(_LETTERS * figure.get_figwidth()), max_lines=2, placeholder=" …")
    figure.text(0.012, 0.1 / figure.get_figheight(), "\n".join(lines), fontsize=8.5, color=QUIET, va="bottom")


def draw_key(figure: Figure, colours: Mapping[str, str], below: float, **look: float) -> None:
    """What colours mean, name -> colour: a line that begins at the left, `below` inches from the top."""
    handles = [Patch(color=colour, label=name) for name, colour in colours.items()]
    figure.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(0.004, 1 - below / figure.get_figheight()),
        ncols=len(handles),
        frameon=False,
        fontsize=9,
        handlelength=1.0,
        columnspacing=1.2,
        handletextpad=0.5,
        **look,
    )


def three_digits(number: float) -> float:
    """As many as fit into a bar or a cell."""
    return float(f"{number:.3g}")


def format_three(number: float) -> str:
    """A number in three digits."""
    return format_brief(three_digits(number))


def ink_on(colour: Sequence[float], light: float) -> str:
    """The colour of text on one of these shares of red, green and blue: dark where it is lighter than `light`."""
    return INK if 0.3 * colour[0] + 0.59 * colour[1] + 0.11 * colour[2] > light else "white"


def outside_note(objectives: Sequence[Objective], windows: Sequence[Window], shown: Shown, summary: Summary) -> str:
    """How many points, and which proven bounds, the window leaves out."""
    counts = count_outside(objectives, windows, shown)
    parts = [f"{format_number(counts[kind])} {kind}" for kind in reversed(KINDS) if kind in counts]
    for objective, limits in zip(objectives, windows, strict=True):
        bound = summary.bounds[objective.name]
        if bound is not None and not limits.holds(bound):
            reached = format_with_unit(bound, objective.unit, objective.name)
            parts.append(f"the proven bound of {label(objective.name)}, {reached}")
    return f"Outside this window: {', '.join(parts)}." if parts else ""


def why_empty(record: StudyRecord) -> str:
    """The binding constraint of a study without a feasible trial."""
    return next((line for line in explain_infeasible(record).splitlines() if "binding" in line), "")
