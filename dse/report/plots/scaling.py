"""One design on fewer and on more NPUs: iteration time, and how much of each NPU's throughput is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dse.report.plots import style
from dse.report.plots.base import Options, Plot
from dse.report.plots.chosen import choose_one, names_of
from dse.report.units import Scale, format_brief, format_number, format_percent, scale, shorten_text
from dse.whatif.scaling import AtSize, Mode, scale_design
from simcore.document.problem import InputError, Problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dse.whatif.subject import Subject


@dataclass(frozen=True)
class Curve:
    """A design at its sizes, in ascending order."""

    run: str
    name: str
    trial: int | None
    npus: int
    """NPUs of the design itself."""
    sizes: tuple[AtSize, ...]
    efficiency: tuple[float | None, ...]
    """Throughput of one NPU at each size, as a share of that at the smallest one that runs."""


@dataclass(frozen=True)
class Curves:
    """One curve for each design."""

    mode: Mode
    curves: tuple[Curve, ...]


class Scaling(Plot[Curves]):
    """Time and efficiency against NPUs."""

    about = "time and efficiency of a design against the number of NPUs"
    takes = frozenset({"trial", "npus", "mode"})
    designs = True

    def collect(self, subjects: Sequence[Subject], options: Options) -> Curves:
        """See `Plot.collect`."""
        mode: Mode = options.mode or "weak"
        return Curves(
            mode,
            tuple(
                _curve(subject, run, options, mode) for subject, run in zip(subjects, names_of(subjects), strict=True)
            ),
        )

    def draw(self, data: Curves) -> Figure:
        """See `Plot.draw`."""
        return _draw(data)


def _curve(subject: Subject, run: str, options: Options, mode: Mode) -> Curve:
    chosen = choose_one(subject, options)
    subject.watcher.phase(f"simulating {chosen.name} at other sizes")
    sizes = scale_design(chosen.document, mode, options.npus, subject.engine)
    rates = [size.rate for size in sizes]
    first = next((rate for rate in rates if rate is not None), None)
    if first is None:
        why = "; ".join(dict.fromkeys(size.why for size in sizes))
        raise InputError([Problem(("--npus",), "a size at which the design runs", f"none: {why}")], subject.name)
    name = f"{chosen.name} {chosen.note}".strip()
    efficiency = tuple(None if rate is None else rate / first for rate in rates)
    return Curve(run, name, chosen.trial, chosen.result.npus, sizes, efficiency)


@dataclass(frozen=True)
class _Labels:
    """How a curve is labelled: the first one above itself, the second one below, further ones not at all."""

    colour: str
    side: int
    alone: bool
    texts: Sequence[str]


def _draw(data: Curves) -> Figure:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(style.STYLE):
        figure = Figure(figsize=(11, 5.6))
        times, shares = (figure.add_axes((left, 0.19, 0.385, 0.6)) for left in (0.07, 0.555))
        unit = scale("s", [size.seconds for curve in data.curves for size in curve.sizes])
        for index, curve in enumerate(data.curves):
            ran = [size for size in curve.sizes if size.seconds is not None]
            seconds = [size.seconds / unit.factor for size in ran if size.seconds is not None]
            known = [share for share in curve.efficiency if share is not None]
            told = [style.format_three(value) for value in seconds]
            _draw_line(times, curve, ran, seconds, _labels(data, index, told))
            percent = [format_percent(share) for share in known]
            _draw_line(shares, curve, ran, [100 * share for share in known], _labels(data, index, percent))
        _set_axes(data, times, shares, unit)
        _write(figure, data)
        return figure


def _labels(data: Curves, index: int, texts: Sequence[str]) -> _Labels:
    colour = style.SERIES[index % len(style.SERIES)]
    shown = texts if index < 2 else [""] * len(texts)
    return _Labels(colour, -1 if index == 1 else 1, len(data.curves) == 1, shown)


def _draw_line(axes: Axes, curve: Curve, ran: Sequence[AtSize], values: Sequence[float], labels: _Labels) -> None:
    npus, flat = [size.npus for size in ran], max(values) < 1.5 * min(values)
    axes.plot(npus, values, color=labels.colour, linewidth=1.8, zorder=3)
    for size, value, text in zip(ran, values, labels.texts, strict=True):
        own, inside = size.npus == curve.npus, labels.colour if size.fits else "white"
        area = 95 if own else 42
        axes.scatter([size.npus], [value], s=area, color=inside, edgecolors=labels.colour, linewidths=1.6, zorder=4)
        axes.annotate(
            text,
            (size.npus, value),
            xytext=(0, 9 * labels.side) if flat else (7 * labels.side, 4 * labels.side),
            textcoords="offset points",
            ha="center" if flat else "left" if labels.side > 0 else "right",
            va="bottom" if labels.side > 0 else "top",
            fontsize=9,
            color=style.INK if labels.alone else labels.colour,
            fontweight="bold" if own else "normal",
        )


def _set_axes(data: Curves, times: Axes, shares: Axes, unit: Scale) -> None:
    sizes = sorted({size.npus for curve in data.curves for size in curve.sizes})
    for axes in (times, shares):
        axes.set_xscale("log")
        axes.set_xticks(sizes, [format_number(size) for size in sizes], fontsize=9)
        axes.minorticks_off()
        axes.set_xlim(sizes[0] / 1.35, sizes[-1] * 1.35)
        axes.set_xlabel("NPUs", labelpad=6)
        axes.grid(visible=True, color="#E4E7EB", linewidth=0.7)
        axes.set_ylim(0, 1.12 * axes.get_ylim()[1])
    if data.mode == "strong":
        _show_strong(data, times, unit.factor)
    times.set_title(f"Time of one iteration [{unit.unit}]", fontsize=11, loc="left", pad=9)
    shares.set_title("Efficiency [% of the smallest size]", fontsize=11, loc="left", pad=9)


def _show_strong(data: Curves, times: Axes, factor: float) -> None:
    """Times on a logarithmic axis, where perfect scaling is a straight line."""
    values = [size.seconds / factor for curve in data.curves for size in curve.sizes if size.seconds is not None]
    if max(values) > 3 * min(values):
        times.set_yscale("log")
        times.set_ylim(min(values) / 1.4, max(values) * 1.6)
        times.minorticks_off()
        times.yaxis.set_major_formatter(lambda value, _: format_brief(value))


def _write(figure: Figure, data: Curves) -> None:
    first = data.curves[0]
    grows = "the global batch grows with the NPUs" if data.mode == "weak" else "the global batch stays"
    if len(data.curves) == 1:
        said = f"{first.run} {first.name}" if first.trial is not None else first.run
    else:
        said = f"{len(data.curves)} designs"
    style.write_headline(
        figure,
        f"{data.mode.capitalize()} scaling: {grows}",
        f"{said}  ·  data parallel grows or shrinks, all else stays",
    )
    if len(data.curves) > 1:
        for index, curve in enumerate(data.curves):
            colour = style.SERIES[index % len(style.SERIES)]
            text = f"{curve.run} {curve.name}" if curve.trial is not None else curve.run
            figure.text(0.6, 0.975 - 0.042 * index, text, color=colour, fontsize=9.5, va="top", fontweight="bold")
    missing: dict[str, list[int]] = {}
    for size in (size for curve in data.curves for size in curve.sizes if size.why):
        missing.setdefault(shorten_text(size.why, 90), []).append(size.npus)
    reasons = [f"{', '.join(format_number(n) for n in sorted(set(sizes)))}: {why}" for why, sizes in missing.items()]
    over = any(not size.fits for curve in data.curves for size in curve.sizes)
    style.draw_note(
        figure,
        [
            "Large: the design itself.",
            "Hollow: does not fit into memory." if over else "",
            f"Cannot run on {'; '.join(reasons[:2])}." if reasons else "",
        ],
    )


SCALING = Scaling()
