"""The link-level network: the messages of every chunk travel over the links of every dimension, and meet there.

All groups of a dimension share its links. A member begins a chunk's phase as soon as its own previous phase is over;
the messages of its plan leave when the data they carry is there. The intra-dimension policy decides which of the
messages that wait for a link goes first; `active_chunks` has no meaning here. An NPU's computation is slowed while a
link out of it carries a message, its own or one that it passes on. With one chunk on an idle network this
takes as long as the phase level says; with many chunks in flight it differs, and that difference is the point.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import simpy

from simcore.collective import Plan, plan_for
from simcore.engine.reference.clock import NETWORK, Moment
from simcore.engine.reference.cluster import NpuGroups
from simcore.engine.reference.exchange import PlanExchange
from simcore.engine.reference.fabric import FabricView
from simcore.engine.reference.links import Then
from simcore.engine.reference.processor import Processor
from simcore.engine.reference.switch_exchange import SwitchExchange
from simcore.engine.reference.transport import Transport, Use
from simcore.network import Shape, Slice
from simcore.policy.intra_dimension import INTRA_DIMENSION
from simcore.system.chunks import FLAT, LINKS_ALONE, PICOSECONDS, Chunker, Chunks, Pace, Phase, block_of
from simcore.system.interference import slowdowns


def _buffer(phase: Phase, members: int) -> float:
    """The buffer of a phase [B]: of an all-gather, what it results in."""
    return phase.size * (members if phase.kind == "all_gather" else 1)


@dataclass(frozen=True)
class LinkLevelPart:
    """One member's part of a collective."""

    npu: int
    group: str
    sequence: int
    """How many collectives this NPU had issued over the group before."""
    issue: int
    paths: list[list[Phase]]


