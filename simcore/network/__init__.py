"""Over which links: one file per topology block. A torus is several ring dimensions."""

from functools import lru_cache
from typing import Any

from simcore.family import Family
from simcore.network.base import Block, ratios_of
from simcore.network.clos import Clos
from simcore.network.dgx1 import Dgx1
from simcore.network.dragonfly import Dragonfly
from simcore.network.fat_tree import FatTree
from simcore.network.fully_connected import FullyConnected
from simcore.network.graph import Graph
from simcore.network.hypercube import Hypercube
from simcore.network.mesh import Mesh
from simcore.network.pattern import Chain, Exchange, Listed, Loads, Pattern, Send, Shift, Spread, StepCost, Tree
from simcore.network.ring import Ring
from simcore.network.switch import Switch
from simcore.network.torus import Torus
from simcore.network.wiring import Link, Route, Shape, Slice

TOPOLOGIES: Family[type[Block]] = Family(
    "simcore.topologies",
    Block,
    {
        "ring": Ring,
        "mesh": Mesh,
        "fully_connected": FullyConnected,
        "switch": Switch,
        "fat_tree": FatTree,
        "clos": Clos,
        "dragonfly": Dragonfly,
        "torus": Torus,
        "hypercube": Hypercube,
        "dgx1": Dgx1,
        "graph": Graph,
    },
    classes=True,
)


BLOCK_KEYS = ("pod", "routers", "global_links", "sides", "wrap", "twisted", "graph")
"""Keys of a dimension that only some blocks have, `leaf` and those of routings aside."""
ROUTING_KEYS = ("routing", "routing_seed", "connections")
"""Keys of a dimension whose block has routings."""


@lru_cache(maxsize=256)
def block(
    topology: str, leaf: int | None = None, oversubscription: float | tuple[float, ...] = 1.0, **given: Any
) -> Block:
    """The block of a topology; `leaf` and `oversubscription` of one with leaves, and the keys `given` that it knows."""
    its = TOPOLOGIES[topology]
    return its.of(leaf or 0, oversubscription, given)


__all__ = [
    "BLOCK_KEYS",
    "ROUTING_KEYS",
    "TOPOLOGIES",
    "Block",
    "Chain",
    "Clos",
    "Exchange",
    "FatTree",
    "FullyConnected",
    "Link",
    "Listed",
    "Loads",
    "Mesh",
    "Pattern",
    "Ring",
    "Route",
    "Send",
    "Shape",
    "Shift",
    "Slice",
    "Spread",
    "StepCost",
    "Switch",
    "Tree",
    "block",
    "ratios_of",
]
