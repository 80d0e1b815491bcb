"""Every NPU of a trace: a process of its own that plays its graph, on the phase-level network, nothing left out.

The executable specification of `simcore.engine.graph`: a node is ready when all that it waits for is over; the NPU, its
host and its memory link do one node at a time, the lowest one that is ready first; collectives and messages go to the
network at once. What becomes ready at one picosecond begins when everything else of it has ended.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

import simpy

from simcore.compute import times_of
from simcore.design.design import Design
from simcore.document.problem import InputError, Problem
from simcore.engine.fast.iteration import Timing
from simcore.engine.graph.run import memory_time
from simcore.engine.reference.clock import PROGRAM, Moment, now
from simcore.engine.reference.cluster import NpuGroups, slowdowns
from simcore.engine.reference.phase_level import PhaseLevel
from simcore.graph import Action, Graph
from simcore.program import Category
from simcore.system.chunks import picoseconds
from simcore.system.placement import place

_RESOURCES = {Action.COMPUTE: "npu", Action.HOST: "host", Action.MEMORY: "memory"}
_NETWORK = (Action.COLLECTIVE, Action.SEND, Action.RECEIVE)


@dataclass
class GraphNpu:
    """One NPU."""

    design: Design
    graph: Graph
    transport: PhaseLevel
    number: int
    slowdown: float
    others: dict[int, GraphNpu]
    ready: list[int] = field(default_factory=list)
    busy: set[str] = field(default_factory=set)
    communicating: int = 0
    arrived: set[int] = field(default_factory=set)
    waiting: set[int] = field(default_factory=set)
    """Receives that have begun."""
    waited: int = 0
    other: int = 0
    settled: int = 0
    """Until when `waited` and `other` are counted [ps]."""
    finish: int = -1
    about_to_begin: bool = False
    ends: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.env: simpy.Environment = self.transport.env
        self.rank = self.graph.ranks[self.number]
        self.table = self.rank.table
        self.missing = self.table.parents.tolist()
        self.ready = [node for node, count in enumerate(self.missing) if not count]
        self.ordinals = self._ordinals()
        self.computing = times_of(self.design)
        self._begin_soon()

    def _ordinals(self) -> dict[int, int]:
        """Which of its group's collectives each one is: members meet in the order of nodes, whenever they begin."""
        counts: dict[str, int] = {}
        found = {}
        for node, action in enumerate(self.table.actions.tolist()):
            if action == Action.COLLECTIVE:
                group = self.rank.groups[self.table.collectives[self.table.operands[node]].group]
                found[node] = counts.get(group, 0)
                counts[group] = found[node] + 1
        return found

    def _begin_soon(self) -> None:
        if not self.about_to_begin:
            self.about_to_begin = True
            Moment(self.env, 0, PROGRAM, self._begin_all)

    def _begin_all(self) -> None:
        self.about_to_begin = False
        heapq.heapify(self.ready)
        while True:
            able = [node for node in self.ready if self._resource(node) not in self.busy]
            if not able:
                break
            node = min(able)
            self.ready.remove(node)
            self._begin(node)

    def _resource(self, node: int) -> str:
        return _RESOURCES.get(Action(self.table.actions[node]), "")

    def _settle(self) -> None:
        """Count the time up to now."""
        passed, self.settled = now(self.env) - self.settled, now(self.env)
        if "npu" not in self.busy and self.finish < 0:
            if self.communicating:
                self.waited += passed
            else:
                self.other += passed

    def _begin(self, node: int) -> None:
        self._settle()
        action, operand = Action(self.table.actions[node]), int(self.table.operands[node])
        if action in _RESOURCES:
            self.busy.add(_RESOURCES[action])
        if action in _NETWORK:
            self.communicating += 1
        if action == Action.COMPUTE:
            usual = picoseconds(self.computing.seconds(self.table.computes[operand]))
            work = usual if self.slowdown == 1.0 else max(1, round(usual * self.slowdown))
            event = self.transport.processors[self.number].compute(work)
        elif action == Action.HOST:
            event = self.env.timeout(operand)
        elif action == Action.MEMORY:
            event = self.env.timeout(memory_time(self.design, operand))
        elif action == Action.RECEIVE:
            self._receive(node)
            return
        elif action == Action.SEND:
            peer, partner = self.rank.peers[operand], self.rank.partners[operand]
            event = self.transport.send_message(self.number, "all", peer, self.table.sizes[operand])
            event.callbacks.append(lambda _: self.others[peer]._arrive(partner))
        else:
            issued = self._issue(node, operand) if action == Action.COLLECTIVE else None
            if issued is None:
                self.communicating -= action == Action.COLLECTIVE
                self._end(node)
                return
            event = issued
        event.callbacks.append(lambda _: self._end(node))

    def _issue(self, node: int, operand: int) -> simpy.Event | None:
        kind, group, size = self.table.collectives[operand]
        name = self.rank.groups[group]
        if not self.transport.cluster.placement[name]:
            return None
        self.transport.sequences[self.number, name] = self.ordinals[node]
        return self.transport.issue_collective(self.number, kind, name, size)

    def _receive(self, node: int) -> None:
        if node in self.arrived:
            self._end(node)
        else:
            self.waiting.add(node)

    def _arrive(self, node: int) -> None:
        self.arrived.add(node)
        if node in self.waiting:
            self._end(node)

    def _end(self, node: int) -> None:
        self._settle()
        action = Action(self.table.actions[node])
        self.busy.discard(_RESOURCES.get(action, ""))
        its_group = action == Action.COLLECTIVE and not self._is_alone(node)
        self.communicating -= its_group or action in (Action.SEND, Action.RECEIVE)
        self.ends[node] = now(self.env)
        if len(self.ends) == self.table.nodes:
            self.finish = now(self.env)
        for child in self.table.children[self.table.first_child[node] : self.table.first_child[node + 1]].tolist():
            self.missing[child] -= 1
            if not self.missing[child]:
                self.ready.append(child)
        self._begin_soon()

    def _is_alone(self, node: int) -> bool:
        group = self.table.collectives[self.table.operands[node]].group
        return not self.transport.cluster.placement[self.rank.groups[group]]


