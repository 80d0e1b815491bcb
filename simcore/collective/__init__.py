"""How data moves: one file per collective algorithm."""

from functools import lru_cache

from simcore.collective.base import Algorithm, Message, Piece, Plan, Step
from simcore.collective.direct import Direct
from simcore.collective.double_binary_tree import DoubleBinaryTree
from simcore.collective.halving_doubling import HalvingDoubling
from simcore.collective.ring import Ring
from simcore.network import Shape

ALGORITHMS: dict[str, Algorithm] = {
    "ring": Ring(),
    "direct": Direct(),
    "halving_doubling": HalvingDoubling(),
    "double_binary_tree": DoubleBinaryTree(),
}

KINDS = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast")


@lru_cache(maxsize=1024)
def algorithm_for(name: str, kind: str, shape: Shape) -> Algorithm:
    """The algorithm `name` (`direct[4]`: direct with a window of 4), or what stands in for a kind it lacks."""
    base, _, window = name.partition("[")
    own = Direct(int(window.rstrip("]"))) if window else ALGORITHMS[base]
    if own.does(kind, shape):
        return own
    return ALGORITHMS["direct" if shape.kind == "star" and kind != "broadcast" else "ring"]


__all__ = ["ALGORITHMS", "KINDS", "Algorithm", "Message", "Piece", "Plan", "Step", "algorithm_for"]
