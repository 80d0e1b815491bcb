"""Halving-doubling: log2(n) exchanges with partners at position XOR 1, 2, 4, ... n/2.

Reduce-scatter halves the message each step (D/2 first), all-gather doubles it in the reverse partner
order, all-reduce does both. All sizes are cut to whole bytes step by step; the all-gather half of an
all-reduce starts from twice the size *after* the last halving, so an odd size loses a byte there.
"""

from __future__ import annotations

from simcore.astra.algorithms.ring import REDUCES
from simcore.astra.engine.packets import PacketPlan
from simcore.astra.files.errors import AstraInputError
from simcore.astra.files.system import Collective


def plan_halving_doubling(kind: Collective, nodes: int, size: int) -> PacketPlan:
    """Return the packets of a phase on `nodes` NPUs with `size` bytes entering.

    Raises
    ------
    AstraInputError
        If `nodes` is no power of two, or the collective is an all-to-all: ASTRA-sim hangs or exits.
    """
    if nodes & (nodes - 1):
        raise AstraInputError(f"halvingDoubling: expected a power of two NPUs, got {nodes}; use ring or direct")
    if kind is Collective.ALL_TO_ALL:
        raise AstraInputError("halvingDoubling: expected a reducing or gathering collective, got all-to-all")
    steps = nodes.bit_length() - 1
    up = tuple(1 << step for step in range(steps))
    if kind is Collective.ALL_GATHER:
        sizes = tuple(size << step for step in range(steps + 1))
        return PacketPlan(steps, 1, steps - 1, REDUCES[kind], up[::-1], sizes, exchange=True)
    halves = [size // 2]
    for _ in range(steps):
        halves.append(halves[-1] // 2)
    if kind is Collective.REDUCE_SCATTER:
        return PacketPlan(steps, 1, steps - 1, REDUCES[kind], up, tuple(halves), exchange=True)
    doubles = tuple((halves[steps] * 2) << step for step in range(steps + 1))
    sizes = tuple(halves[:steps]) + doubles
    return PacketPlan(2 * steps, 1, steps - 1, REDUCES[kind], up + up[::-1], sizes, exchange=True)