def time_graph(design: Design, graph: Graph) -> Timing:
    """Time of a graph, of the NPU that finishes last. Raises `InputError` where some wait for ever."""
    return play_graph(design, graph)[0]


def play_graph(design: Design, graph: Graph) -> tuple[Timing, list[dict[int, int]]]:
    """Time of a graph, and when each node of each NPU ended [ps]; raises as `time_graph`."""
    env = simpy.Environment()
    transport = PhaseLevel(env, NpuGroups(design, place(design)[0]))
    npus: dict[int, GraphNpu] = {}
    for number, slowdown in enumerate(slowdowns(design)):
        npus[number] = GraphNpu(design, graph, transport, number, slowdown, npus)
    env.run()
    stuck = next((npu for npu in npus.values() if npu.finish < 0), None)
    if stuck is not None:
        name = stuck.table.names[next(node for node in range(stuck.table.nodes) if node not in stuck.ends)]
        found = f"rank {stuck.number} waits for ever in '{name[:60]}'"
        raise InputError([Problem(("workload", "trace"), "a trace that ends on every rank", found)])
    last = max(npus.values(), key=lambda npu: (npu.finish, -npu.number))
    total, use = last.finish, transport.use_of(last.number)
    spent = {
        Category.COMPUTE: total - last.waited - last.other,
        Category.UNGROUPED: last.waited,
        Category.OTHER: last.other,
    }
    timing = Timing(max(1, total), spent, 0, graph.class_of[last.number], use.busy, use.sent)
    return timing, [npu.ends for npu in npus.values()]
