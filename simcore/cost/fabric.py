"""The network between nodes, piece by piece: NICs, switches by level, transceivers and cables by their length."""

from __future__ import annotations

from dataclasses import dataclass
from math import isclose

from simcore.cost.clos import Clos, cable
from simcore.cost.dragonfly import buy_dragonfly
from simcore.cost.floor import cable_length
from simcore.cost.shelf import Basket, Sold
from simcore.cost.tree import Site, buy_links, buy_tree
from simcore.design.dimension import Dimension
from simcore.design.node import Node
from simcore.document.problem import Path, Refusal
from simcore.document.quantity import write_quantity
from simcore.network import TOPOLOGIES


@dataclass(frozen=True, slots=True)
class Place:
    """A dimension between nodes."""

    dimension: Dimension
    site: Site
    node: Node
    step: int
    """Nodes of one step along it."""
    used: int
    """NPUs of a node that are used."""
    inside: int
    """NPUs of all dimensions further in."""

    def path(self, key: str) -> Path:
        """Where a key of the dimension stands in the document."""
        return (*self.site.path, key)


def buy_fabric(basket: Basket, place: Place, with_nics: bool) -> int:
    """Puts the network of a dimension into the basket; the number of its switches.

    `with_nics`: whether nodes bring their NICs along.
    """
    found, site = _nics(basket, place), place.site
    if found is None:
        return 0
    count, rate = found
    if not with_nics:
        nic = basket.need("nic", site.path, rate)
        basket.add(nic, f"{site.where}, nodes", "network", site.networks * site.nodes * count, in_nodes=True)
    if not TOPOLOGIES[place.dimension.topology].switched:
        metres = cable_length(site.nodes, site.per_rack, 2)
        buy_links(basket, site, "node to node", rate, metres, -(-site.nodes * count // 2), count, 0)
        return 0
    switch = basket.need("switch", place.path("switch"), rate, place.dimension.switch)
    if switch is None:
        return 0
    if switch.part.rate != rate or switch.part.kind != "switch":
        expected = f"a switch of {write_quantity(rate, 'bandwidth')} a port, as the NICs have"
        basket.refuse(place.path("switch"), expected, f"'{switch.part.name}'")
        return 0
    if place.dimension.routers is not None:
        return buy_dragonfly(basket, site, place.dimension, count * place.step, switch)
    tree = _tree(basket, place, count, switch)
    return 0 if tree is None else buy_tree(basket, site, tree, switch, count)


def _tree(basket: Basket, place: Place, count: int, switch: Sold) -> Clos | None:
    """The network of so many NICs a node; None, with a problem, where there is none.

    Several NICs for each NPU are planes beside each other, each with a NIC of every NPU.
    """
    dimension = place.dimension
    planes = count // place.used if count % place.used == 0 else 1
    leaf = None if dimension.leaf is None else dimension.leaf * place.step
    pod = None if dimension.pod is None else dimension.pod * place.step
    try:
        one = cable(place.site.nodes, count // planes, switch.part.ports, dimension.oversubscription, leaf, pod)
    except Refusal as refusal:
        basket.refuse(place.site.path, refusal.expected, refusal.found, refusal.fix)
        return None
    return one.times(planes)


def _nics(basket: Basket, place: Place) -> tuple[int, float] | None:
    """NICs of a node and the rate of one [B/s]; None, with a problem, where the node has none that fit."""
    dimension = place.dimension
    if dimension.nics is not None and dimension.nic_bandwidth is not None:
        shared = dimension.nics * place.used
        if shared % place.inside:
            expected = f"NICs that nodes of {place.used} NPUs share alike"
            basket.refuse(place.path("nics"), expected, f"{dimension.nics} for {place.inside} NPUs")
            return None
        return shared // place.inside, dimension.nic_bandwidth
    whole = dimension.bandwidth * place.used
    for sold in place.node.nics:
        count = round(whole / sold.rate)
        if count in sold.count and isclose(count * sold.rate, whole, rel_tol=1e-9):
            return count, sold.rate
    given = {count * sold.rate / place.used for sold in place.node.nics for count in sold.count}
    options = ", ".join(f"{bandwidth / 1e9:g}" for bandwidth in sorted(given)) or "none"
    expected = f"a bandwidth that NICs of '{place.node.name}' give: {options} GB/s an NPU"
    found = write_quantity(dimension.bandwidth, "bandwidth")
    basket.refuse(place.path("bandwidth"), expected, found, "give 'nics' and 'nic_bandwidth', or a linear price list")
    return None
