"""Where the time of an iteration goes: designs of a front, chosen trials, or the picks of several runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dse.report.plots.bars import Bars, Row, draw_bars, row_of
from dse.report.plots.base import Options, Plot
from dse.report.plots.chosen import Chosen, choose_along
from dse.report.reasons import breakdown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dse.whatif.subject import Subject

COLOURS = {
    "compute": "#0072B2",
    "tensor communication": "#E69F00",
    "context communication": "#56B4E9",
    "expert communication": "#009E73",
    "data communication": "#D55E00",
    "pipeline communication": "#AA5B8C",
    "bubble": "#C3CBD3",
    "optimizer": "#52606D",
    "other": "#E4E7EB",
}


class Breakdown(Plot[Bars]):
    """Stacked time."""

    about = "where the time of an iteration goes"
    takes = frozenset({"trial"})
    designs = True

    def collect(self, subjects: Sequence[Subject], options: Options) -> Bars:
        """See `Plot.collect`."""
        choice = choose_along(subjects, options)
        return Bars(
            "Where the time of an iteration goes",
            choice.describe(),
            "Time of one iteration",
            "s",
            tuple(map(_row, choice.designs)),
            "Of an NPU of the pipeline stage that finishes last. Communication is what it waits for: what runs beside "
            "computation does not show. Lines below bars: intervals of the predictions.",
        )

    def draw(self, data: Bars) -> Figure:
        """See `Plot.draw`."""
        return draw_bars(data, COLOURS)


def _row(chosen: Chosen) -> Row:
    return replace(row_of(chosen, breakdown(chosen.result)), interval=chosen.result.iteration_time_interval_s)


BREAKDOWN = Breakdown()
