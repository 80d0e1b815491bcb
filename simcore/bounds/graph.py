"""Least time of an explicit graph: sums that no order of events beats, each beside its reason.

- An NPU computes one node at a time, and so do its host and its memory link: the sum of each;
- a dimension of an NPU serves one phase at a time: the sum of its serializations;
- a node begins when all that it waits for is over: the longest way through the graph.
"""

from __future__ import annotations

import numpy as np

from simcore.bounds.collective import CollectiveTime, collective_times
from simcore.compute import times_of
from simcore.design.design import Design
from simcore.engine.fast.lower import Lowering
from simcore.engine.graph.run import arguments, sent_by
from simcore.engine.graph.tables import (
    ACTION,
    ARGUMENT,
    CHILDREN,
    COLLECTIVE,
    COMPUTE,
    FIRSTS_AT,
    HOST,
    MEMORY,
    NODE_SIZE,
    NODES_AT,
    RECEIVER,
    SEND,
    pack_graph,
)
from simcore.graph import Graph, Ints
from simcore.system.placement import place


def bound_graph(design: Design, graph: Graph) -> int:
    """Least time of a graph [ps]."""
    lowering = Lowering(design, place(design)[0], times_of(design))
    argument_of = arguments(design, graph, lowering)
    packed = pack_graph(graph, argument_of)
    times = collective_times(lowering)
    least = _longest_way(packed, graph, times)
    firsts, rows = graph.firsts, _rows(packed)[:-1]
    for number, npu in enumerate(graph.classes):
        own = rows[firsts[number] : firsts[number + 1]]
        for action in (COMPUTE, HOST, MEMORY):
            least = max(least, int(own[own[:, ACTION] == action, ARGUMENT].sum()))
        busy: dict[int, int] = {}
        for kind, count in sent_by(graph, npu, argument_of).items():
            for dimension, time in times[kind].busy.items():
                busy[dimension] = busy.get(dimension, 0) + count * time
        least = max(least, *busy.values(), 0)
    return least


def _rows(packed: Ints) -> Ints:
    """The nodes, `[nodes + 1, NODE_SIZE]`."""
    nodes = packed[0] + 1
    return packed[packed[NODES_AT] : packed[NODES_AT] + nodes * NODE_SIZE].reshape(nodes, NODE_SIZE)


def _longest_way(packed: Ints, graph: Graph, times: list[CollectiveTime]) -> int:
    """The longest way through a graph [ps]."""
    rows = _rows(packed)
    actions, arguments_ = rows[:, ACTION].tolist(), rows[:, ARGUMENT].tolist()
    children_at, receivers = rows[:, CHILDREN].tolist(), rows[:, RECEIVER].tolist()
    below = packed[: packed[FIRSTS_AT]].tolist()
    begins = np.zeros(len(actions), np.int64).tolist()
    longest = 0
    for node in graph.order.tolist():
        action = actions[node]
        takes = 0
        if action in (COMPUTE, HOST, MEMORY):
            takes = arguments_[node]
        elif action in (COLLECTIVE, SEND):
            takes = times[arguments_[node]].least
        ends = begins[node] + takes
        longest = max(longest, ends)
        if action == SEND:
            begins[receivers[node]] = max(begins[receivers[node]], ends)
        for at in range(children_at[node], children_at[node + 1]):
            begins[below[at]] = max(begins[below[at]], ends)
    return int(longest)
