"""In turn: chunks begin on each of several dimensions in turn, so that all of them carry as much.

XLA uses the axes of a torus so (How to Scale Your Model, Google DeepMind 2025, part 3: an all-gather over several axes
has the bandwidth of all of them). It is no policy that a design chooses: its dimensions have it (`Dimension.at_once`).
"""

from __future__ import annotations

from collections.abc import Sequence

from simcore.policy.inter_dimension.base import ChunkOrders


def take_turns(at_once: Sequence[bool], chunks: int) -> ChunkOrders:
    """The orders of `chunks` chunks over dimensions of which some are used `at_once`; the others keep their places."""
    turning = [d for d, its in enumerate(at_once) if its]
    ways = min(len(turning), chunks)
    orders = []
    for first in range(ways):
        order = list(range(len(at_once)))
        for place, d in enumerate(turning):
            order[d] = turning[(place + first) % len(turning)]
        orders.append(tuple(order))
    return ChunkOrders(orders, [chunk % ways for chunk in range(chunks)])
