"""How many switches and cables a dragonfly takes: a switch for each router, its links inside groups and between them.

Each NIC of a node is on a dragonfly of its own, as each NPU is on its own row of the dimension. A router's switch needs
a port for each NIC, for each other router of its group, and for each global link.
"""

from __future__ import annotations

from dataclasses import dataclass

from simcore.cost.floor import cable_length
from simcore.cost.shelf import Basket, Sold
from simcore.cost.tree import Site, buy_links
from simcore.design.dimension import Dimension
from simcore.document.problem import Refusal
from simcore.network.dragonfly import Wires


@dataclass(frozen=True, slots=True)
class Routers:
    """Switches and links of one or several dragonflies."""

    switches: int
    node_links: int
    local: int
    between: int


def count_routers(nics: int, routers: int, global_links: int, leaf: int, radix: int) -> Routers:
    """The dragonfly of so many NICs in switches of `radix` ports; raises `Refusal` where they have too few."""
    needed = leaf + routers - 1 + global_links
    if needed > radix:
        expected = f"switches of {needed} ports ({leaf} NICs, {routers - 1} routers of a group, {global_links} global)"
        raise Refusal(expected, f"{radix}", "choose a smaller 'leaf', fewer 'routers', or a switch of more ports")
    groups = nics // (leaf * routers)
    copies = routers * global_links // (groups - 1) if groups > 1 else 0
    its = Wires(nics, leaf, routers, global_links, groups, copies)
    return Routers(groups * routers, nics, groups * routers * (routers - 1) // 2, groups * its.ports // 2)


def buy_dragonfly(basket: Basket, site: Site, dimension: Dimension, rows: int, switch: Sold) -> int:
    """Puts the switches and links of `rows` dragonflies over a site into the basket; the number of switches."""
    assert dimension.leaf  # checked at the door
    assert dimension.routers
    assert dimension.global_links
    assert switch.part.rate is not None
    try:
        one = count_routers(
            dimension.size, dimension.routers, dimension.global_links, dimension.leaf, switch.part.ports
        )
    except Refusal as refusal:
        basket.refuse(site.path, refusal.expected, refusal.found, refusal.fix)
        return 0
    switches, rate = rows * one.switches, switch.part.rate
    basket.add(switch, f"{site.where}, routers", site.group, site.networks * switches)
    metres = [
        cable_length(nodes, site.per_rack, switches)
        for nodes in (dimension.leaf, dimension.leaf * dimension.routers, site.nodes)
    ]
    each = -(-rows * one.node_links // site.nodes)
    buy_links(basket, site, "node to router", rate, metres[0], rows * one.node_links, each, 1)
    buy_links(basket, site, "inside groups", rate, metres[1], rows * one.local)
    buy_links(basket, site, "between groups", rate, metres[2], rows * one.between)
    return site.networks * switches
