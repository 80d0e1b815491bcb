"""Time of an explicit graph on the queues of the fast engine: one NPU of each class.

It is exact where the members of each group are of one class (`Graph.uneven`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simcore.compute import times_of
from simcore.design.design import Design
from simcore.document.problem import InputError, Problem
from simcore.engine.fast import pipeline
from simcore.engine.fast.iteration import Timing, stage_use
from simcore.engine.fast.lower import Lowering
from simcore.engine.fast.state import new_state
from simcore.engine.graph import play as player
from simcore.engine.graph.tables import (
    DONE,
    FINISH,
    FULL,
    OTHER,
    WAITED,
    class_states,
    most_on_network,
    new_play,
    node_states,
    pack_graph,
)
from simcore.graph import Action, Graph, Ints
from simcore.program import Category
from simcore.system.chunks import LONGEST, PICOSECONDS, picoseconds, too_long_error
from simcore.system.interference import UNIT, slowdowns
from simcore.system.placement import place
from simcore.system.pool import own_reach

_ROOM = 16
"""Collectives under way at the same time that there is room for at first."""

Arguments = Callable[[int, int, int], int | None]


def time_graph(design: Design, graph: Graph) -> Timing:
    """Time of a graph, of the class that finishes last. Raises `InputError` as `play_graph` does."""
    timing, _ = play_graph(design, graph)
    return timing


def play_graph(design: Design, graph: Graph) -> tuple[Timing, Ints]:
    """Time of a graph, and the state of every node when all is over.

    Raises `InputError` where it takes too long for 64 bits of picoseconds, or nodes wait for ever.
    """
    lowering = Lowering(design, place(design)[0], times_of(design))
    rows = pack_graph(graph, arguments(design, graph, lowering))
    lowering.operators.extend((pipeline.START, kind, 0) for kind in range(len(lowering.types)))
    _check_length(design, graph, lowering)
    net = lowering.network()
    uses, room = most_on_network(graph), _ROOM
    while True:
        states = new_state(net, len(graph.classes), uses + 2, min(room, uses + 2), design.system.chunks, uses + 1)
        play = new_play(graph)
        ended = player.run(net, states, rows, play, room)
        if ended != FULL:
            break
        room *= 4
    if ended != DONE:
        raise _stuck_error()
    return _timing(design, graph, lowering, class_states(play)), node_states(play)


def arguments(design: Design, graph: Graph, lowering: Lowering) -> Arguments:
    """What the nodes of a graph take, by NPU, action and operand (see `pack_graph`)."""

    def argument_of(npu: int, action: int, operand: int) -> int | None:
        rank = graph.ranks[npu]
        if action == Action.COMPUTE:
            return lowering.duration(rank.table.computes[operand])
        if action == Action.HOST:
            return operand
        if action == Action.MEMORY:
            return memory_time(design, operand)
        if action == Action.COLLECTIVE:
            kind, group, size = rank.table.collectives[operand]
            name = rank.groups[group]
            return lowering.collective(kind, name, size) if lowering.placement[name] else None
        if action == Action.SEND:
            hops = lowering.chunker.hops(lowering.placement["all"], npu, rank.peers[operand])
            return lowering.message("all", rank.table.sizes[operand], hops)
        return 0

    return argument_of


def memory_time(design: Design, size: int) -> int:
    """Time in which an NPU moves so many bytes to or from its expanded memory [ps]."""
    memory = design.cluster.memory
    assert memory is not None  # the check of traces says so
    assert memory.expanded is not None
    reach = own_reach(memory.expanded)
    return picoseconds(reach.latency + size / reach.rate)


def _check_length(design: Design, graph: Graph, lowering: Lowering) -> None:
    """Raise `InputError` for what one thing after the other, of all classes, takes too long."""
    serial = 0.0
    argument_of = arguments(design, graph, lowering)
    alone = [
        sum(times * (phase.serialization + phase.latency) for path, times in split.count_paths() for phase in path)
        for _, split in lowering.types
    ]
    for npu in graph.classes:
        table = graph.ranks[npu].table
        for action in np.unique(table.actions).tolist():
            operands, times = np.unique(table.operands[table.actions == action], return_counts=True)
            for operand, often in zip(operands.tolist(), times.tolist(), strict=True):
                found = argument_of(npu, action, operand)
                on_network = action in (Action.COLLECTIVE, Action.SEND) and found is not None
                serial += often * float(alone[found] if on_network else found or 0)  # type: ignore[index]
    serial *= 1 + max(slowdowns(design)) / UNIT
    if serial >= LONGEST:
        raise too_long_error(serial / PICOSECONDS)


def _timing(design: Design, graph: Graph, lowering: Lowering, classes: Ints) -> Timing:
    last = int(np.argmax(classes[:, FINISH]))
    total, waited, other = classes[last, [FINISH, WAITED, OTHER]].tolist()
    counts = sent_by(graph, graph.classes[last], arguments(design, graph, lowering))
    busy, sent = stage_use(lowering, counts, len(design.cluster.dimensions))
    spent = {Category.COMPUTE: total - waited - other, Category.UNGROUPED: waited, Category.OTHER: other}
    return Timing(max(1, total), spent, 0, last, busy, sent)


def sent_by(graph: Graph, npu: int, argument_of: Arguments) -> dict[int, int]:
    """How often an NPU issues each type of collective and message."""
    table = graph.ranks[npu].table
    counts: dict[int, int] = {}
    for action in (Action.COLLECTIVE, Action.SEND):
        operands, times = np.unique(table.operands[table.actions == action], return_counts=True)
        for operand, often in zip(operands.tolist(), times.tolist(), strict=True):
            kind = argument_of(npu, action, operand)
            if kind is not None:
                counts[kind] = counts.get(kind, 0) + often
    return counts


def _stuck_error() -> InputError:
    problem = Problem(("workload", "trace"), "a trace that ends", "nodes that wait for one another for ever")
    return InputError([problem])
