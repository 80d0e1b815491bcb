"""How data moves: one file per collective algorithm."""

from simcore.collective.base import Algorithm, Step
from simcore.collective.direct import Direct
from simcore.collective.double_binary_tree import DoubleBinaryTree
from simcore.collective.halving_doubling import HalvingDoubling
from simcore.collective.ring import Ring

ALGORITHMS: dict[str, Algorithm] = {
    "ring": Ring(),
    "direct": Direct(),
    "halving_doubling": HalvingDoubling(),
    "double_binary_tree": DoubleBinaryTree(),
}


def steps(algorithm: str, topology: str, kind: str, members: int) -> tuple[Step, ...]:
    """The steps of `kind` by `algorithm`, or by the algorithm that stands in for a kind it lacks."""
    own = ALGORITHMS[algorithm].steps(kind, members)
    return own or ALGORITHMS["ring" if topology == "ring" else "direct"].steps(kind, members)


__all__ = ["ALGORITHMS", "Algorithm", "Step", "steps"]
