"""A picture: how much of its peak each design of a front reaches."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from dse.report.plots.base import Options, Plot
from dse.report.plots.chosen import choose_along
from dse.whatif.subject import Subject


class Utilization(Plot[dict[str, float]]):
    """Bars of MFU along the front."""

    about = "MFU of the designs of a front"
    takes = frozenset({"trial"})  # the options that it heeds; any other is refused

    def collect(self, subjects: Sequence[Subject], options: Options) -> dict[str, float]:
        return {chosen.name: chosen.result.mfu or 0.0 for chosen in choose_along(subjects, options).designs}

    def draw(self, data: dict[str, float]) -> Figure:
        figure = Figure(layout="constrained")
        axes = figure.add_subplot(ylabel="MFU")
        axes.bar(list(data), list(data.values()))
        return figure

    def numbers(self, data: dict[str, float]) -> dict[str, float]:
        return data


UTILIZATION = Utilization()
