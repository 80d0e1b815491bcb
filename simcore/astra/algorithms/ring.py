"""Ring: every NPU passes one message a step to its neighbour.

n - 1 steps of D/n for reduce-scatter, of D for all-gather; both after one another for all-reduce;
n (n - 1) / 2 neighbour-relayed steps of D/n for all-to-all. With message time T and reduction R,
reduce-scatter takes d + (n-1)(T + d + R).
"""

from __future__ import annotations

from simcore.astra.engine.packets import PacketPlan, ReductionTurns
from simcore.astra.files.system import Collective

REDUCES = {
    Collective.ALL_REDUCE: ReductionTurns.EVERY_OTHER_TURN,
    Collective.REDUCE_SCATTER: ReductionTurns.EVERY_TURN,
    Collective.ALL_GATHER: ReductionTurns.NEVER,
    Collective.ALL_TO_ALL: ReductionTurns.NEVER,
}


def plan_ring(kind: Collective, nodes: int, size: int) -> PacketPlan:
    """Return the packets of a ring phase on `nodes` NPUs with `size` bytes entering."""
    sends = {
        Collective.ALL_REDUCE: 2 * (nodes - 1),
        Collective.ALL_TO_ALL: nodes * (nodes - 1) // 2,
    }.get(kind, nodes - 1)
    message = size if kind is Collective.ALL_GATHER else size // nodes
    return PacketPlan(sends, 1, nodes - 1, REDUCES[kind], (1,), (message,))
