"""What is in traces: operators, dependencies, longest path, bytes by collective and by group; and what is odd.

Bytes are those that the trace names (`comm_size`, what a rank puts in), not those on wires. The longest path counts
recorded durations; a collective without one counts as none.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from simcore.astra.files.chakra import NodeType, TraceNode
from simcore.astra.files.nanoseconds import IN_NANOSECONDS
from simcore.traces.base import COMMUNICATION, Trace, TraceSet, group_of, integer_of, kind_of
from simcore.traces.graph import Graph, graph_of, schedule_of

MOST_ANOMALIES = 20
"""Oddities that are listed; of more, their number."""


@dataclass(frozen=True)
class Traffic:
    """Collectives, sends or receives of one kind: how many, and their bytes."""

    count: int = 0
    bytes: int = 0

    def plus(self, count: int, size: int) -> Traffic:
        """With some more of a size."""
        return Traffic(self.count + count, self.bytes + count * size)


@dataclass(frozen=True)
class RankSummary:
    """One rank; times in [s]. `path_s` is the longest path, of `path_nodes` nodes; `parts` its time by kind."""

    rank: int
    nodes: int
    dependencies: int
    roots: int
    compute_s: float
    host_s: float
    communication_s: float
    path_s: float
    path_nodes: int
    path_parts: Mapping[str, float]
    bytes: int
    flops: int = 0
    """FLOPs of its compute nodes that say how many; not of those whose `num_ops` is a time."""


@dataclass(frozen=True)
class Summary:
    """All ranks."""

    ranks: tuple[RankSummary, ...]
    operators: Mapping[str, int]
    collectives: Mapping[str, Traffic]
    groups: Mapping[str, Mapping[str, Traffic]]
    members: Mapping[str, Sequence[int]]
    anomalies: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """The summary as a JSON document."""
        groups = [
            {"group": name, "members": self.members.get(name), "collectives": _plain(kinds)}
            for name, kinds in self.groups.items()
        ]
        return {
            "ranks": len(self.ranks),
            "nodes": sum(rank.nodes for rank in self.ranks),
            "dependencies": sum(rank.dependencies for rank in self.ranks),
            "flops": sum(rank.flops for rank in self.ranks),
            "operators": dict(self.operators),
            "collectives": _plain(self.collectives),
            "groups": groups,
            "per_rank": [asdict(rank) for rank in self.ranks],
            "anomalies": list(self.anomalies),
        }


def _plain(kinds: Mapping[str, Traffic]) -> dict[str, dict[str, int]]:
    return {kind: asdict(traffic) for kind, traffic in kinds.items()}


def summarise(traces: TraceSet, where: str) -> Summary:
    """What is in the traces of all ranks; `where` names them in messages.

    Raises `InputError` where a trace's dependencies are incomplete or a circle.
    """
    known: dict[int, tuple[RankSummary, Trace]] = {}
    ranks = []
    for rank, trace in enumerate(traces.ranks):
        if id(trace) not in known:
            known[id(trace)] = _summarise_rank(rank, trace, graph_of(trace, f"{where}, rank {rank}")), trace
        found = known[id(trace)][0]
        ranks.append(RankSummary(**{**vars(found), "rank": rank}))
    operators: Counter[str] = Counter()
    groups: dict[str, dict[str, Traffic]] = defaultdict(lambda: defaultdict(Traffic))
    collectives: dict[str, Traffic] = defaultdict(Traffic)
    for trace, count in _distinct(traces):
        for node in trace:
            kind = kind_of(node)
            operators[kind] += count
            if node.type in COMMUNICATION:
                size = integer_of(node, "comm_size")
                group = group_of(node) if node.type is NodeType.COMM_COLL else "messages"
                collectives[kind] = collectives[kind].plus(count, size)
                groups[group][kind] = groups[group][kind].plus(count, size)
    members = {str(number): list(listed) for number, listed in traces.groups.items()}
    return Summary(tuple(ranks), dict(operators), collectives, groups, members, _anomalies(traces))


def _distinct(traces: TraceSet) -> Iterator[tuple[Trace, int]]:
    """Each trace once, with the number of ranks that share it."""
    counts = Counter(map(id, traces.ranks))
    seen = {id(trace): trace for trace in traces.ranks}
    for number, trace in seen.items():
        yield trace, counts[number]


def _summarise_rank(rank: int, trace: Trace, graph: Graph) -> RankSummary:
    schedule = schedule_of(trace, graph)
    times: Counter[str] = Counter()
    for node in trace:
        times[_part(kind_of(node))] += node.duration_us
    parts: Counter[str] = Counter()
    for place in schedule.path:
        parts[_part(kind_of(trace[place]))] += trace[place].duration_us
    return RankSummary(
        rank=rank,
        nodes=len(trace),
        dependencies=graph.dependencies,
        roots=sum(not before for before in graph.before),
        compute_s=times["compute"] / 1e6,
        host_s=times["host"] / 1e6,
        communication_s=times["communication"] / 1e6,
        path_s=schedule.length / 1e6,
        path_nodes=len(schedule.path),
        path_parts={part: time / 1e6 for part, time in sorted(parts.items())},
        bytes=sum(integer_of(node, "comm_size") for node in trace if node.type in COMMUNICATION),
        flops=sum(_flops(node) for node in trace),
    )


def _flops(node: TraceNode) -> int:
    return integer_of(node, "num_ops") if node.type is NodeType.COMP and not node.get(IN_NANOSECONDS) else 0


def _part(kind: str) -> str:
    return kind if kind in ("compute", "host", "load", "store", "metadata") else "communication"


def _anomalies(traces: TraceSet) -> tuple[str, ...]:
    found = [*_unmatched(traces), *_disagreements(traces)]
    more = [f"and {len(found) - MOST_ANOMALIES:,} more"] if len(found) > MOST_ANOMALIES else []
    return tuple(found[:MOST_ANOMALIES] + more)


def _unmatched(traces: TraceSet) -> Iterator[str]:
    """Sends that nobody receives, and receives that nobody sends, by ends, tag and size."""
    ends: dict[tuple[int, int, int, int], list[int]] = defaultdict(lambda: [0, 0])
    messages: dict[int, list[TraceNode]] = {}
    for rank, trace in enumerate(traces.ranks):
        if id(trace) not in messages:
            messages[id(trace)] = [node for node in trace if node.type in (NodeType.COMM_SEND, NodeType.COMM_RECV)]
        for node in messages[id(trace)]:
            sends = node.type is NodeType.COMM_SEND
            other = integer_of(node, "comm_dst" if sends else "comm_src", -1)
            key = (rank, other) if sends else (other, rank)
            ends[*key, integer_of(node, "comm_tag"), integer_of(node, "comm_size")][not sends] += 1
    for (source, target, tag, size), (sent, received) in sorted(ends.items()):
        if sent != received:
            yield (
                f"rank {source} sends {size:,} B (tag {tag}) to rank {target} {sent} times, "
                f"which receives it {received} times"
            )


def _disagreements(traces: TraceSet) -> Iterator[str]:
    """Groups whose members are not the ranks that use them, or whose members ask for different collectives."""
    asked: dict[str, dict[int, tuple[tuple[str, int], ...]]] = defaultdict(dict)
    sequences: dict[int, dict[str, tuple[tuple[str, int], ...]]] = {}
    for rank, trace in enumerate(traces.ranks):
        if id(trace) not in sequences:
            sequences[id(trace)] = _sequences(trace)
        for group, sequence in sequences[id(trace)].items():
            asked[group][rank] = sequence
    for group, by_rank in sorted(asked.items()):
        if group.startswith("dimensions"):
            continue  # a group of each line along them: who is in which, the network says
        if group.isdecimal() and int(group) not in traces.groups:
            yield f"group {group} is used by rank {min(by_rank)}, and its members are listed nowhere (--groups FILE)"
            continue
        members = traces.groups[int(group)] if group.isdecimal() else tuple(range(len(traces.ranks)))
        for rank in sorted(set(by_rank) - set(members)):
            yield f"group {group}: rank {rank} uses it and is no member"
        first = members[0] if members else 0
        for rank in members[1:] if len(traces.ranks) > 1 else ():
            difference = _difference(by_rank.get(first, ()), by_rank.get(rank, ()))
            if difference:
                place, one, other = difference
                yield f"group {group}: collective {place} is {one} on rank {first}, {other} on rank {rank}"


def _sequences(trace: Trace) -> dict[str, tuple[tuple[str, int], ...]]:
    found: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for node in sorted(trace, key=lambda node: node.id):
        if node.type is NodeType.COMM_COLL:
            found[group_of(node)].append((kind_of(node), integer_of(node, "comm_size")))
    return {group: tuple(sequence) for group, sequence in found.items()}


def _difference(one: Sequence[tuple[str, int]], other: Sequence[tuple[str, int]]) -> tuple[int, str, str] | None:
    if one == other:
        return None
    place = next((index for index, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
    place = min(len(one), len(other)) if place is None else place
    words = [f"{side[place][0]} of {side[place][1]:,} B" if place < len(side) else "missing" for side in (one, other)]
    return place + 1, words[0], words[1]
