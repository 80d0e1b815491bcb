"""From a collective to the phases of its chunks: what occupies which dimension for how long.

A collective is split into equal chunks; a chunk passes one phase per dimension of its group (an all-reduce up to two):
reduce_scatter on its dimensions in order, its bytes shrinking, then all_gather backwards; all_gather (input s)
outermost first, m = s (n - 1), s <- s n; all_to_all a full exchange on each dimension. A phase occupies its dimension
for the sum of bytes / bandwidth of its steps; its chunk is ready for the next after the steps' latencies.
"""

from __future__ import annotations

import math
from collections import Counter
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


class Chunks(NamedTuple):
    """How a collective goes: its different paths, and which of them each chunk takes."""

    paths: list[list[Phase]]
    chosen: list[int]

    def counted(self) -> list[tuple[list[Phase], int]]:
        """Each path with the number of chunks that take it."""
        counts = Counter(self.chosen)
        return [(path, counts[index]) for index, path in enumerate(self.paths)]


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


def apart(here: Sequence[int], there: Sequence[int]) -> tuple[int, ...]:
    """Distance of two places in each dimension."""
    return tuple(abs(a - b) for a, b in zip(here, there, strict=True))


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

    def split(self, kind: str, group: Sequence[GroupSlice], size: float) -> Chunks:
        """Phases of the chunks of a collective of `size` [B]."""
        chunks = self.design.system.chunks
        chunk = size / chunks
        if kind not in ("reduce_scatter", "all_reduce", "all_gather"):
            return Chunks([[self.phase(kind, where, chunk, chunk) for where in group]], [0] * chunks)
        policy = INTER_DIMENSION[self.design.system.inter_dimension]
        sizes = [where.part.members for where in group]
        rates = [self._group_rate(where) for where in group]
        whole = chunk * math.prod(sizes) if kind == "all_gather" else chunk
        plan = policy.orders(sizes, rates, chunks)
        paths = [self._ordered(kind, [group[i] for i in order], whole, policy.merges_turn) for order in plan.orders]
        return Chunks(paths, plan.chosen)

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

    def place_of(self, group: Sequence[GroupSlice], member: int) -> tuple[int, ...]:
        """Where a member of a group is in each of its dimensions, counted in members."""
        place = []
        for where in group:
            member, here = divmod(member, where.part.members)
            place.append(here)
        return tuple(place)

    def hops(self, group: Sequence[GroupSlice], origin: int, target: int) -> tuple[int, ...]:
        """How far apart two members of a group are in each of its dimensions, in members."""
        return apart(self.place_of(group, origin), self.place_of(group, target))

    def send(self, group: Sequence[GroupSlice], hops: tuple[int, ...], size: float) -> Chunks:
        """Phases of the chunks of a message between members that are `hops` apart.

        Where they differ in several dimensions the message passes them innermost first, on the sender's queues.
        """
        chunks = self.design.system.chunks
        path = [self._hop(where, hop, size / chunks) for where, hop in zip(group, hops, strict=True) if hop]
        return Chunks([path], [0] * chunks)

    def _hop(self, where: GroupSlice, distance: int, size: float) -> Phase:
        dimension = self.design.cluster.dimensions[where.dimension]
        cost = BLOCKS[dimension.topology].step(Send(distance), where.part)
        serialization = picoseconds(cost.load * size / self.rate(dimension))
        return Phase(where.dimension, serialization, round(cost.hops * dimension.latency * PICOSECONDS), size, size)
