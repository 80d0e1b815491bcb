"""Queues and rates over time, packet by packet: the ports of one design that hold most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dse.report.plots import style
from dse.report.plots.base import Options, Plot
from dse.report.plots.chosen import choose_one
from dse.report.units import format_percent, format_with_unit, scale
from simcore.check.load import design_from
from simcore.document.problem import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dse.whatif.subject import Subject
    from simcore.engine.packets.over_time import OverTime

_SMOOTH = 5
"""Samples that a rate is the mean of."""


@dataclass(frozen=True)
class QueuesOverTime:
    """The ports of one design."""

    run: str
    name: str
    trial: int | None
    control: str
    played: OverTime


class QueuesPlot(Plot[QueuesOverTime]):
    """Lines over time."""

    about = "queues, rates and pauses of the busiest ports over time, packet by packet"
    takes = frozenset({"trial"})
    most = 1
    designs = True

    def collect(self, subjects: Sequence[Subject], options: Options) -> QueuesOverTime:
        """See `Plot.collect`."""
        from simcore.check.check import check
        from simcore.engine.packets.over_time import play_over_time  # loads its kernels

        (subject,) = subjects
        chosen = choose_one(subject, options)
        subject.watcher.phase(f"playing the packets of {chosen.name}")
        design = design_from(dict(chosen.document))
        try:
            played = play_over_time(design, check)
        except InputError as error:
            raise InputError(error.problems, f"{subject.name} {chosen.name}") from None
        transport = design.cluster.transport
        name = f"{chosen.name} {chosen.note}".strip()
        control = "none" if transport is None else transport.control
        return QueuesOverTime(chosen.run, name, chosen.trial, control, played)

    def draw(self, data: QueuesOverTime) -> Figure:
        """See `Plot.draw`."""
        return _draw(data)


def _draw(data: QueuesOverTime) -> Figure:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(style.STYLE):
        height = 1.35 + 2.3 + 0.35 + 1.7 + 0.35 + 0.9 + 1.0
        figure, top = Figure(figsize=(11.0, height)), height - 1.35
        unit = scale("s", [data.played.seconds])
        parts = []
        for tall in (2.3, 1.7, 0.9):
            parts.append(figure.add_axes((0.085, (top - tall) / height, 0.895, tall / height)))
            top -= tall + 0.35
        times = np.array(data.played.times) / unit.factor
        _draw_queues(parts[0], data, times)
        _draw_rates(parts[1], data.played, times)
        _draw_pauses(parts[2], data.played, times)
        for axes in parts:
            axes.set_xlim(0, data.played.seconds / unit.factor)
        for axes in parts[:2]:
            axes.tick_params(axis="x", labelbottom=False)
        parts[2].set_xlabel(f"Time [{unit.unit}]", labelpad=3)
        _write(figure, data)
        return figure


def _draw_queues(axes: Axes, data: QueuesOverTime, times: NDArray[np.float64]) -> None:
    most = max(max(port.queue, default=0.0) for port in data.played.ports)
    unit = scale("B", [most])
    for port, colour in zip(data.played.ports, style.SERIES, strict=False):
        axes.plot(times, np.array(port.queue) / unit.factor, color=colour, linewidth=1.1)
    low = data.played.ports[0].marked_above
    if low is not None and low <= 1.5 * most:
        axes.axhline(low / unit.factor, color=style.QUIET, linewidth=0.8, linestyle="--")
        look: Any = {"fontsize": 8, "color": style.QUIET, "va": "bottom", "ha": "right"}
        axes.text(0.995, low / unit.factor, "marked above", transform=axes.get_yaxis_transform(), **look)
    axes.set_ylim(bottom=0)
    axes.set_ylabel(f"Queue [{unit.unit}]", fontsize=9)
    axes.grid(visible=True, color="#E4E7EB", linewidth=0.7)


def _draw_rates(axes: Axes, played: OverTime, times: NDArray[np.float64]) -> None:
    even = np.ones(_SMOOTH)
    over = np.convolve(np.ones(len(times)), even, "same") if len(times) >= _SMOOTH else 1.0
    for port, colour in zip(played.ports, style.SERIES, strict=False):
        sent = np.convolve(port.sent, even, "same") / over if len(times) >= _SMOOTH else np.array(port.sent)
        axes.plot(times, sent, color=colour, linewidth=1.1)
    axes.set_ylim(0, 1.05)
    axes.yaxis.set_major_formatter(lambda value, _: format_percent(value))
    axes.set_ylabel("Sends, of its rate", fontsize=9)
    axes.grid(visible=True, color="#E4E7EB", linewidth=0.7)


def _draw_pauses(axes: Axes, played: OverTime, times: NDArray[np.float64]) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.fill_between(times, played.paused, step="mid", color=style.VERMILION, alpha=0.75, linewidth=0)
    axes.set_ylim(0, max(1, *played.paused) * 1.1)
    axes.yaxis.set_major_locator(MaxNLocator(3, integer=True))
    axes.set_ylabel("Paused ports", fontsize=9)
    axes.grid(visible=True, color="#E4E7EB", linewidth=0.7)


def _write(figure: Figure, data: QueuesOverTime) -> None:
    its = data.played
    said = f"{data.run} {data.name}" if data.trial is not None else data.run
    longest = max(max(port.queue, default=0.0) for port in its.ports)
    parts = [said, format_with_unit(its.seconds, "s"), f"control {data.control}"]
    parts.append(f"longest queue {format_with_unit(longest, 'B')}")
    style.write_headline(figure, "Queues and rates over time", "  ·  ".join(parts))
    named = {port.name.replace("->", "→"): colour for port, colour in zip(its.ports, style.SERIES, strict=False)}
    style.draw_key(figure, named, 0.63)
    style.draw_note(
        figure,
        [
            f"{len(its.ports)} ports of the first row of the outermost dimension that held the longest queues, at "
            f"{len(its.times)} times; a rate is the mean of {_SMOOTH} of them. Paused: how many of the row's {its.of} "
            "ports the next switch has told to wait.",
        ],
    )


QUEUES = QueuesPlot()
