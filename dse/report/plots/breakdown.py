"""Where the time of an iteration goes: designs of a front, chosen trials, or the picks of several runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dse.report.plots.bars import Bars, Row, StackedBars, row_of
from dse.report.plots.base import Options
from dse.report.plots.chosen import Chosen, choose_along
from dse.report.reasons import breakdown

if TYPE_CHECKING:
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


class Breakdown(StackedBars):
    """Stacked time."""

    about = "where the time of an iteration goes"

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

    def colours(self, data: Bars) -> Mapping[str, str]:
        """See `StackedBars.colours`."""
        return COLOURS


def _row(chosen: Chosen) -> Row:
    return replace(row_of(chosen, breakdown(chosen.result)), interval=chosen.result.iteration_time_interval_s)


BREAKDOWN = Breakdown()
