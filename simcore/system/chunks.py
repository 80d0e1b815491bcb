"""From a collective to the phases of its chunks: what occupies which dimension for how long.

A collective is split into equal chunks; a chunk passes one phase per dimension of its group (an all-reduce up to two):
reduce_scatter on its dimensions in order, its bytes shrinking, then all_gather backwards; all_gather (input s)
outermost first, m = s (n - 1), s <- s n; all_to_all a full exchange on each dimension. A phase occupies its dimension
for the sum of bytes / bandwidth of its steps; its chunk is ready for the next after the steps' latencies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from simcore.collective import steps
from simcore.design import Design, Dimension
from simcore.network import BLOCKS, Send, Slice, StepCost
from simcore.system.inter_dimension import INTER_DIMENSION
from simcore.system.placement import GroupSlice

PICOSECONDS = 1e12


class Phase(NamedTuple):
    """One phase of one chunk."""

    dimension: int
    serialization: int
    """Time it occupies its dimension [ps], at least 1."""
    latency: int
    """Time from then until its chunk is ready [ps]."""
    size: float
    """Bytes of the chunk that enters [B]."""
    sent: float
    """Bytes each NPU sends [B]."""


class PhaseCost(NamedTuple):
    """Cost of a phase per byte of the buffer / bandwidth, in hops, and bytes sent per byte of the buffer."""

    load: float
    hops: int
    sent: float


@lru_cache(maxsize=4096)
def phase_cost(algorithm: str, topology: str, kind: str, part: Slice, in_network: bool) -> PhaseCost:
    """Cost of `kind` by `algorithm` for a group on `part` of a dimension."""
    if in_network and kind == "all_reduce":
        return PhaseCost(1.0, 2, 1.0)
    load, hops = 0.0, 0
    for step in steps(algorithm, topology, kind, part.members):
        cost: StepCost = BLOCKS[topology].step(step.pattern, part)
        load += cost.load * step.share
        hops += cost.hops
    sent = (2 if kind == "all_reduce" else 1) * (part.members - 1) / part.members
    return PhaseCost(load, hops, sent)


def picoseconds(seconds: float) -> int:
    """The one place where a duration is rounded, to at least 1 ps."""
    return max(1, round(seconds * PICOSECONDS))


@dataclass(frozen=True)
class Chunker:
    """Splits collectives of one design into chunks and phases."""

    design: Design

    def rate(self, dimension: Dimension) -> float:
        """Bandwidth that messages get on a dimension [B/s]."""
        return dimension.bandwidth * dimension.efficiency / dimension.oversubscription

    def phase(self, kind: str, where: GroupSlice, size: float, entering: float) -> Phase:
        """A phase with a buffer of `size` [B] whose chunk enters with `entering` [B]."""
        dimension = self.design.cluster.dimensions[where.dimension]
        algorithm = self.design.algorithms[where.dimension]
        cost = phase_cost(algorithm, dimension.topology, kind, where.part, dimension.in_network)
        return Phase(
            where.dimension,
            picoseconds(cost.load * size / self.rate(dimension)),
            round(cost.hops * dimension.latency * PICOSECONDS),
            entering,
            cost.sent * size,
        )

    def paths(self, kind: str, group: Sequence[GroupSlice], size: float) -> list[list[Phase]]:
        """Phases of each chunk of a collective of `size` [B]; chunks of equal order share one list."""
        chunks = self.design.system.chunks
        chunk = size / chunks
        policy = INTER_DIMENSION[self.design.system.inter_dimension]
        if kind not in ("reduce_scatter", "all_reduce", "all_gather"):
            return [[self.phase(kind, where, chunk, chunk) for where in group]] * chunks
        sizes = [where.part.members for where in group]
        rates = [self._group_rate(where) for where in group]
        whole = chunk
        if kind == "all_gather":
            for n in sizes:
                whole *= n
        orders = policy.orders(sizes, rates, chunks)
        built = {
            order: self._ordered(kind, [group[i] for i in order], whole, policy.merges_turn)
            for order in dict.fromkeys(orders)
        }
        return [built[order] for order in orders]

    def _group_rate(self, where: GroupSlice) -> float:
        """Bandwidth of a group on its slice: bytes of a reduce-scatter / its serialization."""
        dimension = self.design.cluster.dimensions[where.dimension]
        algorithm = self.design.algorithms[where.dimension]
        cost = phase_cost(algorithm, dimension.topology, "reduce_scatter", where.part, False)
        return self.rate(dimension) * cost.sent / cost.load

    def _ordered(self, kind: str, order: Sequence[GroupSlice], size: float, merge: bool) -> list[Phase]:
        """Phases of a chunk of `size` [B] (what it is when whole) that scatters along `order` and gathers back."""
        scatter: list[Phase] = []
        gather: list[Phase] = []
        for position, where in enumerate(order):
            members = where.part.members
            if merge and kind == "all_reduce" and position == len(order) - 1:
                return [*scatter, self.phase("all_reduce", where, size, size), *reversed(gather)]
            scatter.append(self.phase("reduce_scatter", where, size, size))
            gather.append(self.phase("all_gather", where, size, size / members))
            size /= members
        gather.reverse()
        return {"reduce_scatter": scatter, "all_gather": gather, "all_reduce": scatter + gather}[kind]

    def send(self, group: Sequence[GroupSlice], origin: int, target: int, size: float) -> list[list[Phase]]:
        """Phases of each chunk of a message from the group's member `origin` to `target`, dimension by dimension.

        Where the two differ in several dimensions the message passes them innermost first, on the sender's queues.
        """
        chunks = self.design.system.chunks
        path: list[Phase] = []
        for where in group:
            members = where.part.members
            distance = abs(target % members - origin % members)
            if distance:
                path.append(self._hop(where, distance, size / chunks))
            origin, target = origin // members, target // members
        return [path] * chunks

    def _hop(self, where: GroupSlice, distance: int, size: float) -> Phase:
        dimension = self.design.cluster.dimensions[where.dimension]
        cost = BLOCKS[dimension.topology].step(Send(distance), where.part)
        serialization = picoseconds(cost.load * size / self.rate(dimension))
        return Phase(where.dimension, serialization, round(cost.hops * dimension.latency * PICOSECONDS), size, size)
