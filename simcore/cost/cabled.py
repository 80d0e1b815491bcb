"""Which networks between nodes can be cabled with the switches there are.

A tree of switches with k ports, at three levels, joins k^3 / 4 NICs at full rate. A leaf has d ports down and u up,
with d / u the oversubscription and d + u at most k; of a node it takes one NIC (a rail) or several. A port can be split
in two.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache

from simcore import catalog
from simcore.catalog.preset import preset
from simcore.cost.sold import Asked, Wire, problem
from simcore.design.node import Node
from simcore.design.part import Part
from simcore.document.problem import Path, Problem
from simcore.document.quantity import write_quantity

LEVELS = 3
"""Of switches, at the most."""
SPLIT = 2
"""Ports that one port can be split into."""


def cabling_problems(asked: Asked, node: Node) -> Iterator[Problem]:
    """What of the network between nodes cannot be cabled."""
    for index, wire in enumerate(asked.wires[asked.inner :], asked.inner):
        rates = _nic_rates(wire, asked, node)
        if wire.size > 1 and rates:
            yield from min(
                (list(_tree_problems(wire, ("dimensions", index), rate, count)) for rate, count in rates), key=len
            )


def _nic_rates(wire: Wire, asked: Asked, node: Node) -> list[tuple[float, int]]:
    """The rates that a dimension's NICs can have, each with how many of a domain they are."""
    if wire.nics is not None and wire.nic_rate is not None:
        return [(wire.nic_rate, wire.nics)]
    each = [(sold.rate, wire.bandwidth * asked.domain / sold.rate) for sold in node.nics]
    return [(rate, round(count)) for rate, count in each if count >= 1 and abs(count - round(count)) < 1e-6]


def _tree_problems(wire: Wire, place: Path, rate: float, nics: int) -> Iterator[Problem]:
    ports = most_ports(rate)
    if not ports:
        yield problem(place, f"a switch with ports of {write_quantity(rate, 'bandwidth')}", "none in the catalogue")
        return
    most = 2 * (ports // 2) ** LEVELS
    if wire.size * nics > most:
        found = f"{wire.size * nics:,} NICs"
        yield problem((*place, "size"), f"at most {most:,} NICs under {LEVELS} levels of {ports} ports", found)
    if wire.leaf is None:
        ratio = Fraction(wire.oversubscription).limit_denominator(ports)
        if ratio.numerator + ratio.denominator > ports or abs(ratio - wire.oversubscription) > 1e-6:
            yield _thinned(wire, place, ports)
    elif not any(_has_leaf(wire.leaf * taken, wire.oversubscription, ports) for taken in _divisors(nics)):
        yield _thinned(wire, place, ports)


def _thinned(wire: Wire, place: Path, ports: int) -> Problem:
    leaf = "" if wire.leaf is None else f"leaves of {wire.leaf} nodes, "
    expected = f"a leaf that can be cabled with {ports} ports (whole links up and down)"
    return problem((*place, "oversubscription"), expected, f"{leaf}oversubscription {wire.oversubscription:g}")


def _has_leaf(down: int, oversubscription: float, ports: int) -> bool:
    """Whether a leaf with so many ports down has whole ports up, and not too many."""
    up = down / oversubscription
    return abs(up - round(up)) < 1e-6 and round(up) >= 1 and down + round(up) <= ports


def _divisors(number: int) -> list[int]:
    return [d for d in range(1, number + 1) if number % d == 0]


@cache
def most_ports(rate: float) -> int:
    """Ports of this rate that the largest switch of the catalogue has, split ones too; 0 where there is none [B/s]."""
    parts = (preset(Part, "parts", name) for name in catalog.section("parts"))
    switches = [part for part in parts if part.kind == "switch" and part.rate is not None and part.ports is not None]
    fits = [(part.ports or 0) * min(SPLIT, int((part.rate or 0.0) / rate + 1e-6)) for part in switches]
    return max(fits, default=0)
