"""What the fabric of a pool of memory costs: links and ports of each level, and those of its memory nodes.

As the network of a linear price list: price of a tier's elements x bandwidth over all ports. Each NPU has a port of the
first level, each switch one of the next; memory nodes have ports with their bandwidth at the outermost level.
"""

from __future__ import annotations

from collections.abc import Iterator

from simcore.cost.bill import Item
from simcore.cost.linear import wire_items
from simcore.design.design import Design
from simcore.design.memory import ExpandedMemory
from simcore.design.pool import PoolLevel
from simcore.document.problem import Path, Problem

_FABRIC: Path = ("cluster", "memory", "expanded", "fabric")


def pool_items(design: Design) -> Iterator[Item]:
    """Links, switch ports and NICs between NPUs and the memory nodes of their pools."""
    expanded, prices = _pool_of(design), design.cost
    if expanded is None:
        return
    npus, below = design.cluster.npus, 1
    for number, level in enumerate(expanded.fabric):
        bandwidth, where = npus / below * level.bandwidth, f"pool of memory, level {number}, {level.tier}"
        yield from wire_items(prices, level.tier, _counts(design, level), bandwidth, where, "memory")
        below *= level.size
    last, bandwidth = expanded.fabric[-1], npus / expanded.shared_by * expanded.bandwidth
    ends = dict.fromkeys(_counts(design, last), 1.0)
    yield from wire_items(prices, last.tier, ends, bandwidth, "pool of memory, its nodes", "memory")


def pool_price(design: Design) -> float:
    """Price of the fabric of a design's pools, at a linear list [$]."""
    return sum(item.count * item.price for item in pool_items(design))


def pool_price_problems(design: Design) -> list[Problem]:
    """What of a pool's fabric the price list does not sell."""
    expanded, prices = _pool_of(design), design.cost
    if expanded is None:
        return []
    if prices.by_parts:
        expected = f"none at price list '{prices.name}', whose parts make no pool of memory"
        return [Problem(_FABRIC, expected, "a fabric", "use a linear list, such as cost: libra")]
    return [
        Problem(
            (*_FABRIC, number, "tier"),
            f"a tier with a price for a {element} in price list '{prices.name}'",
            f"'{level.tier}'",
            "choose another tier, or spell the price list out",
        )
        for number, level in enumerate(expanded.fabric)
        for element in _elements(level)
        if level.tier not in prices.network or getattr(prices.network[level.tier], element) is None
    ]


def _pool_of(design: Design) -> ExpandedMemory | None:
    expanded = design.expanded_memory
    return expanded if expanded is not None and expanded.fabric else None


def _elements(level: PoolLevel) -> tuple[str, ...]:
    return ("link", "switch") if level.switched else ("link",)


def _counts(design: Design, level: PoolLevel) -> dict[str, float]:
    its = level.block
    each = {"link": its.levels, "switch": its.ports}
    counts = {element: each[element] for element in _elements(level)}
    if level.switched and design.cost.network[level.tier].nic is not None:
        counts["nic"] = 1.0
    return counts
