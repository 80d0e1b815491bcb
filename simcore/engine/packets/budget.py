"""How many links packets will pass, before a run starts: a second for every few millions.

Counted as the reference engine counts events (`simcore.engine.reference.events`): per phase of the outermost dimension
the packets of its plan's messages, times the links of the longest way.
"""

from __future__ import annotations

import numpy as np

from simcore.design.design import Design
from simcore.design.transport import Transport
from simcore.engine.packets.collectives import template_of
from simcore.engine.reference.events import EventCounter, count_all
from simcore.engine.reference.reduce import Check, EventBudgetError, reduce_to
from simcore.network import Slice
from simcore.system.chunks import Chunks, block_of
from simcore.system.placement import place

BUDGET = 400_000_000
"""Packet-hops that a run may take: a few minutes."""


def estimate_hops(design: Design) -> int:
    """Packet-hops of a design, with one for each of its tasks and operators."""
    return count_all(_HopCounter(design, place(design)[0], links=False))


def check_hops(design: Design, check: Check, budget: int = BUDGET) -> None:
    """Raise `EventBudgetError` where `design` takes more than `budget` packet-hops; `check` gives its problems."""
    hops = estimate_hops(design)
    if hops <= budget:
        return
    try:
        fitting = ", ".join(reduce_to(design, check, budget, estimate_hops)[1])
    except EventBudgetError:
        fitting = "no smaller design of the same degrees; larger packets (cluster.transport.mtu) are fewer"
    raise EventBudgetError(
        f"engine packets: expected at most {budget:,} packet-hops, got about {hops:,}; what fits: {fitting}"
    )


class _HopCounter(EventCounter):
    """Packet-hops of one NPU."""

    def count_split(self, group: str, split: Chunks) -> float:
        """See `EventCounter.count_split`."""
        slices = {where.dimension: where.part for where in self.placement[group]}
        outer = len(self.design.cluster.dimensions) - 1
        hops = 1.0
        for path, chunks in split.count_paths():
            for phase in path:
                if phase.dimension < outer:
                    hops += 2 * chunks
                else:
                    part = slices[outer]
                    size = phase.size * (part.members if phase.kind == "all_gather" else 1)
                    hops += chunks * self._count_packets(phase.kind, part, size) * self._longest_way()
        return hops

    def _count_packets(self, kind: str, part: Slice, size: float) -> float:
        """Packets that a member sends in a phase, on average."""
        outer = len(self.design.cluster.dimensions) - 1
        shape = block_of(self.design.cluster.dimensions[outer]).shape(part)
        template = template_of(self.chunker.algorithm(outer, kind), kind, part.members, shape)
        payload = (self.design.cluster.transport or Transport()).payload
        return float(np.ceil(template.share * size / payload).sum()) / part.members

    def _longest_way(self) -> int:
        """Links between the first and the last NPU of the outermost dimension."""
        dimension = self.design.cluster.dimensions[-1]
        routes = block_of(dimension).routes(Slice(dimension.size, dimension.size, 1), 0, dimension.size - 1)
        return max(len(route) for route in routes)
