"""Machines that are sold, at a price list that nobody chose for them.

A space that names no `cost` has `libra`, whose networks are priced by the bandwidth of an NPU, as its paper does to
share a budget among dimensions. What nodes and switches are sold for is in a list of parts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from dse.space.hole import Choice, alternatives_of
from simcore.metrics import exponent_of


def price_notices(template: Mapping[str, Any], names: Collection[str]) -> Iterator[str]:
    """A sentence where a template of sold machines names no prices, and one of the metrics `names` depends on them."""
    priced = any(exponent_of(name, "total") or exponent_of(name, "tco") for name in names)
    if priced and "cost" not in template and _is_named(template["cluster"]):
        yield (
            "cost is not given: prices are those of libra, a model of networks that compares topologies. What these "
            "machines are sold for is in another list: say 'cost: street-2025'."
        )


def _is_named(cluster: Any) -> bool:
    """Whether a cluster, or each of several, is in a fabric of the catalogue."""
    if isinstance(cluster, Choice):
        return all(map(_is_named, cluster.alternatives))
    fabric = cluster.get("fabric")
    return all(isinstance(name, str) for name in alternatives_of(fabric))
