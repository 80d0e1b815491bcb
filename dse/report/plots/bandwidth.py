"""How the bandwidth of an NPU is split over the dimensions of the network, along a front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dse.report.aspects import short_name
from dse.report.plots.bars import Bars, StackedBars, row_of
from dse.report.plots.base import Options
from dse.report.plots.chosen import Chosen, choose_along
from dse.report.units import format_brief, format_percent
from simcore.check.load import design_from
from simcore.network import TOPOLOGIES

if TYPE_CHECKING:
    from dse.report.plots.bars import Row
    from dse.whatif.subject import Subject

_GIGA = (1e9, "GB/s")
_COLOURS = ("#0072B2", "#56B4E9", "#009E73", "#E69F00", "#D55E00", "#AA5B8C", "#8C9AA6")


class BandwidthSplit(StackedBars):
    """Stacked bandwidth."""

    about = "how bandwidth is split over the dimensions of the network"

    def collect(self, subjects: Sequence[Subject], options: Options) -> Bars:
        """See `Plot.collect`."""
        choice = choose_along(subjects, options)
        return Bars(
            "How the bandwidth is split over the network's dimensions",
            choice.describe(),
            "Bandwidth of one NPU",
            "B/s",
            tuple(_row(chosen) for chosen in choice.designs),
            "Dimension 1 is the innermost. In each part, as far as there is room: topology(size), GB/s, and which "
            "share of this bandwidth the iteration uses.",
            scale=_GIGA,
        )

    def colours(self, data: Bars) -> Mapping[str, str]:
        """See `StackedBars.colours`."""
        parts = sorted({part for row in data.rows for part in row.parts})
        return {part: _COLOURS[index % len(_COLOURS)] for index, part in enumerate(parts)}


def _row(chosen: Chosen) -> Row:
    dimensions = design_from(chosen.document).cluster.dimensions
    names = [f"dimension {index}" for index in range(len(dimensions))]
    labels = {}
    for name, dimension, use in zip(names, dimensions, chosen.result.network, strict=True):
        short = f"{short_name(TOPOLOGIES, dimension.topology)}({dimension.size})"
        rate = format_brief(dimension.bandwidth / _GIGA[0])
        used = f"{short}  {rate}, {format_percent(use.utilization)} used"
        labels[name] = (used, f"{short}  {rate}", rate)
    return row_of(chosen, {n: d.bandwidth for n, d in zip(names, dimensions, strict=True)}, labels)


BANDWIDTH = BandwidthSplit()
