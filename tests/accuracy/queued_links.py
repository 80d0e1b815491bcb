"""Links behind the queues of phases: what `flow` would be without its errors of order, for `docs/accuracy-details.md`.

Every message of every NPU travels over every link, as `reference_links` has it. But what an NPU sends of a phase, or of
a message to the next stage, does not leave before the NPU's queue of that dimension serves it, by the same policy and
for as long as in the phase model. So what this says differs from links alone by the order of service and nothing else,
and from `flow` by what messages do on their way.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from functools import partial

import simpy

from simcore.design.design import Design
from simcore.engine.reference.clock import NETWORK, Moment, now
from simcore.engine.reference.cluster import NpuGroups
from simcore.engine.reference.fabric import FabricView
from simcore.engine.reference.link_level import LinkLevel, LinkLevelPart
from simcore.engine.reference.links import Then
from simcore.engine.reference.phase_level import Order, Queue
from simcore.engine.reference.run import ProgramRun
from simcore.memory.plan import program_of
from simcore.system.chunks import FLAT, PICOSECONDS, Phase
from simcore.system.placement import place


class Gate(Queue):
    """The queue of a dimension, that calls what waits when its service begins, and not at its end."""

    def _pick(self) -> None:
        self.about_to_pick = False
        if not self._can_pick():
            return
        _, phase, begin = heapq.heappop(self.waiting)
        self.serving = True
        Moment(self.env, phase.serialization, NETWORK, partial(self._end_phase, phase, _ignore))
        Moment(self.env, 0, NETWORK, begin)


class QueuedLinks(LinkLevel):
    """See the module."""

    def __post_init__(self) -> None:
        super().__post_init__()
        queues = range(len(self.design.cluster.dimensions))
        self.gates = [[Gate(self.env, 0, _ignore) for _ in queues] for _ in range(self.design.cluster.npus)]

    def _wait(self, npu: int, group: str, phase: Phase, at: tuple[int, int, int], begin: Then) -> None:
        """Call `begin` when the queue of an NPU serves a phase; `at`: issue, chunk, number of the phase."""
        rank = self.policy.key(self.design.system.priority, group, int(phase.size))
        order: Order = (rank + self.policy.issue_weight * at[0], now(self.env), *at)
        self.gates[npu][phase.dimension].arrive(order, phase, begin)

    def _enter(self, part: LinkLevelPart, chunk: int, index: int, done: Then) -> None:
        if index == len(part.paths[chunk]):
            done()
            return
        phase = part.paths[chunk][index]
        assert not phase.kind.startswith(FLAT)
        peers = self.cluster.peers_on(part.npu, part.group, phase.dimension)
        key = (part.group, part.sequence, peers, chunk, index)
        if key not in self.exchanges:
            self.exchanges[key] = self._exchange(part, phase, peers)
        begin = self.exchanges[key].begin
        onward = partial(self._enter, part, chunk, index + 1, done)
        self._wait(
            part.npu, part.group, phase, (part.issue, chunk, index), partial(begin, peers.index(part.npu), onward)
        )

    def send_message(self, npu: int, group: str, target: int, size: float) -> simpy.Event:
        """See `Transport.send_message`: the sender's queues serve all of its way."""
        done, issue = self.env.event(), self._next_issue(npu)
        hops = self.chunker.hops(self.cluster.placement[group], self.cluster.rank(npu, group), target)
        split = self.chunker.split_message(self.cluster.placement[group], hops, size)
        paths, receiver = [split.paths[path] for path in split.chosen], self.cluster.npu_at(npu, group, target)
        left, key = len(paths), self._key(group, size / len(paths), issue)

        def go_on(chunk: int, index: int, source: int) -> None:
            nonlocal left
            if index == len(paths[chunk]):
                left -= 1
                if not left:
                    done.succeed()
                return
            phase = paths[chunk][index]
            dimension = phase.dimension
            onward = self._digit(receiver, dimension) - self._digit(source, dimension)
            after = source + onward * self.cluster.strides[dimension]
            nodes = [self.fabric.node_of(each, dimension) for each in (source, after)]
            send = self.fabric.network_of(source, dimension).send
            arrived = partial(go_on, chunk, index + 1, after)
            self._wait(npu, group, phase, (issue, chunk, index), partial(send, nodes, size / len(paths), key, arrived))

        for chunk in range(len(paths)):
            go_on(chunk, 0, npu)
        return done


def _ignore(*_: object) -> None:
    pass


def time_queued(design: Design) -> float:
    """What an iteration takes on links behind the queues of phases [s]."""
    env = simpy.Environment()
    cluster = NpuGroups(design, place(design)[0])
    run = ProgramRun(env, cluster, QueuedLinks(env, cluster, FabricView.whole(env, design)), program_of(design))
    run.start()
    env.run()
    return run.timing().total / PICOSECONDS


def times_queued(design: Design) -> dict[str, list[float]]:
    """The same on links that serve messages as they come, and on links that take connections in turn [s]."""
    in_turn: Callable[[], Design] = partial(design.with_, "cluster.switching", "interleaved")
    return {"queued": [time_queued(design)], "queued_turns": [time_queued(in_turn())]}
