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


Steps = dict[int, dict[tuple[int, int], float]]
"""Of each step the bytes between two NPUs."""


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
        by_npu: dict[tuple[int, Place], Steps] = defaultdict(lambda: defaultdict(dict))
        for npu, way, size, step in self._messages(served):
            for place, share in self._crossed(served.dimension, *way):
                sent[place] += size * share
                its = by_npu[npu, place][step]
                its[way] = its.get(way, 0.0) + size * share
        met = [its for (_, place), its in by_npu.items() if not self._is_queued(place)]
        rate = max(map(_by_each, met or by_npu.values())) / self._seconds(served) / self.ranks.get(served.group, 1.0)
        loads = [(self._number(place), size / self._seconds(served) / rate) for place, size in sent.items()]
        return Stream(rate, tuple(loads), self._fastest(served))

    def _fastest(self, served: Served) -> float:
        """What all stages put on the busiest link at once, over what its own stage puts on its busiest one."""
        inside = [w for w in self.classes.placement.get("pipeline", ()) if w.dimension == served.dimension]
        if served.target >= 0 or not inside or not served.group.startswith(("tensor", "data", "context")):
            return 1.0
        if inside[0].part.stride >= self.groups.slice_of(served.group, served.dimension).part.stride:
            return 1.0
        every: dict[Place, float] = defaultdict(float)
        own: dict[Place, float] = defaultdict(float)
        near = self._near(served)
        for its in range(len(self.classes.stages)):
            for _, way, size, _ in self._messages(served._replace(npus=its)):
                for place, share in self._crossed(served.dimension, *way):
                    load = size * share / self.ways[served.dimension].links[place[2]].rate
                    every[place] += load
                    own[place] += load if its in near else 0.0
        times = max(every.values()) / max(own.values())
        return min(float(inside[0].part.members), max(1.0, times))

    def _near(self, served: Served) -> set[int]:
        """The classes that are in a group with the class of the sender."""
        where, found = self.groups.slice_of(served.group, served.dimension), set()
        for npu in range(self.design.cluster.npus):
            of_peers = {int(self.classes.numbers[peer]) for peer in self.groups.peers(npu, where)}
            found |= of_peers if served.npus in of_peers else set()
        return found

    def _messages(self, served: Served) -> list[tuple[int, tuple[int, int], float, int]]:
        """(Sender, NPUs between which a message goes on the dimension, its size, step) of all NPUs of the class."""
        if served.target >= 0:
            return [
                (npu, self._hop(npu, served), BYTES, 0)
                for npu in range(self.design.cluster.npus)
                if self.classes.numbers[npu] == served.npus
            ]
        where = self.groups.slice_of(served.group, served.dimension)
        dimension = self.design.cluster.dimensions[served.dimension]
        shape = block_of(dimension).shape(where.part)
        plan = plan_for(self.chunker.algorithm(served.dimension, served.kind), served.kind, where.part.members, shape)
        steps: list[int] = []
        for message in plan.messages:
            steps.append(1 + max((steps[earlier] for earlier in message.after), default=-1))
        found = []
        for npu in range(self.design.cluster.npus):
            if isinstance(self.groups, GivenGroups) and self.groups.group_of(npu) != served.group:
                continue
            peers = self.groups.peers(npu, where)
            if peers[0] != npu:
                continue
            for message, step in zip(plan.messages, steps, strict=True):
                nodes = [peers[member] for member in (message.source, *message.way, message.target)]
                if self.classes.numbers[nodes[0]] == served.npus:
                    size = plan.share(message) * BYTES
                    found += [(nodes[0], way, size, step) for way in itertools.pairwise(nodes)]
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
            worn = bool(self.design.cluster.worn(dimension))
            capacity = float("inf") if self._is_queued(place) and not worn else link.rate * self.chunker.rate(its)
            self.links.append(Link(capacity, f"{place}"))
        return self.number[place]

    def _is_queued(self, place: Place) -> bool:
        """Whether a link is one that an NPU's own queue counts."""
        dimension, _, number = place
        link, its = self.ways[dimension].links[number], self.design.cluster.dimensions[dimension]
        block = block_of(its)
        return not block.shares or (block.switched and min(link.source, link.target) < its.size)


def _by_each(steps: Steps) -> float:
    """Bytes of a sender on a link by each of its receivers that are sent to at a time, by bytes over all steps."""
    sizes = {step: sum(its.values()) for step, its in steps.items()}
    whole = sum(sizes.values())
    return whole * whole / sum(sizes[step] * len(its) for step, its in steps.items())
