"""How long a job waits for nodes in repair, and how many are worth to stand by.

Failures of hardware, rate h, take a node until it is repaired, R on average. With s spare nodes the job waits while
s + 1 are missing, and nothing fails meanwhile: Erlang's loss system, whose share of blocked time B(s + 1, h R) depends
on nothing else of how long repairs take (Sevastyanov 1957).
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from simcore.design.cluster import Cluster
from simcore.design.design import Design
from simcore.design.once import once_for
from simcore.design.reliability import Reliability
from simcore.design.same import Same
from simcore.reliability.counts import Counts, counts_of, failure_rate

Number: TypeAlias = Any
"""A float, or an array `[networks]`."""


def waiting_share(load: Number, spares: int) -> Number:
    """The share of the time in which a job waits; `load`: nodes in repair on average, were there always another.

    Erlang's formula by its stable recursion.
    """
    most = load if type(load) is float else float(np.max(load))
    # Far more servers than load block less than a float can tell from 0.
    servers = min(spares + 1, math.ceil(most + 10.0 * math.sqrt(most)) + 60)
    blocked = 1.0 if type(load) is float else np.ones_like(load, dtype=float)
    for number in range(1, servers + 1):
        blocked = load * blocked / (number + load * blocked)
    return blocked


def _asked(design: Design) -> tuple[Same[Cluster], Same[Reliability]]:
    return Same(design.cluster), Same(design.reliability)


@once_for(_asked, 4096)
def spare_nodes(design: Design) -> int:
    """Nodes that stand by, to be bought beside those of the job: the share that is given, else `worthwhile_spares`."""
    given, nodes = design.reliability.spares, counts_of(design).node
    if given is not None:
        return math.ceil(given * nodes - 1e-9)
    counts = Counts(npu=design.cluster.npus, node=nodes)
    rate = failure_rate(design.reliability.mtbf.model_copy(update={"software": None}), counts)
    return worthwhile_spares(rate * design.reliability.repair, nodes)


def worthwhile_spares(load: float, nodes: int) -> int:
    """The spare nodes with which a job works most for each node that is bought.

    The gain of each is below that of the one before, so the first that is not worth it ends the search.
    """
    spares, blocked = 0, load / (1.0 + load)
    while True:
        next_blocked = load * blocked / (spares + 2 + load * blocked)
        if (1.0 - next_blocked) / (nodes + spares + 1) <= (1.0 - blocked) / (nodes + spares):
            return spares
        spares, blocked = spares + 1, next_blocked
