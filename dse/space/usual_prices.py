"""Machines that are sold, at a price list that nobody chose for them.

A space that names no `cost` has `libra`, whose networks are priced by the bandwidth of an NPU, as its paper does to
share a budget among dimensions. What nodes and switches are sold for is in a list of parts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from dse.space.order import KEY
from simcore import catalog
from simcore.metrics import moves


def price_notices(data: Mapping[str, Any], names: Collection[str]) -> Iterator[str]:
    """A sentence where a space of sold machines names no prices, and one of the metrics `names` depends on them."""
    priced = any(moves(name, "total") or moves(name, "tco") for name in names)
    if priced and "cost" not in data and not data.get(KEY) and _is_sold(data.get("cluster")):
        yield (
            "cost is not given: prices are those of libra, a model of networks that compares topologies. What these "
            "machines are sold for is in another list: say 'cost: street-2025'."
        )


def _is_sold(cluster: Any) -> bool:
    """Whether a cluster, or each of several, is in a fabric of the catalogue."""
    if not isinstance(cluster, Mapping):
        return False
    several, fabric = cluster.get("choice"), cluster.get("fabric")
    if isinstance(several, list):
        return bool(several) and all(map(_is_sold, several))
    named = fabric.get("choice") if isinstance(fabric, Mapping) else [fabric]
    known = catalog.section("fabrics")
    return isinstance(named, list) and all(isinstance(name, str) and name in known for name in named)