@dataclass
class LinkLevel(Transport):
    """See the module."""

    env: simpy.Environment
    cluster: NpuGroups
    fabric: FabricView
    """The links that its messages travel over, maybe beside those of other jobs."""
    issued: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    sequences: dict[tuple[int, str], int] = field(default_factory=lambda: defaultdict(int))
    exchanges: dict[tuple[object, ...], PlanExchange | SwitchExchange] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.design = self.cluster.design
        self.chunker, self.policy = Chunker(self.design), INTRA_DIMENSION[self.design.system.intra_dimension]
        self.slowdowns = slowdowns(self.design)
        self.processors = [Processor(self.env, self.slowdowns) for _ in range(self.design.cluster.npus)]
        if any(self.slowdowns):
            for npu, processor in enumerate(self.processors):
                self.fabric.tell(npu, processor)
        self._splits: dict[tuple[object, ...], Chunks] = {}
        self._plans: dict[tuple[object, ...], Plan] = {}

    def issue_collective(self, npu: int, kind: str, group: str, size: float) -> simpy.Event:
        """See `Transport.issue_collective`."""
        key = (kind, group, size)
        if key not in self._splits:
            self._splits[key] = self.chunker.split_collective(kind, self.cluster.placement[group], size)
        split = self._splits[key]
        part = LinkLevelPart(
            npu, group, self.sequences[npu, group], self._next_issue(npu), [split.paths[i] for i in split.chosen]
        )
        self.sequences[npu, group] += 1
        done, left = self.env.event(), len(part.paths)

        def chunk_done() -> None:
            nonlocal left
            left -= 1
            if not left:
                done.succeed()

        for chunk in range(len(part.paths)):
            self._enter(part, chunk, 0, chunk_done)
        return done

    def send_message(self, npu: int, group: str, target: int, size: float) -> simpy.Event:
        """See `Transport.send_message`."""
        done, chunks = self.env.event(), self.design.system.chunks
        issue, left = self._next_issue(npu), chunks

        def arrived() -> None:
            nonlocal left
            left -= 1
            if not left:
                done.succeed()

        receiver, key = self.cluster.npu_at(npu, group, target), self._key(group, size / chunks, issue)
        paces = self._message_paces(npu, group, target, size / chunks)
        for _ in range(chunks):
            self._carry((npu, receiver), size / chunks, key, arrived, paces)
        return done

    def _message_paces(self, npu: int, group: str, target: int, size: float) -> dict[int, Pace]:
        """What libraries add to a message in each dimension that it crosses."""
        slices = self.cluster.placement[group]
        hops = self.chunker.hops(slices, self.cluster.rank(npu, group), target)
        crossed = [(where, hop) for where, hop in zip(slices, hops, strict=True) if hop]
        return {where.dimension: self.chunker.message_pace(where, hop, size) for where, hop in crossed}

    def use_of(self, npu: int) -> Use:
        """See `Transport.use_of`: bytes over the links that leave the NPU, those it passes on included."""
        sent = [0.0] * len(self.design.cluster.dimensions)
        load = list(sent)
        for dimension, network in self.fabric.networks_of(npu).items():
            node = self.fabric.node_of(npu, dimension)
            leaving = [channel for channel in network.channels if channel.link.source == node]
            sent[dimension] = sum(channel.bytes for channel in leaving)
            load[dimension] = sum(channel.load for channel in leaving)
        rates = [self.chunker.rate(dimension) for dimension in self.design.cluster.dimensions]
        busy = [round(size / rate * PICOSECONDS) for size, rate in zip(load, rates, strict=True)]
        return Use(busy, sent)

    def _next_issue(self, npu: int) -> int:
        self.issued[npu] += 1
        return self.issued[npu] - 1

    def _digit(self, npu: int, dimension: int) -> int:
        """The place of an NPU on a dimension of its job."""
        return npu // self.cluster.strides[dimension] % self.design.cluster.dimensions[dimension].size

    def _key(self, group: str, size: float, issue: int) -> int:
        """Order among messages that wait for a link."""
        return self.policy.key(self.design.system.priority, group, int(size)) + self.policy.issue_weight * issue

    def _enter(self, part: LinkLevelPart, chunk: int, index: int, done: Then) -> None:
        """A member begins a phase of a chunk."""
        if index == len(part.paths[chunk]):
            done()
            return
        phase = part.paths[chunk][index]
        flat = phase.kind.startswith(FLAT)
        if flat:
            peers = self.cluster.members(self.cluster.npu_at(part.npu, part.group, 0), part.group)
        else:
            peers = self.cluster.peers_on(part.npu, part.group, phase.dimension)
        key = (part.group, part.sequence, peers, chunk, index)
        if key not in self.exchanges:
            self.exchanges[key] = (
                self._join_flat_ring(part, phase, peers) if flat else self._exchange(part, phase, peers)
            )
        exchange, member = self.exchanges[key], peers.index(part.npu)

        def begin() -> None:
            exchange.begin(member, lambda: self._enter(part, chunk, index + 1, done))

        self._after(0 if flat else self._pace(part, phase, len(peers)).launch + phase.further_steps, begin)

    def _after(self, delay: int, action: Then) -> None:
        """Call `action` in `delay` [ps]."""
        if delay:
            Moment(self.env, delay, NETWORK, action)
        else:
            action()

    def _pace(self, part: LinkLevelPart, phase: Phase, members: int) -> Pace:
        """What the library adds to a phase of one dimension."""
        where = self.cluster.slice_of(part.group, phase.dimension)
        return self.chunker.pace(phase.kind, where, _buffer(phase, members))

    def _join_flat_ring(self, part: LinkLevelPart, phase: Phase, peers: tuple[int, ...]) -> PlanExchange:
        """One ring over all members of a group: its messages take the links of whatever dimension they cross."""
        kind = phase.kind.removeprefix(FLAT)
        size = phase.size * (len(peers) if kind == "all_gather" else 1)
        plan = plan_for("ring", kind, len(peers), Shape("ring"))
        return PlanExchange(plan, self, peers, size, self._key(part.group, phase.size, part.issue))

    def send(self, nodes: Sequence[int], size: float, key: int, arrived: Then, slowed: float = 1.0) -> None:
        """Carry a message from NPU to NPU; see `LinkCarrier`. What a library adds to a flat ring is not played."""
        del slowed
        self._carry(nodes, size, key, arrived, {})

    def _carry(self, nodes: Sequence[int], size: float, key: int, arrived: Then, paces: Mapping[int, Pace]) -> None:
        """Carry a message dimension by dimension, innermost first, at the pace of each."""
        source, target = nodes
        if source == target:
            arrived()
            return
        dimensions = range(len(self.design.cluster.dimensions))
        first = next(d for d in dimensions if self._digit(source, d) != self._digit(target, d))
        onward_by = self._digit(target, first) - self._digit(source, first)
        after = source + onward_by * self.cluster.strides[first]
        here, there = self.fabric.node_of(source, first), self.fabric.node_of(after, first)

        def onward() -> None:
            self._carry((after, target), size, key, arrived, paces)

        pace, network = paces.get(first, LINKS_ALONE), self.fabric.network_of(source, first)
        self._after(pace.launch, lambda: network.send((here, there), size, key, onward, pace.slowed))

    def _exchange(self, part: LinkLevelPart, phase: Phase, peers: tuple[int, ...]) -> PlanExchange | SwitchExchange:
        where = self.cluster.slice_of(part.group, phase.dimension)
        dimension = self.design.cluster.dimensions[phase.dimension]
        network = self.fabric.network_of(part.npu, phase.dimension)
        nodes = [self.fabric.node_of(peer, phase.dimension) for peer in peers]
        size, slowed = _buffer(phase, len(peers)), self._pace(part, phase, len(peers)).slowed
        key = self._key(part.group, phase.size, part.issue)
        if phase.in_switch and (tree := block_of(dimension).tree(where.part)):
            return SwitchExchange(phase.kind, network, nodes, len(tree.levels), size, key, slowed)
        return PlanExchange(self._plan(phase.kind, phase.dimension, where.part), network, nodes, size, key, slowed)

    def _plan(self, kind: str, dimension: int, part: Slice) -> Plan:
        key = kind, dimension, part
        if key not in self._plans:
            shape = block_of(self.design.cluster.dimensions[dimension]).shape(part)
            self._plans[key] = plan_for(self.chunker.algorithm(dimension, kind), kind, part.members, shape)
        return self._plans[key]
