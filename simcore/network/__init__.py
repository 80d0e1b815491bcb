"""Over which links: one file per topology block. A torus is several ring dimensions."""

from functools import lru_cache

from simcore.network.base import (
    Block,
    Chain,
    Exchange,
    Link,
    Listed,
    Loads,
    Pattern,
    Route,
    Send,
    Shape,
    Shift,
    Slice,
    Spread,
    StepCost,
    Tree,
)
from simcore.network.fat_tree import FatTree
from simcore.network.fully_connected import FullyConnected
from simcore.network.mesh import Mesh
from simcore.network.ring import Ring
from simcore.network.switch import Switch


@lru_cache(maxsize=256)
def block(topology: str, leaf: int | None = None, oversubscription: float = 1.0) -> Block:
    """The block of a topology; `leaf` and `oversubscription` are those of a fat tree."""
    if topology == "fat_tree":
        assert leaf is not None  # checked at the door
        return FatTree(leaf, oversubscription)
    plain: dict[str, Block] = {
        "ring": Ring(),
        "mesh": Mesh(),
        "fully_connected": FullyConnected(),
        "switch": Switch(),
    }
    return plain[topology]


__all__ = [
    "Block",
    "Chain",
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
]
