"""From the nodes of Chakra files to tables of nodes, which know nothing of a cluster yet.

A node's sizes, times and kinds are read as ASTRA-sim reads them (`simcore.astra.files.trace`), except that a computing
node has no time of its own unless the document says on which NPU times were recorded: they hold on no other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from simcore.astra.files.chakra import CommType, NodeType, TraceNode, process_groups
from simcore.astra.files.nanoseconds import IN_NANOSECONDS
from simcore.document.problem import Refusal
from simcore.graph import Action, Collective, Ints, NodeTable
from simcore.program import LAUNCHED, Compute
from simcore.workload.trace.files import read_groups, read_ranks

MOST = 1 << 53
"""Bound on FLOPs, sizes [B] and times [ns] of a node: below it, doubles are exact."""
KINDS = {
    CommType.ALL_REDUCE: "all_reduce",
    CommType.ALL_GATHER: "all_gather",
    CommType.ALL_TO_ALL: "all_to_all",
    CommType.REDUCE_SCATTER: "reduce_scatter",
    CommType.BROADCAST: "broadcast",
}
"""The collectives that the network has."""
EVERYONE = ("", "0")
"""Names of the group of all ranks."""

Group = tuple[int, ...] | tuple[bool, ...] | None
"""Members; or which dimensions, innermost first; or all ranks."""


class RankTrace(NamedTuple):
    """What one rank does."""

    table: NodeTable
    groups: tuple[Group, ...]
    """What `Collective.group` speaks of."""
    peers: tuple[int, ...]
    """The other end of each message, in the order of their nodes."""
    tags: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Trace:
    """A trace whatever the cluster; `ranks` has one entry where all NPUs run the same file."""

    ranks: tuple[RankTrace, ...]
    alike: bool
    """Whether it is one file for all NPUs."""
    recorded: bool
    """Whether operators take the times that were recorded."""

    @property
    def involved(self) -> int:
        """How many dimensions `involved_dim` tells apart at least; 0 where it tells none apart."""
        listed = [group for rank in self.ranks for group in rank.groups if group and isinstance(group[0], bool)]
        flags = [group for group in listed if not all(group)]
        return max((len(group) - list(group[::-1]).index(True) for group in flags), default=0)

    @property
    def tables(self) -> tuple[NodeTable, ...]:
        """The different tables."""
        return tuple({id(rank.table): rank.table for rank in self.ranks}.values())


@lru_cache(maxsize=8)
def read_trace(path: str, digest: str, groups_path: str, groups_digest: str, recorded: bool) -> Trace:
    """The trace of some files (see `simcore.workload.trace.files`).

    Raises `Refusal` with what cannot be played, and on which node of which rank.
    """
    files = read_ranks(path, digest)
    groups = read_groups(groups_path, groups_digest) if groups_path else {}
    read: dict[int, RankTrace] = {}
    known: dict[Any, NodeTable] = {}
    for rank, nodes in enumerate(files):
        if id(nodes) not in read:
            read[id(nodes)] = _Reader(rank, groups, recorded).read(nodes, known)
    return Trace(tuple(read[id(nodes)] for nodes in files), len(files) == 1 and path.endswith(".et"), recorded)


@dataclass
class _Reader:
    """Reads the nodes of one file."""

    rank: int
    groups: Mapping[str, tuple[int, ...]]
    recorded: bool
    computes: dict[tuple[float, float, float | None], tuple[int, Compute]] = field(default_factory=dict)
    collectives: dict[Collective, int] = field(default_factory=dict)
    members: dict[Group, int] = field(default_factory=dict)
    messages: list[tuple[float, int, int]] = field(default_factory=list)

    def read(self, nodes: Sequence[TraceNode], known: dict[Any, NodeTable]) -> RankTrace:
        """What a rank does; equal tables, in `known`, are one object."""
        ordered = sorted(nodes, key=lambda node: node.id)
        places = {node.id: place for place, node in enumerate(ordered)}
        if len(places) < len(ordered):
            raise Refusal("every node id once in a rank's trace", f"one twice in that of rank {self.rank}")
        listed = {name: members for node in ordered for name, members in process_groups(node).items() if members}
        self.groups = {**self.groups, **listed}
        rows = np.array([self._row(node) for node in ordered], np.int64).reshape(-1, 2)
        first_child, children, parents = self._edges(ordered, places)
        _check_acyclic(first_child, children, parents, ordered, self.rank)
        sizes = tuple(size for size, _, _ in self.messages)
        tags = tuple(tag for _, _, tag in self.messages)
        lists = tuple(compute for _, compute in self.computes.values()), tuple(self.collectives), sizes
        key = (rows.tobytes(), first_child.tobytes(), children.tobytes(), *lists, tags)
        if key not in known:
            actions, operands = (np.ascontiguousarray(column) for column in rows.T)
            names = tuple(node.name for node in ordered)
            known[key] = NodeTable(actions, operands, first_child, children, parents, names, *lists)
        return RankTrace(known[key], tuple(self.members), tuple(peer for _, peer, _ in self.messages), tags)

    def _edges(self, ordered: Sequence[TraceNode], places: Mapping[int, int]) -> tuple[Ints, Ints, Ints]:
        listed: list[list[int]] = [[] for _ in ordered]
        parents = np.zeros(len(ordered), np.int64)
        for place, node in enumerate(ordered):
            for needed in sorted({*node.data_deps, *node.ctrl_deps}):
                if needed not in places:
                    raise self._refusal(node, "dependencies on nodes of the trace", f"one on node {needed}")
                listed[places[needed]].append(place)
                parents[place] += 1
        ends = np.cumsum([0, *map(len, listed)])
        return ends.astype(np.int64), np.array([child for row in listed for child in row], np.int64), parents

    def _row(self, node: TraceNode) -> tuple[int, int]:
        if node.type in (NodeType.METADATA, NodeType.INVALID):
            return Action.NOTHING, 0
        if node.type is NodeType.COMP:
            return self._computed(node)
        if node.get("is_cpu_op") and node.type is not NodeType.MEM_LOAD and node.type is not NodeType.MEM_STORE:
            raise self._refusal(node, "is_cpu_op false on a communication node", "true")
        if node.type is NodeType.COMM_COLL:
            return self._collective(node)
        if node.type in (NodeType.COMM_SEND, NodeType.COMM_RECV):
            return self._message(node)
        return Action.MEMORY, self._number(node, "tensor_size")

    def _computed(self, node: TraceNode) -> tuple[int, int]:
        if node.get("is_cpu_op"):
            return Action.HOST, max(1, self._recorded_ns(node) * 1000)
        flops, moved = self._number(node, "num_ops", 0), self._number(node, "tensor_size", 0)
        key: tuple[float, float, float | None]
        in_ns = bool(node.get(IN_NANOSECONDS))
        if self.recorded:
            key = (0.0, 0.0, (flops if in_ns else self._recorded_ns(node)) / 1e9)
        elif not flops and not moved and not node.duration_us:
            return Action.NOTHING, 0
        elif in_ns or (not flops and not moved):
            fix = "name the NPU on which it was recorded: 'recorded_on: NAME'"
            raise self._refusal(node, "num_ops or tensor_size of a computing node", "a recorded time alone", fix)
        else:
            key = (float(flops), float(moved), None)
        kind = "gemm" if key[0] else "memory"
        if key not in self.computes:
            compute = Compute(node.name, kind, key[0], key[1], pieces=LAUNCHED, recorded=key[2])
            self.computes[key] = len(self.computes), compute
        return Action.COMPUTE, self.computes[key][0]

    def _recorded_ns(self, node: TraceNode) -> int:
        if node.duration_us * 1000 >= MOST:
            raise self._refusal(node, f"a time below {MOST} ns", f"{node.duration_us} us")
        return node.duration_us * 1000

    def _collective(self, node: TraceNode) -> tuple[int, int]:
        number = self._number(node, "comm_type")
        if number not in KINDS:
            names = {int(each): each.name.lower() for each in CommType}
            known = ", ".join(KINDS.values())
            raise self._refusal(node, f"one of {known}", names.get(number, f"operator {number}"))
        size = self._number(node, "comm_size")
        if not size:
            raise self._refusal(node, "a comm_size of at least 1 B", "0 B")
        group = self.members.setdefault(self._group(node), len(self.members))
        collective = Collective(KINDS[CommType(number)], group, float(size))
        return Action.COLLECTIVE, self.collectives.setdefault(collective, len(self.collectives))

    def _group(self, node: TraceNode) -> Group:
        given = node.get("pg_name")
        name = given if isinstance(given, str) else "" if given is None else repr(given)
        if name not in EVERYONE:
            if name not in self.groups:
                known = ", ".join(list(self.groups)[:5]) or "none"
                fix = "name the file of groups: 'comm_groups: FILE.json'"
                raise self._refusal(node, f"a known group (known: {known})", f"'{name}'", fix)
            return self.groups[name]
        involved = node.get("involved_dim")
        if involved is None:
            return None
        if not isinstance(involved, tuple) or not all(isinstance(flag, bool) for flag in involved) or not any(involved):
            raise self._refusal(node, "a list of flags, at least one true, as involved_dim", repr(involved)[:60])
        return tuple(map(bool, involved))

    def _message(self, node: TraceNode) -> tuple[int, int]:
        size = self._number(node, "comm_size")
        if not size:
            raise self._refusal(node, "a comm_size of at least 1 B", "0 B")
        sends = node.type is NodeType.COMM_SEND
        peer = self._number(node, "comm_dst" if sends else "comm_src")
        self.messages.append((float(size), peer, self._number(node, "comm_tag", 0)))
        return Action.SEND if sends else Action.RECEIVE, len(self.messages) - 1

    def _number(self, node: TraceNode, name: str, default: int | None = None) -> int:
        value = node.get(name)
        if value is None and default is not None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < MOST or value % 1:
            raise self._refusal(node, f"a whole number of at least 0 as {name}", repr(value)[:60])
        return int(value)

    def _refusal(self, node: TraceNode, expected: str, found: str, fix: str = "") -> Refusal:
        return Refusal(expected, f"{found} (node {node.id}, '{node.name[:60]}', of rank {self.rank})", fix)


def _check_acyclic(first_child: Ints, children: Ints, parents: Ints, ordered: Sequence[TraceNode], rank: int) -> None:
    missing, begins, below = parents.tolist(), first_child.tolist(), children.tolist()
    ready = [place for place, count in enumerate(missing) if not count]
    for place in ready:  # grows
        for child in below[begins[place] : begins[place + 1]]:
            missing[child] -= 1
            if not missing[child]:
                ready.append(child)
    if len(ready) < len(missing):
        stuck = [str(ordered[place].id) for place, count in enumerate(missing) if count]
        found = f"nodes that depend on one another ({', '.join(stuck[:8])}, of rank {rank})"
        raise Refusal("dependencies without a cycle", found)
