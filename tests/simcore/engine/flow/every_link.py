"""What links say of streams, by plain enumeration: every message of every NPU on every link of its dimension."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from simcore.collective import plan_for
from simcore.design.design import Design
from simcore.engine.flow.classes import Classes
from simcore.engine.flow.links import rank_groups
from simcore.engine.flow.shared import Link, Served, Stream
from simcore.engine.reference.cluster import GivenGroups, NpuGroups
from simcore.memory.plan import program_of
from simcore.network import Slice
from simcore.network.ways import Ways
from simcore.system.chunks import PICOSECONDS, Chunker, block_of

BYTES = 1e12
"""The buffer of every phase: so large that rounding to picoseconds does not show."""
Place = tuple[int, int, int]
"""A link: dimension, first NPU of its row, number."""


@dataclass(frozen=True)
class EveryLink:
    """As `SharedLinks`: every link of every row, whether or not it matters."""

    links: Sequence[Link]
    streams: dict[Served, Stream]

    def stream(self, served: Served) -> Stream:
        return self.streams[served]


class Enumeration:
    """Everything that the NPUs of a design send in a phase."""

    def __init__(self, design: Design, classes: Classes) -> None:
        self.design, self.classes, self.chunker = design, classes, Chunker(design)
        single = "group 0" in classes.placement
        self.groups = (GivenGroups if single else NpuGroups)(design, classes.placement)
        self.ways = {
            number: Ways(block_of(its), Slice(its.size, its.size, 1), design.cluster.worn(number))
            for number, its in enumerate(design.cluster.dimensions)
        }
        self.ranks = rank_groups(design, program_of(design))
        self.number: dict[Place, int] = {}
        self.links: list[Link] = []

    def shared(self, phases: Sequence[Served]) -> EveryLink:
        """The links with the streams of these phases."""
        streams = {served: self._stream(served) for served in phases}
        return EveryLink(self.links, streams)

    def _stream(self, served: Served) -> Stream:
        sent: dict[Place, float] = defaultdict(float)
        by_npu: dict[tuple[int, Place], float] = defaultdict(float)
        for npu, way, size in self._messages(served):
            for place, share in self._crossed(served.dimension, *way):
                sent[place] += size * share
                by_npu[npu, place] += size * share
        rate = max(by_npu.values()) / self._seconds(served) / self.ranks.get(served.group, 1.0)
        loads = [(self._number(place), size / self._seconds(served) / rate) for place, size in sent.items()]
        return Stream(rate, tuple(loads))

    def _messages(self, served: Served) -> list[tuple[int, tuple[int, int], float]]:
        """(Sender, NPUs between which a message goes on the dimension, its size) of all NPUs of the class."""
        if served.target >= 0:
            return [
                (npu, self._hop(npu, served), BYTES)
                for npu in range(self.design.cluster.npus)
                if self.classes.numbers[npu] == served.npus
            ]
        where = self.groups.slice_of(served.group, served.dimension)
        dimension = self.design.cluster.dimensions[served.dimension]
        shape = block_of(dimension).shape(where.part)
        plan = plan_for(self.chunker.algorithm(served.dimension), served.kind, where.part.members, shape)
        found = []
        for npu in range(self.design.cluster.npus):
            if isinstance(self.groups, GivenGroups) and self.groups.group_of(npu) != served.group:
                continue
            peers = self.groups.peers(npu, where)
            if peers[0] != npu:
                continue
            for message in plan.messages:
                nodes = [peers[member] for member in (message.source, *message.way, message.target)]
                if self.classes.numbers[nodes[0]] == served.npus:
                    found += [(nodes[0], (a, b), plan.share(message) * BYTES) for a, b in itertools.pairwise(nodes)]
        return found

    def _hop(self, npu: int, served: Served) -> tuple[int, int]:
        """Where a message to another stage enters a dimension, inner ones first, and leaves it."""
        target = self.groups.npu_at(npu, "pipeline", served.target)
        inside = self.groups.strides[served.dimension]
        enters = npu - npu % inside + target % inside
        beyond = self.groups.strides[served.dimension + 1]
        return enters, enters - enters % beyond + target % beyond

    def _crossed(self, dimension: int, source: int, target: int) -> list[tuple[Place, float]]:
        stride, size = self.groups.strides[dimension], self.design.cluster.dimensions[dimension].size
        here, there = (npu // stride % size for npu in (source, target))
        routes = self.ways[dimension].routes(here, there)
        first = source - here * stride
        return [((dimension, first, link), 1 / len(routes)) for route in routes for link in route]

    def _seconds(self, served: Served) -> float:
        slices = self.classes.placement[served.group]
        if served.target >= 0:
            hops = self.chunker.hops(slices, self.classes.stages[served.npus], served.target)
            chunks = self.design.system.chunks
            path = self.chunker.split_message(slices, hops, BYTES * chunks).paths[0]
            return next(phase for phase in path if phase.dimension == served.dimension).serialization / PICOSECONDS
        where = self.groups.slice_of(served.group, served.dimension)
        return self.chunker.phase(served.kind, where, BYTES, BYTES).serialization / PICOSECONDS

    def _number(self, place: Place) -> int:
        if place not in self.number:
            self.number[place] = len(self.links)
            dimension, _, number = place
            link, its = self.ways[dimension].links[number], self.design.cluster.dimensions[dimension]
            block = block_of(its)
            queued = not block.shares or (block.switched and min(link.source, link.target) < its.size)
            worn = bool(self.design.cluster.worn(dimension))
            capacity = float("inf") if queued and not worn else link.rate * self.chunker.rate(its)
            self.links.append(Link(capacity, f"{place}"))
        return self.number[place]
