"""Traces without names: sizes, times and structure stay, as a simulation needs them; what tells whose they are goes.

Operators are called after their kind and number. Attributes that no simulation reads, shapes, values and the times at
which operators ran are left out; nodes are numbered anew in a topological order, groups in the order of their use.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from simcore.astra.files.chakra import Attribute, NodeType, TraceNode, int_attribute, text_attribute
from simcore.astra.files.nanoseconds import IN_NANOSECONDS
from simcore.traces.base import Trace, TraceSet, group_of, integer_of, kind_of
from simcore.traces.graph import graph_of

KEPT = (
    *("is_cpu_op", "comm_type", "comm_size", "comm_src", "comm_dst", "comm_tag", "involved_dim", "pg_name"),
    *("num_ops", "tensor_size", IN_NANOSECONDS),
)
"""Attributes that a simulation reads, and that name nothing."""

Key = tuple[object, ...]


def anonymise(traces: TraceSet, where: str) -> TraceSet:
    """The same traces without names.

    Raises `InputError` where a trace's dependencies are incomplete or a circle, or it uses groups that are not listed.
    """
    numbers = _group_numbers(traces)
    made: dict[int, Trace] = {}
    for rank, trace in enumerate(traces.ranks):
        if id(trace) not in made:
            made[id(trace)] = _rename(trace, numbers, f"{where}, rank {rank}")
    groups = {new: traces.groups[old] for old, new in numbers.items() if old in traces.groups}
    return TraceSet(tuple(made[id(trace)] for trace in traces.ranks), groups, traces.documents, traces.notes)


def _group_numbers(traces: TraceSet) -> dict[int, int]:
    """New numbers of the groups in use, in the order of their use."""
    numbers: dict[int, int] = {}
    for trace in {id(trace): trace for trace in traces.ranks}.values():
        for node in trace:
            group = group_of(node)
            if node.type is NodeType.COMM_COLL and group.isdecimal():
                numbers.setdefault(int(group), len(numbers) + 1)
    return numbers


def _rename(trace: Trace, numbers: Mapping[int, int], where: str) -> Trace:
    graph = graph_of(trace, where)
    new = {trace[place].id: number for number, place in enumerate(_in_order(trace, graph.order))}
    return tuple(
        TraceNode(
            new[node.id],
            f"{kind_of(node)}_{new[node.id]}",
            node.type,
            tuple(sorted(new[id] for id in node.ctrl_deps)),
            tuple(sorted(new[id] for id in node.data_deps)),
            duration_us=node.duration_us,
            attributes=tuple(_attribute(entry, numbers) for entry in node.attributes if entry.name in KEPT),
        )
        for node in sorted(trace, key=lambda node: new[node.id])
    )


def _in_order(trace: Trace, order: Sequence[int]) -> list[int]:
    """Places by node id, as a simulator issues them, where ids grow along dependencies; else in topological order."""
    by_id = sorted(order, key=lambda place: trace[place].id)
    grows = all(max((*node.data_deps, *node.ctrl_deps), default=-1) < node.id for node in trace)
    return by_id if grows else list(order)


def _attribute(entry: Attribute, numbers: Mapping[int, int]) -> Attribute:
    if entry.name != "pg_name":
        return entry
    name = str(entry.value)
    return text_attribute("pg_name", str(numbers[int(name)]) if name.isdecimal() and int(name) in numbers else "")


def sample(traces: TraceSet, seed: int) -> TraceSet:
    """Traces of the same structure, whose times and sizes are drawn from those of the traces.

    A compute operator gets the time of any of its kind in any rank. A collective gets the size of any of its kind in
    its group, the same for all members; a message that of any message, the same at both ends.
    """
    draw = random.Random(seed)  # nothing here is secret
    pools: dict[Key, list[TraceNode]] = defaultdict(list)
    for trace in traces.ranks:
        for node in trace:
            pools[_pool(node)].append(node)
    drawn: dict[Key, TraceNode] = {}

    def twin(key: Key, node: TraceNode) -> TraceNode:
        if key not in drawn:
            drawn[key] = draw.choice(pools[_pool(node)])
        return drawn[key]

    counts: dict[Key, int] = defaultdict(int)
    ranks = tuple(_resample(rank, trace, counts, twin) for rank, trace in enumerate(traces.ranks))
    return replace(traces, ranks=ranks)


def _pool(node: TraceNode) -> Key:
    """Nodes that may lend each other their times and sizes."""
    if node.type is NodeType.COMM_COLL:
        return kind_of(node), group_of(node)
    return ("message",) if node.type in (NodeType.COMM_SEND, NodeType.COMM_RECV) else (kind_of(node),)


def _resample(
    rank: int, trace: Trace, counts: dict[Key, int], twin: Callable[[Key, TraceNode], TraceNode]
) -> Trace:  # fmt: skip
    nodes = []
    for node in trace:
        key = _meeting(rank, node)
        counts[rank, *key] += 1
        lender = twin((*key, counts[rank, *key]), node)
        sizes = {name: integer_of(lender, name) for name in ("comm_size", "num_ops", "tensor_size")}
        attributes = tuple(
            int_attribute(entry.name, sizes[entry.name]) if entry.name in sizes else entry for entry in node.attributes
        )
        nodes.append(replace(node, duration_us=lender.duration_us, attributes=attributes))
    return tuple(nodes)


def _meeting(rank: int, node: TraceNode) -> Key:
    """What a node shares with those of other ranks that must agree with it; with its count, it names one draw."""
    if node.type is NodeType.COMM_COLL:
        return "collective", group_of(node), kind_of(node)
    if node.type in (NodeType.COMM_SEND, NodeType.COMM_RECV):
        sends = node.type is NodeType.COMM_SEND
        ends = (rank, integer_of(node, "comm_dst")) if sends else (integer_of(node, "comm_src"), rank)
        return "message", *ends, integer_of(node, "comm_tag")
    return "own", rank
