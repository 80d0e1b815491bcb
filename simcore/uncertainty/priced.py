"""What a design costs and draws in all scenarios at once: each price is wrong by itself, for all designs that pay it.

What a cluster is built of is its bill (`simcore.cost.materials`): each of its parts has a price in the range that the
price list gives, as do electricity, the building and the rest of what it costs to own it (`simcore.cost.ownership`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simcore.cost.bill import Item
from simcore.cost.materials import bill_of
from simcore.cost.ownership import Ownership, Terms
from simcore.cost.price import cluster_cost
from simcore.design.design import Design
from simcore.document.ranges import EXACT, Ends, range_of
from simcore.metrics import Mover
from simcore.power.draw import peak_watts
from simcore.uncertainty.draws import Draws, Floats
from simcore.uncertainty.parameters import UNSAID, draw_error, price_error

_GROUPS = {"npu": "NPUs", "network": "the network", "memory": "memory", "storage": "storage", "other": "racks"}
"""Group of a bill -> what its prices are called."""
_OWNED = {
    "electricity": "electricity",
    "building": "the building",
    "support": "support",
    "staff": "staff",
    "residual": "what is sold at the end",
}
"""Key of a price list -> what it is called."""


def draw_costs(design: Design, power: float, draws: Draws) -> dict[Mover, Floats]:
    """What a checked design costs and draws over what it does at list prices, `[count]` by mover; it draws `power` [W].

    A price of one thing is the same for all designs that buy it.
    """
    cost, listed = cluster_cost(design), Terms.of(design.cost, design.cluster.npus)
    parts = {group: _group_factor(design, group, draws) for group in _GROUPS}
    capital = sum((getattr(cost, group) * factor for group, factor in parts.items()), start=np.zeros(draws.count))
    terms, pue = _draw_terms(design, listed, draws), _factor(draws, "PUE", "all designs", _range(design, "pue"))
    drawn = pue * np.exp(draws.error(draw_error(design))[1:])
    before = Ownership(listed, cost.capital, peak_watts(design), power)
    after = Ownership(replace(terms, pue=listed.pue * pue), capital, before.peak * pue, power * drawn)
    lifetime = listed.lifetime * power * design.cost.electricity_in_total
    total = capital + lifetime * drawn * terms.electricity
    return {
        "power": drawn,
        "electricity": _over(drawn * terms.electricity, listed.electricity),
        "network": parts["network"],
        "npu": parts["npu"],
        "memory": parts["memory"],
        "capital": _over(capital, cost.capital),
        "total": _over(total, cost.capital + lifetime * listed.electricity),
        "yearly": _over(after.yearly, before.yearly),
        "tco": _over(after.tco, before.tco),
    }


def _group_factor(design: Design, group: str, draws: Draws) -> Floats:
    """Factor on the price of all parts of a group; 1 where there are none."""
    items = [item for item in bill_of(design).items if item.group == group and item.price and item.count]
    whole = sum(item.count * item.price for item in items)
    drawn = (item.count * item.price / whole * _item_factor(group, item, draws) for item in items)
    return sum(drawn, start=np.zeros(draws.count)) if items else np.ones(draws.count)


def _item_factor(group: str, item: Item, draws: Draws) -> Floats:
    low, high = (round(end / item.price, 6) for end in item.price_range)
    return _factor(draws, _GROUPS[group], item.part, UNSAID if (low, high) == EXACT else (low, high))


def _draw_terms(design: Design, listed: Terms, draws: Draws) -> Terms:
    """The terms of owning it, with what the list does not say for sure drawn `[count]`."""
    drawn = {}
    for key, what in _OWNED.items():
        if value := getattr(listed, key):
            ends = _range(design, "staff_per_npu" if key == "staff" and not design.cost.staff else key)
            kept = UNSAID if ends is EXACT and key != "residual" else ends
            drawn[key] = value * _factor(draws, what, "all designs", kept)
    if "residual" in drawn:
        drawn["residual"] = np.minimum(1.0, drawn["residual"])
    return replace(listed, **drawn)


def _range(design: Design, key: str) -> Ends:
    return range_of(design.cost.ranges, key)


def _factor(draws: Draws, what: str, of: str, ends: Ends) -> Floats:
    if ends == EXACT:
        return np.ones(draws.count)
    factor: Floats = np.exp(draws.error(price_error(what, of, ends))[1:])
    return factor


def _over(moved: Floats, before: float) -> Floats:
    """What costs nothing costs nothing at any price."""
    return moved / before if before else np.ones_like(moved)
