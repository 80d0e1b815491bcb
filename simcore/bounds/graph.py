"""Least time of an explicit graph: sums that no order of events beats, each beside its reason.

- An NPU computes one node at a time, and so do its host and its memory link: the sum of each;
- a dimension of an NPU serves one phase at a time: the sum of its serializations;
- a node begins when all that it waits for is over: the longest way through the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from simcore.bounds.collective import CollectiveTime, collective_times
from simcore.compute import times_of
from simcore.design.design import Design
from simcore.engine.fast.lower import Lowering
from simcore.engine.graph.run import arguments
from simcore.engine.graph.tables import (
    ACTION,
    ARGUMENT,
    CHILDREN,
    CHILDREN_AT,
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
    packed = pack_graph(graph, arguments(design, graph, lowering))
    return int(longest_of(packed, graph, collective_times(lowering), lambda duration: duration))


def longest_of(packed: Ints, graph: Graph, times: Sequence[CollectiveTime], computing: Callable[[int], Any]) -> Any:
    """The largest of the sums of the module: an integer, or a vector if `times` and `computing` give vectors [ps].

    `computing` says how long a node computes by its argument.
    """
    rows = packed[packed[NODES_AT] : packed[CHILDREN_AT]].reshape(-1, NODE_SIZE)
    sums = [_longest_way(packed, rows, graph, times, computing)]
    firsts = graph.firsts
    for number in range(len(graph.classes)):
        own = rows[firsts[number] : firsts[number + 1]]
        counts = {action: _count(own, action) for action in (COMPUTE, HOST, MEMORY, COLLECTIVE, SEND)}
        sums.append(sum(often * computing(argument) for argument, often in counts[COMPUTE]))
        sums += [sum(often * argument for argument, often in counts[action]) for action in (HOST, MEMORY)]
        busy: dict[int, Any] = {}
        for kind, often in [*counts[COLLECTIVE], *counts[SEND]]:
            for dimension, time in times[kind].busy.items():
                busy[dimension] = busy.get(dimension, 0) + often * time
        sums += busy.values()
    return larger(*sums)


def larger(*values: Any) -> Any:
    """The largest of numbers and vectors, element by element where there are any."""
    return max(values) if all(isinstance(value, int | float) for value in values) else reduce(np.maximum, values)


def _count(rows: Ints, action: int) -> list[tuple[int, int]]:
    """The arguments of nodes of an action, each with how often."""
    found, often = np.unique(rows[rows[:, ACTION] == action, ARGUMENT], return_counts=True)
    return list(zip(found.tolist(), often.tolist(), strict=True))


def _longest_way(
    packed: Ints, rows: Ints, graph: Graph, times: Sequence[CollectiveTime], computing: Callable[[int], Any]
) -> Any:
    """The longest way through a graph."""
    actions, its = rows[:, ACTION].tolist(), rows[:, ARGUMENT].tolist()
    children_at, receivers = rows[:, CHILDREN].tolist(), rows[:, RECEIVER].tolist()
    below = packed[: packed[FIRSTS_AT]].tolist()
    begins: dict[int, Any] = {}
    longest: Any = 0
    for node in graph.order.tolist():
        action, ends = actions[node], begins.pop(node, 0)
        if action == COMPUTE:
            ends = ends + computing(its[node])
        elif action in (HOST, MEMORY):
            ends = ends + its[node]
        elif action in (COLLECTIVE, SEND):
            ends = ends + times[its[node]].least
        after = below[children_at[node] : children_at[node + 1]] + ([receivers[node]] if action == SEND else [])
        for child in after:
            begins[child] = larger(begins[child], ends) if child in begins else ends
        if not after:
            longest = larger(longest, ends)
    return longest
