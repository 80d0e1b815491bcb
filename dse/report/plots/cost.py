"""What a cluster costs, by part: NPUs, memory, the network by tier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dse.report.plots.bars import Bars, StackedBars, row_of
from dse.report.plots.base import Options
from dse.report.plots.chosen import Chosen, choose_along
from simcore.check.load import design_from
from simcore.cost.price import network_cost
from simcore.document.problem import InputError, Problem

if TYPE_CHECKING:
    from dse.whatif.subject import Subject

_NPUS, _MEMORY, _RUNNING = "NPUs", "memory beyond the NPUs' own", "electricity"
_STORAGE, _OTHER = "storage", "racks and management"
_BY_BANDWIDTH = "Network by tier: links, ports and NICs of all NPUs."
_BY_PIECES = "NPUs in whole nodes; network by tier: NICs, switches, cables and optics by the piece."
_OF_TIERS = ("#E69F00", "#009E73", "#D55E00", "#56B4E9", "#AA5B8C", "#F0C000")


class CostByPart(StackedBars):
    """Stacked dollars."""

    about = "what the cluster costs, by part"

    def collect(self, subjects: Sequence[Subject], options: Options) -> Bars:
        """See `Plot.collect`."""
        choice = choose_along(subjects, options)
        rows = tuple(row_of(chosen, _parts(chosen)) for chosen in choice.designs)
        if not any(sum(row.parts.values()) for row in rows):
            fix = "name a price list: 'cost: libra' (docs/spaces.md)"
            raise InputError([Problem(("cost",), "designs that cost something", "none", fix)])
        lists = [design_from(chosen.document).cost for chosen in choice.designs]
        sources = dict.fromkeys(map(_price_list, choice.designs))
        counted = dict.fromkeys(_BY_PIECES if prices.by_parts else _BY_BANDWIDTH for prices in lists)
        caption = " ".join([f"Prices: {', '.join(sources)}.", *counted])
        return Bars("What the cluster costs", choice.describe(), "Cost of the cluster", "$", rows, caption)

    def colours(self, data: Bars) -> Mapping[str, str]:
        """See `StackedBars.colours`."""
        tiers = _order_tiers([[part for part in row.parts if part.startswith("network")] for row in data.rows])
        listed = {tier: _OF_TIERS[index % len(_OF_TIERS)] for index, tier in enumerate(tiers)}
        beside = {_STORAGE: "#7B6D5D", _OTHER: "#B8A99A"}
        return {_NPUS: "#0072B2", _MEMORY: "#8C9AA6", **listed, **beside, _RUNNING: "#52606D"}


def _order_tiers(rows: Sequence[Sequence[str]]) -> list[str]:
    """The tiers of all rows, the innermost first: by their mean place, counted from the outermost one."""
    places: dict[str, list[int]] = {}
    for row in rows:
        for outward, tier in enumerate(reversed(row)):
            places.setdefault(tier, []).append(outward)
    return sorted(places, key=lambda tier: (-sum(places[tier]) / len(places[tier]), tier))


def _parts(chosen: Chosen) -> dict[str, float]:
    """Part -> dollars; they add up to `cost.total`."""
    design, cost = design_from(chosen.document), chosen.result.cost
    tiers: dict[str, float] = {}
    for dimension, price in zip(design.cluster.dimensions, network_cost(design), strict=True):
        name = f"network, {dimension.tier}" if dimension.tier else "network"
        tiers[name] = tiers.get(name, 0.0) + price
    beside = {_STORAGE: cost.storage, _OTHER: cost.other}
    return {_NPUS: cost.npu, _MEMORY: cost.memory, **tiers, **beside, _RUNNING: max(0.0, cost.total - cost.capital)}


def _price_list(chosen: Chosen) -> str:
    named = chosen.document.get("cost")
    return named if isinstance(named, str) else str(design_from(chosen.document).cost.name or "given in the design")


COST = CostByPart()
