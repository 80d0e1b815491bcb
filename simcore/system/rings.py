"""Rings over all NPUs of a group, which a library of collectives takes where it knows no hierarchy (NCCL).

A ring of n NPUs takes n - 1 steps (Patarasuk, Yuan 2009), and a step as long as the latency of the dimension that it
crosses. With m nodes of g NPUs each, m - 1 of them are between nodes and n - m inside nodes: NCCL's tuning model counts
the same (`src/graph/tuning.cc`: `nsteps`, `nInterSteps`), where a hierarchy takes g - 1 of the latter. There is a ring
for each NPU of a node, each over the NIC of another NPU, so that a NIC carries (n - 1) / n of a g-th of the buffer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from simcore.design.design import Design
from simcore.system.hierarchy import P_co, PhaseMaker
from simcore.system.placement import GroupSlice

RING_KINDS = ("reduce_scatter", "all_gather")
"""Collectives that go round where a library has `rings`; all-reduces have trees."""


def goes_round(design: Design, kind: str, group: Sequence[GroupSlice]) -> bool:
    """Whether a collective goes by rings over all NPUs of a group.

    The innermost dimension of the group names the library and takes an algorithm that it has, and no switch further out
    reduces.
    """
    if kind not in RING_KINDS or len(group) < 2:
        return False
    innermost = group[0].dimension
    library = design.cluster.dimensions[innermost].library
    if library is None or not library.rings or not library.has(design.algorithms[innermost]):
        return False
    return not any(dimension.in_network for dimension in design.cluster.dimensions[innermost + 1 :])


def ring_phases(maker: PhaseMaker[P_co], kind: str, group: Sequence[GroupSlice], size: float) -> list[P_co]:
    """The phases of a chunk of `size` [B] (what it is when whole), one for the links of each dimension."""
    whole = further = math.prod(where.part.members for where in group)
    phases = []
    for where in group:
        members = where.part.members
        further //= members
        carried = size if where is group[0] else size * (1 - 1 / whole) / (1 - 1 / members)
        entering = carried if kind == "reduce_scatter" else carried / members
        phases.append(maker.phase(kind, where, carried, entering, ring_steps=(members - 1) * further))
        size /= members
    return phases if kind == "reduce_scatter" else phases[::-1]
