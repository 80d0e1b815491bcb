"""Direct: every NPU sends to distance 1, 2, ... n - 1, at most `window` messages outstanding.

All-reduce runs the exchange twice; the second half may start only when all n - 1 receives of the first
are in. With a full window and one message time T, all-reduce takes d + T + (d + R) + T + d.
"""

from __future__ import annotations

from simcore.astra.algorithms.ring import REDUCES
from simcore.astra.engine.packets import PacketPlan
from simcore.astra.files.system import Collective


def plan_direct(kind: Collective, nodes: int, size: int, window: int | None, local: bool) -> PacketPlan:
    """Return the packets of a direct phase on `nodes` NPUs with `size` bytes entering.

    In a communicator group (`local`) the reducing group of the packet counter is n - 1 times larger.
    """
    others = nodes - 1
    width = others if window is None else min(window, others)
    halves = 2 if kind is Collective.ALL_REDUCE else 1
    message = size if kind is Collective.ALL_GATHER else size // nodes
    return PacketPlan(
        sends=halves * others,
        window=width,
        reducing=width * others if local else width,
        reduces=REDUCES[kind],
        distances=tuple(range(1, nodes)),
        sizes=(message,),
        barrier=others if halves == 2 else 0,
    )
