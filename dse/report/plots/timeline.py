"""One iteration over time: the blocks of the pipeline stages, what the network serves, and operators in two blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dse.report.plots import style
from dse.report.plots.base import Options, Plot
from dse.report.plots.chosen import choose_one
from dse.report.units import format_number, format_percent, format_with_unit, scale, shorten_text
from dse.whatif.timeline import Span, Timeline, timeline
from simcore.document.problem import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dse.whatif.subject import Subject

_BLOCKS = {"forward": "#56B4E9", "backward": "#0072B2", "weight gradients": "#009E73"}
_COMPUTE, _WAIT, _SERVICE = "#009E73", "#E69F00", "#D55E00"
_COLUMNS = 1600
"""Columns into which an iteration with more blocks than can be told apart is thinned."""
_WIDTH = 11.0
_NAMED = 12
"""Operators that have their name beside the picture: the longest."""


@dataclass(frozen=True)
class Iteration:
    """The iteration of one design."""

    run: str
    name: str
    trial: int | None
    iteration: Timeline
    engine: str
    """What the design's result is of."""
    seconds: float
    """The iteration of that result [s]; longer than the one that is drawn where links are shared."""


class IterationTimeline(Plot[Iteration]):
    """Spans of time."""

    about = "one iteration: pipeline stages, network dimensions, operators"
    takes = frozenset({"trial"})
    most = 1
    designs = True

    def collect(self, subjects: Sequence[Subject], options: Options) -> Iteration:
        """See `Plot.collect`."""
        (subject,) = subjects
        chosen = choose_one(subject, options)
        subject.watcher.phase(f"playing an iteration of {chosen.name}")
        try:
            found = timeline(chosen.document)
        except InputError as error:
            raise InputError(error.problems, f"{subject.name} {chosen.name}") from None
        result = chosen.result
        name = f"{chosen.name} {chosen.note}".strip()
        return Iteration(chosen.run, name, chosen.trial, found, result.engine, result.iteration_time_s)

    def draw(self, data: Iteration) -> Figure:
        """See `Plot.draw`."""
        return _draw(data)


def _draw(data: Iteration) -> Figure:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    its = data.iteration
    with mpl.rc_context(style.STYLE):
        stages, dimensions = 0.24 * max(3, len(its.stages)), 0.32 * len(its.network)
        height = 1.15 + stages + 0.5 + dimensions + 1.0 + 1.15 + 0.95
        figure = Figure(figsize=(_WIDTH, height))
        top = height - 1.15

        def place(tall: float) -> tuple[float, float, float, float]:
            return 0.115, (top - tall) / height, 0.865, tall / height

        unit = scale("s", [its.seconds])
        axes = figure.add_axes(place(stages))
        _draw_stages(axes, its, unit.factor)
        top -= stages + 0.42
        beside = figure.add_axes(place(dimensions))
        _draw_network(beside, its, unit.factor)
        beside.set_xlabel(f"Time [{unit.unit}]", labelpad=3)
        top -= dimensions + 0.95
        if its.inside:
            _draw_operators(figure, place(1.05), its)
        _write(figure, data)
        return figure


def _draw_stages(axes: Axes, its: Timeline, factor: float) -> None:
    """A lane for each stage; where blocks are too many to be shapes, as pixels."""
    for lane, spans in enumerate(its.stages.values()):
        colours = [_BLOCKS[span.what] for span in spans]
        bars = [(span.begin / factor, (span.end - span.begin) / factor) for span in spans]
        many = len(spans) > 60
        axes.broken_barh(
            bars,
            (lane - 0.41, 0.82),
            facecolors=colours,
            rasterized=many,
            edgecolor="white",
            linewidth=0.0 if many else 0.5,
        )
    axes.set_ylim(len(its.stages) - 0.5, -0.5)
    axes.set_yticks(range(len(its.stages)), [f"stage {stage}" for stage in its.stages], fontsize=8)
    axes.set_xlim(0, its.seconds / factor)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelbottom=False)
    axes.set_facecolor("#EEF1F4")


