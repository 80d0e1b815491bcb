"""Switches by level, transceivers, and cables by their length: a counted network put into the basket."""

from __future__ import annotations

from dataclasses import dataclass

from simcore.cost.bill import Group
from simcore.cost.clos import Clos
from simcore.cost.floor import INSIDE, SWITCHES_PER_RACK, cable_length
from simcore.cost.shelf import Basket, Link, Sold
from simcore.document.problem import Path
from simcore.document.quantity import write_quantity


@dataclass(frozen=True, slots=True)
class Site:
    """What a network joins, and where."""

    where: str
    """What the bill calls it."""
    group: Group
    path: Path
    """Path of what asks for it in the document."""
    nodes: int
    """Nodes of one of its networks."""
    per_rack: int
    networks: int = 1
    """Networks of this kind, beside each other."""


def buy_tree(basket: Basket, site: Site, tree: Clos, switch: Sold, nics: int) -> int:
    """Puts the switches and links of a tree, with `nics` links of each node, into the basket; its switches."""
    rate, few = switch.part.rate, tree.switches <= SWITCHES_PER_RACK
    assert rate is not None
    for level, switches in (("leaf", tree.leaves), ("spine", tree.spines), ("core", tree.cores)):
        name = f"{site.where}, {level}" if tree.spines else site.where
        basket.add(switch, name, site.group, site.networks * switches)
    buy_links(basket, site, "node to leaf", rate, _metres(site, tree.block, tree.switches), tree.node_links, nics, 1)
    upper = INSIDE if few else _metres(site, tree.group, tree.switches)
    buy_links(basket, site, "leaf to spine", rate, upper, tree.leaf_links)
    top = INSIDE if few else _metres(site, site.nodes, tree.switches)
    buy_links(basket, site, "spine to core", rate, top, tree.spine_links)
    return site.networks * tree.switches


def buy_links(
    basket: Basket, site: Site, level: str, rate: float, metres: float, links: int, nics: int = 0, switched: int = 2
) -> None:
    """Puts `links` links into the basket, `switched` ends of each at switches, `nics` of them at each node."""
    if not links:
        return
    link = basket.shelf.link(rate, metres)
    if link is None:
        expected = f"a link of {write_quantity(rate, 'bandwidth')} and {metres:.0f} m in list '{basket.shelf.name}'"
        fix = "add a cable, or a transceiver with its fibre, to its 'parts'"
        basket.refuse(site.path, expected, f"none ({site.where}, {level})", fix)
        return
    where = f"{site.where}, {level}"
    basket.add(link.cable, where, site.group, site.networks * links)
    ends = _transceivers(link, links * switched) + site.nodes * _transceivers(link, nics)
    basket.add(link.transceiver, where, site.group, site.networks * ends)


def _metres(site: Site, nodes: int, switches: int) -> float:
    return cable_length(nodes, site.per_rack, switches)


def _transceivers(link: Link, ends: int) -> int:
    """Transceivers for so many ends of links at one place, each of which may take several."""
    return 0 if link.transceiver is None else -(-ends // link.transceiver.part.ports)
