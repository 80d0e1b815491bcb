"""Weights that stream in from an expanded memory, and gradients that leave for it: two queues beside the network.

ZeRO-3's shards lie in the memory (`cluster.memory.expanded.place: [weights, optimizer]`; ZeRO-Infinity, Rajbhandari et
al. 2021, arXiv 2104.07857; weight streaming of CS-2 and of FRED, arXiv 2406.19580, section 3.1.2). Chunk by chunk each
NPU loads its shard at its share of the memory's bandwidth, and the group gathers the shards over the network; gradients
are reduce-scattered, and each NPU stores its shard. The memory's link has two directions, so what comes in and what
leaves have a queue each, numbered after the dimensions.

Switches that reduce on all dimensions of the group copy what comes in, and add up what leaves, each in one direction of
the links: nothing is gathered or scattered, but all of the weights pass each NPU's port. Where controllers sit along
the edge of a mesh, each sends to all NPUs over it, and adds up what comes back: the hot spot of the mesh limits the
rate (`simcore.system.edge`). Nor is anything gathered where the fabric of a pool copies and adds up: the network has no
part in it (`simcore.system.pool`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from simcore.design.design import Design
from simcore.system.edge import edge_share
from simcore.system.hierarchy import PhaseMaker, goes_by_tree, phases_in_order, tree_phases
from simcore.system.phase import Phase, picoseconds
from simcore.system.placement import GroupSlice
from simcore.system.pool import common_reach, own_reach
from simcore.system.rings import goes_round, ring_phases

LOAD, STORE = "load", "store"
STREAMED = (LOAD, STORE)
"""Kinds of collectives between NPUs and the memory that their weights stream in from."""


def count_queues(design: Design) -> int:
    """Queues of an NPU: one for each dimension, and two more where weights stream in."""
    return len(design.cluster.dimensions) + (0 if design.streamed is None else len(STREAMED))


def streamed_phases(maker: PhaseMaker[Phase], kind: str, group: Sequence[GroupSlice], size: float) -> list[Phase]:
    """The phases of a chunk: of a load of a shard of `size` [B], or of a store of `size` [B] of whole gradients."""
    design = maker.design
    memory, members = design.streamed, math.prod(where.part.members for where in group)
    assert memory is not None
    whole, shard = (size * members, size) if kind == LOAD else (size, size / members)
    on_network = _on_network(maker, kind, group, whole)
    if memory.in_network:
        reach, passed = common_reach(design, memory, group), whole
    else:
        reach, passed = own_reach(memory), shard / edge_share(design)
    copied = [phase.serialization + phase.other_links for phase in on_network if phase.in_switch]
    queue = len(design.cluster.dimensions) + STREAMED.index(kind)
    latency = picoseconds(reach.latency, least=0)
    link = Phase(queue, max(picoseconds(passed / reach.rate), *copied, 0), latency, shard, 0.0, kind)
    return [link, *on_network] if kind == LOAD else [*on_network, link]


def _on_network(maker: PhaseMaker[Phase], kind: str, group: Sequence[GroupSlice], whole: float) -> list[Phase]:
    """What a load, or a store, of a chunk of `whole` [B] does on the network."""
    memory = maker.design.streamed
    if memory is not None and (memory.edge or memory.in_network):
        return []
    if not goes_by_tree(maker, "broadcast", group):
        own = "all_gather" if kind == LOAD else "reduce_scatter"
        if goes_round(maker.design, own, group):
            return ring_phases(maker, own, group, whole)
        return phases_in_order(maker, own, group, whole, merge=False)
    phases = [_one_way(phase) for phase in tree_phases(maker, "broadcast", group, whole)]
    return phases[::-1] if kind == LOAD else phases


def _one_way(phase: Phase) -> Phase:
    """A phase that uses one direction of its links: many pass those of the other kind, which use the other."""
    half = phase.serialization // 2
    return phase._replace(
        serialization=phase.serialization - half, latency=phase.latency + half, other_links=phase.other_links + half
    )
