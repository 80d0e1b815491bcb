"""How data moves: one file per collective algorithm."""

from functools import lru_cache

from simcore.collective.base import ALL, GATHERING, SCATTERING, Algorithm, Message, Piece, Plan, Step
from simcore.collective.custom import CustomAlgorithm, ListedKind, ListedMessage
from simcore.collective.direct import Direct
from simcore.collective.double_binary_tree import DoubleBinaryTree
from simcore.collective.halving_doubling import HalvingDoubling
from simcore.collective.ring import Ring
from simcore.collective.routed import Routing, kernel_seconds, routed_of
from simcore.family import Family
from simcore.network import Shape

FLAT_RING = "flat_ring"
"""One ring over all dimensions (see `simcore.system.chunks`); within one dimension, and for other kinds, a ring."""

ALGORITHMS: Family[Algorithm] = Family(
    "simcore.collectives",
    Algorithm,
    {
        "ring": Ring(),
        "direct": Direct(),
        "halving_doubling": HalvingDoubling(),
        "double_binary_tree": DoubleBinaryTree(),
        FLAT_RING: Ring(),
    },
)


def plan_for(name: str | CustomAlgorithm, kind: str, members: int, shape: Shape) -> Plan:
    """The messages of `kind` by `name` or its stand-in.

    A send_recv is one message from the first to the last member, a shift one from every member to the next.

    Raises `ValueError` for a number of members that the algorithm cannot serve.
    """
    if kind == "send_recv":
        plan = Plan(1)
        plan.send(0, members - 1, plan.block_pieces(0))
        return plan
    if kind == "shift":
        return _plan_shift(members, shape)
    return algorithm_for(name, kind, shape).plan(kind, members, shape)


def _plan_shift(members: int, shape: Shape) -> Plan:
    """Each member sends its buffer to the next one of each ring, evenly; on a line all of it each way."""
    if shape.kind == "line":
        plan = Plan(1)
        for i in range(members):
            for j in (i - 1, i + 1):
                if 0 <= j < members:
                    plan.send(i, j, plan.block_pieces(0))
        return plan
    orders = shape.orders(members)
    plan = Plan(1, len(orders))
    for part, order in enumerate(orders):
        for place in range(members):
            plan.send(order[place], order[(place + 1) % members], [Piece(ALL, 0, part)])
    return plan


KINDS = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast")


def algorithm_named(name: str) -> Algorithm:
    """The algorithm of a name; `direct[4]` is direct with a window of 4."""
    base, _, window = name.partition("[")
    return Direct(int(window.rstrip("]"))) if window else ALGORITHMS[base]


@lru_cache(maxsize=1024)
def algorithm_for(name: str | CustomAlgorithm, kind: str, shape: Shape) -> Algorithm:
    """The algorithm `name` (or a user's own), or what stands in for a kind it lacks."""
    own = algorithm_named(name) if isinstance(name, str) else name
    if own.does(kind, shape):
        return own
    return ALGORITHMS["direct" if shape.kind == "star" and kind != "broadcast" else "ring"]


__all__ = [
    "ALGORITHMS",
    "ALL",
    "FLAT_RING",
    "GATHERING",
    "KINDS",
    "SCATTERING",
    "Algorithm",
    "CustomAlgorithm",
    "ListedKind",
    "ListedMessage",
    "Message",
    "Piece",
    "Plan",
    "Routing",
    "Step",
    "algorithm_for",
    "algorithm_named",
    "kernel_seconds",
    "plan_for",
    "routed_of",
]
