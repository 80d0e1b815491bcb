"""What a cluster needs beside NPUs and the network between them: storage, management, racks and their power strips.

Counted as NVIDIA's reference architecture of DGX H100 has it for 127 nodes (RA-11333-001 V11, tables 6 to 8).
"""

from __future__ import annotations

from dataclasses import dataclass

from simcore.cost.bill import Group
from simcore.cost.clos import cable
from simcore.cost.floor import SWITCHES_PER_RACK
from simcore.cost.shelf import Basket
from simcore.cost.tree import Site, buy_tree
from simcore.design.node import Node
from simcore.document.problem import Refusal

READ_PER_NPU = 160e9 / 1024
"""What storage reads for each NPU [B/s] (ibid., table 6, *better*), where no checkpoints say what it must write."""
READS_FOR_WRITES = 2.0
"""What storage reads while it could write one (ibid.): an appliance is known by what it reads."""
NPUS_PER_PORT = 4
"""NPUs of a node for each of its ports in the storage network, and in that of management: 2 of 8 (ibid., table 8)."""
FASTEST = 50e9
"""Most rate of a port for storage: BlueField-3, 400 Gb/s, beside NICs of 800 Gb/s [B/s]."""
OVERSUBSCRIPTION = 3.0
"""Oversubscription of the management network: 6 leaves and 2 cores for 127 nodes (ibid., its split assumed)."""
NODES_PER_SERVER = 32
"""Nodes for each management server, beside a first one: 5 for 127 nodes (ibid.)."""
FEEDS = 2
"""Power strips of a rack of one node."""
PDUS = (3, 2)
"""Power distribution units of a rack of nodes, of any other (ibid.)."""


@dataclass(frozen=True, slots=True)
class Rest:
    """What decides it."""

    node: Node
    nodes: int
    per_rack: int
    """Nodes of a rack."""
    switches: int
    """Switches of the compute fabric."""
    rate: float | None
    """Rate of a node's ports in the storage network [B/s]; None where it has none."""
    storage: float
    """What storage reads [B/s]."""


def buy_rest(basket: Basket, rest: Rest) -> None:
    """Puts storage, management and racks into the basket, as far as the list sells them.

    A single node has a rack and two power strips, one for each feed.
    """
    if rest.nodes == 1:
        basket.add(basket.shelf.first("rack"), "nodes", "other", 1)
        basket.add(basket.shelf.first("pdu"), "racks", "other", FEEDS)
        return
    appliances = _buy_storage(basket, rest)
    switches = rest.switches
    rate = None if rest.rate is None else min(rest.rate, FASTEST)
    switches += _buy_network(basket, rest, "storage network", "storage", rate, 1.0, appliances)
    switches += _buy_network(basket, rest, "management network", "other", _least_rate(basket), OVERSUBSCRIPTION)
    servers = -(-rest.nodes // NODES_PER_SERVER) + 1
    basket.add(basket.shelf.first("server"), "management", "other", servers)
    _buy_racks(basket, rest, switches + servers + appliances)


def _buy_storage(basket: Basket, rest: Rest) -> int:
    """Whole appliances for what storage reads; their number."""
    appliance = basket.shelf.first("storage")
    if appliance is None or appliance.part.rate is None:
        return 0
    count = -int(-rest.storage // appliance.part.rate)
    basket.add(appliance, "storage", "storage", count)
    return count


def _least_rate(basket: Basket) -> float | None:
    rates = [s.part.rate for s in basket.shelf.parts if s.part.kind == "switch" and s.part.rate is not None]
    return min(rates, default=None)


def _buy_network(
    basket: Basket, rest: Rest, where: str, group: Group, rate: float | None, oversubscription: float, more: int = 0
) -> int:
    """A network of all nodes and `more` appliances; the number of its switches."""
    switch = None if rate is None else basket.shelf.first("switch", rate)
    if switch is None:
        return 0
    ports = -(-rest.node.size // NPUS_PER_PORT)
    site = Site(where, group, ("cluster",), rest.nodes + more, rest.per_rack)
    try:
        tree = cable(site.nodes, ports, switch.part.ports, oversubscription)
    except Refusal as refusal:
        basket.refuse(site.path, refusal.expected, f"{refusal.found} in the {where}", refusal.fix)
        return 0
    return buy_tree(basket, site, tree, switch, ports)


def _buy_racks(basket: Basket, rest: Rest, devices: int) -> None:
    """Switches for the consoles of nodes, of so many other devices and of power strips; racks for all of them."""
    racks, shelf = -(-rest.nodes // rest.per_rack), basket.shelf
    consoles = shelf.first("management_switch")
    if consoles is not None:
        count = -(-(rest.nodes + devices + PDUS[0] * racks) // consoles.part.ports)
        basket.add(consoles, "management, consoles", "other", count)
        devices += count
    others = -(-devices // SWITCHES_PER_RACK)
    basket.add(shelf.first("rack"), "nodes", "other", racks)
    basket.add(shelf.first("rack"), "switches, storage, management", "other", others)
    basket.add(shelf.first("pdu"), "racks", "other", PDUS[0] * racks + PDUS[1] * others)
