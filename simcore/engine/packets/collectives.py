"""Collectives as work of the graph: their plans' messages on the outermost dimension, phases on those further in.

A phase of the outermost dimension is the messages of its algorithm's plan, as at link level: a member's messages leave
once its own previous phase is over and the messages that they wait for have arrived. A phase further in, where no
packets are played, occupies each member's queue of its dimension for what the phase model says; once every member has
been served, and the phase's latency has passed, they go on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from simcore.collective import CustomAlgorithm, plan_for
from simcore.engine.packets.graph import Graph, Numbers
from simcore.engine.reference.cluster import NpuGroups
from simcore.network import Shape
from simcore.policy.intra_dimension import INTRA_DIMENSION
from simcore.system.chunks import Chunker, Chunks, Phase, block_of
from simcore.system.placement import GroupSlice


@dataclass(frozen=True)
class Template:
    """A plan as arrays: members that send and receive each message, its bytes per byte of the buffer, and who waits."""

    source: Numbers
    target: Numbers
    share: NDArray[np.float64]
    earlier: Numbers
    later: Numbers


@lru_cache(maxsize=64)
def template_of(algorithm: str | CustomAlgorithm, kind: str, members: int, shape: Shape) -> Template:
    """A plan as arrays; members of a switched block reach each other, so that no message passes others."""
    plan = plan_for(algorithm, kind, members, shape)
    messages = plan.messages
    waits = [(before, number) for number, message in enumerate(messages) for before in message.after]
    ends = np.array(waits, np.int64).reshape(-1, 2)
    return Template(
        np.array([message.source for message in messages], np.int64),
        np.array([message.target for message in messages], np.int64),
        np.array([plan.share(message) for message in messages]),
        ends[:, 0],
        ends[:, 1],
    )


@dataclass
class _Collective:
    """A collective on its way: what each member does first, and what is last."""

    entries: dict[int, int]
    ends: dict[int, int]


@dataclass
class Collectives:
    """Adds collectives and messages to a graph, in the order in which NPUs issue them."""

    cluster: NpuGroups
    graph: Graph
    issued: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    sequences: dict[tuple[int, str], int] = field(default_factory=lambda: defaultdict(int))
    sent: NDArray[np.float64] = field(init=False)
    """Bytes that each NPU sends over each dimension, `[dimensions, NPUs]`."""

    def __post_init__(self) -> None:
        self.design = self.cluster.design
        self.chunker, self.policy = Chunker(self.design), INTRA_DIMENSION[self.design.system.intra_dimension]
        self.outer = len(self.design.cluster.dimensions) - 1
        self.sent = np.zeros((self.outer + 1, self.design.cluster.npus))
        self._known: dict[tuple[object, ...], _Collective] = {}
        self._splits: dict[tuple[object, ...], Chunks] = {}

    def issue(self, npu: int, kind: str, group: str, size: float, after: int) -> int:
        """`npu` issues a collective of `size` [B] over its group once `after` is over; when its part of it is over."""
        members = self._members(npu, group)
        sequence, issue = self.sequences[npu, group], self._next_issue(npu)
        self.sequences[npu, group] += 1
        key = group, members[0], sequence
        if key not in self._known:
            self._known[key] = self._add_collective(kind, group, size, members, issue)
        self.graph.wait(self._known[key].entries[npu], after)
        return self._known[key].ends[npu]

    def send(self, npu: int, group: str, target: int, size: float, after: int) -> int:
        """`npu` sends `size` [B] to the member `target` of its group once `after` is over; when it has arrived."""
        issue, slices = self._next_issue(npu), self.cluster.placement[group]
        hops = self.chunker.hops(slices, self.cluster.rank(npu, group), target)
        key = "send", group, hops, size
        if key not in self._splits:
            self._splits[key] = self.chunker.split_message(slices, hops, size)
        split, receiver = self._splits[key], self.cluster.npu_at(npu, group, target)
        ends = [self._send_chunk(npu, receiver, group, split.paths[path], issue, after) for path in split.chosen]
        return self.graph.gate(*ends)

    def _send_chunk(self, npu: int, receiver: int, group: str, path: Sequence[Phase], issue: int, after: int) -> int:
        """A chunk of a message goes dimension by dimension, and over the outermost one last."""
        stride = self.cluster.strides[self.outer]
        for phase in path:
            order = self._order(group, phase, issue)
            self.sent[phase.dimension, npu] += phase.sent
            if phase.dimension < self.outer:
                queue = self.graph.queue(npu, phase.dimension)
                after = self.graph.gate(
                    self.graph.task(queue, phase.serialization, after, order=order), lag=phase.latency
                )
            else:
                here = npu // stride * stride + receiver % stride
                after = self.graph.message(here, receiver, phase.size, after, order=order)
        return after

    def _next_issue(self, npu: int) -> int:
        self.issued[npu] += 1
        return self.issued[npu] - 1

    def _order(self, group: str, phase: Phase, issue: int) -> int:
        """Order among what waits for a queue."""
        key = self.policy.key(self.design.system.priority, group, int(phase.size))
        return int(key + self.policy.issue_weight * issue)

    def _members(self, npu: int, group: str) -> tuple[int, ...]:
        """All members of the group of `npu`."""
        first = self.cluster.npu_at(npu, group, 0)
        slices = self.cluster.placement[group]
        steps = [self.cluster.strides[where.dimension] * where.part.stride for where in slices]
        places = product(*(range(where.part.members) for where in slices))
        return tuple(first + sum(p * step for p, step in zip(place, steps, strict=True)) for place in places)

    def _add_collective(self, kind: str, group: str, size: float, members: tuple[int, ...], issue: int) -> _Collective:
        key = kind, group, size
        if key not in self._splits:
            self._splits[key] = self.chunker.split_collective(kind, self.cluster.placement[group], size)
        split = self._splits[key]
        entries = {npu: self.graph.gate() for npu in members}
        ends: dict[int, list[int]] = {npu: [] for npu in members}
        for path in split.chosen:
            current = entries
            for phase in split.paths[path]:
                current = self._add_phase(phase, group, current, self._order(group, phase, issue))
            for npu in members:
                ends[npu].append(current[npu])
        return _Collective(entries, {npu: self.graph.gate(*each) for npu, each in ends.items()})

    def _add_phase(self, phase: Phase, group: str, after: dict[int, int], order: int) -> dict[int, int]:
        """One phase of a chunk, row of members by row; what it ends with on each member."""
        where, out = self.cluster.slice_of(group, phase.dimension), dict(after)
        for npu in after:
            if self.cluster.slice_rank(npu, where):
                continue
            peers = self.cluster.peers(npu, where)
            if phase.dimension < self.outer:
                out.update(dict.fromkeys(peers, self._serve(phase, peers, after, order)))
            else:
                out.update(self._exchange(phase, where, peers, after, order))
        return out

    def _serve(self, phase: Phase, peers: Sequence[int], after: dict[int, int], order: int) -> int:
        """A phase further in."""
        served = []
        for npu in peers:
            queue = self.graph.queue(npu, phase.dimension)
            self.sent[phase.dimension, npu] += phase.sent
            served.append(self.graph.task(queue, phase.serialization, after[npu], order=order))
        return self.graph.gate(*served, lag=phase.latency)

    def _exchange(
        self, phase: Phase, where: GroupSlice, peers: Sequence[int], after: dict[int, int], order: int
    ) -> dict[int, int]:
        """A phase of the outermost dimension."""
        template, npus = self._template(phase.kind, where), np.array(peers)
        size = phase.size * (len(peers) if phase.kind == "all_gather" else 1)
        sizes = template.share * size
        np.add.at(self.sent[self.outer], npus[template.source], sizes)
        bulk = self.graph.messages(npus[template.source], npus[template.target], sizes, order)
        before = np.array([after[npu] for npu in peers])
        done = {npu: self.graph.gate(after[npu], lag=phase.further_steps) for npu in peers}
        gates = np.array([done[npu] for npu in peers])
        for begins in bulk.begins:
            self.graph.wait_each(begins, before[template.source])
            self.graph.wait_each(begins[template.later], bulk.ends[template.earlier])
        self.graph.wait_each(gates[template.source], bulk.ends)
        self.graph.wait_each(gates[template.target], bulk.ends)
        return done

    def _template(self, kind: str, where: GroupSlice) -> Template:
        shape = block_of(self.design.cluster.dimensions[where.dimension]).shape(where.part)
        return template_of(self.chunker.algorithm(where.dimension, kind), kind, where.part.members, shape)