def _draw_network(axes: Axes, its: Timeline, factor: float) -> None:
    """A lane for each dimension, as dark as the share of the time in which it serves."""
    from matplotlib.colors import LinearSegmentedColormap, PowerNorm

    colours = LinearSegmentedColormap.from_list("service", ["#EEF1F4", "#F5C9A8", _SERVICE, "#6E2F00"])
    lanes = np.stack([_shares(spans, its.seconds) for spans in its.network.values()])
    extent = (0.0, its.seconds / factor, len(lanes) - 0.5, -0.5)
    axes.imshow(lanes, aspect="auto", extent=extent, cmap=colours, norm=PowerNorm(0.5, 0, 1), interpolation="nearest")
    for lane in range(1, len(lanes)):
        axes.axhline(lane - 0.5, color="white", linewidth=3)
    axes.set_yticks(range(len(lanes)), [shorten_text(name, 15) for name in its.network], fontsize=8)
    axes.tick_params(axis="y", length=0)
    for lane, spans in enumerate(its.network.values()):
        busy = sum((span.end - span.begin) * span.share for span in spans) / its.seconds
        text = f"{format_percent(busy)} of the time"
        box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
        axes.text(
            0.995, lane, text, transform=axes.get_yaxis_transform(), ha="right", va="center", fontsize=8, bbox=box
        )


def _shares(spans: Sequence[Span], seconds: float) -> NDArray[np.float64]:
    """The share of each of `_COLUMNS` equal parts of the iteration in which something is served."""
    wide = seconds / _COLUMNS
    edges = np.arange(_COLUMNS + 1) * wide
    begins, ends, shares = (np.array([getattr(span, key) for span in spans]) for key in ("begin", "end", "share"))
    served = np.zeros(_COLUMNS + 1)
    for begin, end, share in zip(begins, ends, shares, strict=True):
        served += share * (np.clip(edges, begin, end) - begin)
    return np.diff(served) / wide


def _draw_operators(figure: Figure, place: tuple[float, float, float, float], its: Timeline) -> None:
    """The operators at the beginning of the first block of each kind, side by side."""
    unit = scale("s", [spans[-1].end - spans[0].begin for spans in its.inside.values()])
    wide = (place[2] - 0.03 * (len(its.inside) - 1)) / len(its.inside)
    for index, (what, spans) in enumerate(its.inside.items()):
        axes = figure.add_axes((place[0] + index * (wide + 0.03), place[1], wide, place[3]))
        begin = spans[0].begin
        for span in spans:
            colour = _WAIT if span.what.startswith("wait: ") else _COMPUTE
            left, width = (span.begin - begin) / unit.factor, (span.end - span.begin) / unit.factor
            axes.barh(0, width, 0.9, left=left, color=colour, edgecolor="white", linewidth=0.4)
        length = (spans[-1].end - begin) / unit.factor
        axes.set_xlim(0, length)
        axes.set_ylim(-0.5, 1.6)
        _name_operators(axes, spans, unit.factor, length)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.tick_params(labelsize=8)
        axes.set_xlabel(
            f"Beginning of the first {what} block of stage {its.stage} [{unit.unit}]", fontsize=9, labelpad=3
        )


def _name_operators(axes: Axes, spans: Sequence[Span], factor: float, length: float) -> None:
    """Names above the longest operators, as far as they do not meet."""
    taken: list[float] = []
    inch = length / (axes.get_position().width * _WIDTH)
    apart, end, begin = 0.22 * inch, length - 0.9 * inch, spans[0].begin
    for span in sorted(spans, key=lambda span: span.begin - span.end):
        middle = ((span.begin + span.end) / 2 - begin) / factor
        if len(taken) < _NAMED and middle < end and all(abs(middle - other) > apart for other in taken):
            taken.append(middle)
            text = shorten_text(span.what.removeprefix("wait: "), 20)
            axes.text(middle, 0.52, text, rotation=38, fontsize=7.5, ha="left", va="bottom", rotation_mode="anchor")


def _write(figure: Figure, data: Iteration) -> None:
    its = data.iteration
    said = f"{data.run} {data.name}" if data.trial is not None else data.run
    stages = (
        f"{len(its.stages)} of {its.of} pipeline stages" if its.of > len(its.stages) else f"{its.of} pipeline stages"
    )
    parts = [said, format_with_unit(its.seconds, "s"), stages if its.of > 1 else "no pipeline"]
    parts.append(f"{format_number(its.microbatches)} microbatches")
    style.write_headline(figure, "One iteration", "  ·  ".join(parts))
    kinds = [what for what in _BLOCKS if any(s.what == what for spans in its.stages.values() for s in spans)]
    rest = {"network serves (darker: more of the time)": _SERVICE, "computing": _COMPUTE}
    colours = {what: _BLOCKS[what] for what in kinds} | rest | {"waiting for communication": _WAIT}
    style.draw_key(figure, colours, 0.63)
    other = f"{format_with_unit(data.seconds, 's')} by engine {data.engine}; drawn is engine fast, each group alone."
    style.draw_note(
        figure,
        [
            other if data.seconds != its.seconds else "",
            f"Network and operators are those of an NPU of stage {its.stage}, which finishes last. The network is "
            "known block by block: what a block issues is served evenly over it, and after it where it does not fit.",
        ],
    )


TIMELINE = IterationTimeline()
