"""Weights that stream in from an expanded memory, and gradients that leave for it: two queues beside the network.

ZeRO-3's shards lie in the memory (`cluster.memory.expanded.place: [weights, optimizer]`; ZeRO-Infinity, Rajbhandari et
al. 2021, arXiv 2104.07857; weight streaming of CS-2 and of FRED, arXiv 2406.19580, section 3.1.2). Chunk by chunk each
NPU loads its shard at its share of the memory's bandwidth, and the group gathers the shards over the network; gradients
are reduce-scattered, and each NPU stores its shard. The memory's link has two directions, so what comes in and what
leaves have a queue each, numbered after the dimensions. Where controllers sit along the edge of a mesh, each sends to
all NPUs over it, and adds up what comes back: nothing is gathered or scattered, and the hot spot of the mesh limits the
rate (`simcore.memory.edge`). Neither is anything where the fabric of a pool copies and adds up (`simcore.system.pool`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from simcore.design.design import Design
from simcore.memory.edge import edge_share
from simcore.system.hierarchy import PhaseMaker, phases_in_order
from simcore.system.phase import Phase, picoseconds
from simcore.system.placement import GroupSlice
from simcore.system.pool import common_reach, own_reach

LOAD, STORE = "load", "store"
STREAMED = (LOAD, STORE)
"""Kinds of collectives between NPUs and the memory that their weights stream in from."""


def count_queues(design: Design) -> int:
    """Queues of an NPU: one for each dimension, and two more where weights stream in."""
    return len(design.cluster.dimensions) + (0 if design.streamed is None else len(STREAMED))


def network_kinds(design: Design, kind: str) -> tuple[str, ...]:
    """The kinds of the phases that a load, or a store, has on the network."""
    assert design.streamed is not None
    return () if design.streamed.edge or design.streamed.in_network else ("all_gather" if kind == LOAD else "reduce_scatter",)


def streamed_phases(maker: PhaseMaker[Phase], kind: str, group: Sequence[GroupSlice], size: float) -> list[Phase]:
    """The phases of a chunk: of a load of a shard of `size` [B], or of a store of `size` [B] of whole gradients."""
    design = maker.design
    memory, members = design.streamed, math.prod(where.part.members for where in group)
    assert memory is not None
    whole, shard = (size * members, size) if kind == LOAD else (size, size / members)
    if memory.in_network:
        reach, passed = common_reach(design, memory, group), whole
    else:
        reach, passed = own_reach(memory), shard / edge_share(design)
    queue = len(design.cluster.dimensions) + STREAMED.index(kind)
    link = Phase(queue, picoseconds(passed / reach.rate), picoseconds(reach.latency, least=0), shard, 0.0, kind)
    on_network = [
        phase for way in network_kinds(design, kind) for phase in phases_in_order(maker, way, group, whole, merge=False)
    ]
    return [link, *on_network] if kind == LOAD else [*on_network, link]
