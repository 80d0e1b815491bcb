"""Times a design with packets on its outermost dimension."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.compute import times_of
from simcore.design.design import Design
from simcore.design.transport import Transport
from simcore.engine.fast.iteration import StageWork, Timing
from simcore.engine.packets import layout as at
from simcore.engine.packets.collectives import Collectives
from simcore.engine.packets.fabric import Fabric
from simcore.engine.packets.graph import Graph
from simcore.engine.packets.iteration import Iteration, NpuChain
from simcore.engine.packets.play import Played, Watch, play
from simcore.engine.reference.cluster import GivenGroups, NpuGroups, slowdowns
from simcore.program import Category, Program
from simcore.schedule import ORDERS
from simcore.system.chunks import Chunker, block_of
from simcore.system.interference import slowdowns as interference
from simcore.system.placement import place


class Ready(NamedTuple):
    """A design that can be played: its fabric, its graph, and the chains of its NPUs (none of a collective alone)."""

    design: Design
    fabric: Fabric
    network: Collectives
    chains: list[NpuChain]

    @property
    def graph(self) -> Graph:
        """All work."""
        return self.network.graph


def fabric_of(design: Design) -> Fabric:
    """The links of the outermost dimension."""
    outer = len(design.cluster.dimensions) - 1
    dimension = design.cluster.dimensions[outer]
    stride = design.cluster.npus // dimension.size
    rate = Chunker(design).rate(dimension) / design.cluster.transport_share(dimension)  # which packets show themselves
    worn = design.cluster.worn(outer)
    return Fabric(block_of(dimension), dimension.size, rate, dimension.latency, stride, worn)


def prepare(design: Design, program: Program) -> Ready:
    """The work of a design."""
    placement, fabric = place(design)[0], fabric_of(design)
    dimensions = design.cluster.dimensions
    connections = 1 if fabric.block.sprayed else dimensions[-1].connections
    graph = Graph(design.cluster.npus, len(dimensions), connections)
    single = program.single
    if single is not None:
        groups = None if single.group in placement else GivenGroups(design, placement)
        network = Collectives(groups or NpuGroups(design, placement), graph)
        begin = graph.gate()
        for npu in range(design.cluster.npus):
            group = groups.group_of(npu) if groups else single.group
            network.issue(npu, single.kind, group, single.size, begin)
        return Ready(design, fabric, network, [])
    network = Collectives(NpuGroups(design, placement), graph)
    job = Iteration(program, times_of(design), network)
    order = ORDERS[program.schedule].order(program.stages, program.microbatches, program.chunks).tolist()
    chains = []
    for number, slowdown in enumerate(slowdowns(design)):
        chain = NpuChain(job, number, slowdown, order[network.cluster.rank(number, "pipeline")])
        chain.add_blocks()
        chains.append(chain)
    return Ready(design, fabric, network, chains)


def play_ready(ready: Ready, watch: Watch | None = None, every: int = at.NEVER) -> Played:
    """Play a design; `watch` looks at it each `every` [ps]. Raises as `play`."""
    transport = ready.design.cluster.transport or Transport()
    return play(ready.fabric, ready.graph, transport, interference(ready.design), watch, every)


def timing_of(ready: Ready, played: Played) -> Timing:
    """What the NPU did that finishes last."""
    finish = played.finish
    if not ready.chains:
        total = int(finish.max())
        return Timing(total, {Category.DATA: total}, 0, 0, *_use(ready, played, 0))
    last = min(ready.chains, key=lambda chain: (-finish[chain.last], chain.stage, chain.number))
    each = {chain.number: _spent(chain, finish) for chain in ready.chains}
    work = tuple(StageWork(chain.stage, 1, (*each[chain.number][0].values(),)) for chain in ready.chains)
    spent, bubble = each[last.number]
    return Timing(int(finish[last.last]), spent, bubble, last.stage, *_use(ready, played, last.number), work)


def _spent(chain: NpuChain, finish: NDArray[np.int64]) -> tuple[dict[Category, int], int]:
    """Time that an NPU spends by category, and in bubbles [ps]."""
    spent, bubble = dict.fromkeys(Category, 0), 0
    for category, begin, end in chain.spans:
        time = int(finish[end] - finish[begin])
        if category is None:
            bubble += time
        else:
            spent[category] += time
    return spent, bubble


def _use(ready: Ready, played: Played, npu: int) -> tuple[list[int], list[float]]:
    """Time that each dimension of an NPU served [ps], and bytes sent over it."""
    w, graph = played.tables.w, ready.graph
    inner = range(graph.dimensions - 1)
    busy = [int(w[at.RESOURCES][graph.queue(npu, dimension), at.RESOURCE_BUSY]) for dimension in inner]
    busy.append(int(w[at.LINKS][ready.fabric.uplinks[npu], at.BUSY]))
    return busy, np.asarray(ready.network.sent[:, npu]).tolist()
