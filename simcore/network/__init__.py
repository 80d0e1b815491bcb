"""Over which links: one file per topology block. A torus is several ring dimensions."""

from functools import lru_cache

from simcore.family import Family
from simcore.network.base import Block
from simcore.network.fat_tree import FatTree
from simcore.network.fully_connected import FullyConnected
from simcore.network.mesh import Mesh
from simcore.network.pattern import Chain, Exchange, Listed, Loads, Pattern, Send, Shift, Spread, StepCost, Tree
from simcore.network.reduction import ADDED_KINDS, TREE_KINDS, Flow, Level, Rung, SwitchTree, flows
from simcore.network.ring import Ring
from simcore.network.switch import Switch
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
    },
    classes=True,
)


@lru_cache(maxsize=256)
def block(topology: str, leaf: int | None = None, oversubscription: float = 1.0) -> Block:
    """The block of a topology; `leaf` is that of a fat tree."""
    return TOPOLOGIES[topology](leaf or 0, oversubscription)


__all__ = [
    "ADDED_KINDS",
    "TREE_KINDS",
    "Block",
    "Chain",
    "Exchange",
    "FatTree",
    "Flow",
    "FullyConnected",
    "Level",
    "Link",
    "Listed",
    "Loads",
    "Mesh",
    "Pattern",
    "Ring",
    "Route",
    "Rung",
    "Send",
    "Shape",
    "Shift",
    "Slice",
    "Spread",
    "StepCost",
    "Switch",
    "SwitchTree",
    "Tree",
    "block",
    "flows",
]
