"""How many nodes a rack holds: as many as its entry says, or as a building's supply and cooling allow."""

from __future__ import annotations

from simcore.design.node import Node
from simcore.design.prices import PriceList

USUAL = 32
"""NPUs of a rack where the catalogue has no node for them: 4 nodes of 8 (assumed)."""


def nodes_per_rack(node: Node, prices: PriceList) -> int:
    """Nodes of a rack: whole ones, at least one, and no more than stand in it.

    A node whose scale-up network joins it with others is sold by the rack, whatever the price list says.
    """
    if prices.npus_per_rack is None or max(node.scale_up.domains) > node.size:
        return node.per_rack
    return min(node.per_rack, max(1, prices.npus_per_rack // node.size))


def npus_per_rack(node: Node | None, prices: PriceList) -> int:
    """NPUs of a full rack."""
    return prices.npus_per_rack or USUAL if node is None else nodes_per_rack(node, prices) * node.size
