"""A trace on a cluster: the groups as slices of dimensions, who meets whom, and which NPUs do the same.

NPUs are of one class if they have the same nodes and groups of the same slices, and if the other ends of their messages
are of the same classes, equally far away. Where the members of each group are of one class, one NPU of each class, with
queues of its own, stands for all of it: everything that they meet happens to all of them at the same time.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from simcore.design.design import Design
from simcore.design.once import once
from simcore.document.problem import Problem
from simcore.graph import Action, Graph, Ints, NodeTable, Rank
from simcore.workload.trace.document import TraceWorkload
from simcore.workload.trace.groups import Slices, digits, everyone, involved_with, name_of, slices_of
from simcore.workload.trace.read import Group, RankTrace, Trace

RANKS = "ranks are NPUs"
"""Rule of a cluster with another number of NPUs than a trace has ranks."""
MOST_RANKS = 16_384
"""NPUs of a cluster whose ranks are looked at one by one."""


_Way = tuple[int, int, int, float]
"""What messages that are alike have in common: source, target, tag, bytes."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A trace on a cluster, or what keeps it from being there."""

    slices: Mapping[str, Slices]
    graph: Graph | None
    problems: tuple[Problem, ...] = ()


@once
def plan_of(design: Design) -> Plan:
    """The plan of a design of a trace."""
    sizes = tuple(dimension.size for dimension in design.cluster.dimensions)
    workload = TraceWorkload.of(design.workload)
    return _plan(workload.content(), workload.dimensions, sizes)


@lru_cache(maxsize=64)
def _plan(trace: Trace, dimensions: tuple[int, ...], sizes: tuple[int, ...]) -> Plan:
    whole = {"all": everyone(sizes)}
    problem = _misfit(math.prod(dimensions), math.prod(sizes))
    return Plan(whole, None, (problem,)) if problem else _Planner(trace, dimensions, sizes).plan(whole)


def _misfit(ranks: int, npus: int) -> Problem | None:
    if ranks != npus:
        fix = "choose dimensions whose sizes multiply to the number of ranks"
        expected = f"{ranks} NPUs, one for each rank of the trace"
        return Problem(("cluster", "dimensions"), expected, f"{npus}", fix, rule=RANKS)
    if npus > MOST_RANKS:
        return Problem(("cluster", "dimensions"), f"at most {MOST_RANKS:,} NPUs for a trace", f"{npus:,}")
    return None


class _Planner:
    """Places the ranks of a trace on a cluster."""

    def __init__(self, trace: Trace, dimensions: tuple[int, ...], sizes: tuple[int, ...]) -> None:
        self.dimensions, self.sizes, self.npus = dimensions, sizes, math.prod(sizes)
        self.traces = trace.ranks * self.npus if trace.alike else trace.ranks
        self.slices: dict[str, Slices] = {}
        self.members: dict[tuple[int, ...], str | None] = {}

    def plan(self, whole: Mapping[str, Slices]) -> Plan:
        """The plan, or the first problem."""
        self.slices |= whole
        names: list[tuple[str, ...]] = []
        for rank, its in enumerate(self.traces):
            found = [self._name(group, rank) for group in its.groups]
            wrong = next((name for name in found if isinstance(name, Problem)), None)
            if wrong:
                return Plan(whole, None, (wrong,))
            names.append(tuple(name for name in found if isinstance(name, str)))
        partners = self._partners()
        if isinstance(partners, Problem):
            return Plan(whole, None, (partners,))
        ranks = tuple(
            Rank(its.table, groups, its.peers, met)
            for its, groups, met in zip(self.traces, names, partners, strict=True)
        )
        class_of = self._classes(ranks)
        classes = tuple(class_of.index(number) for number in range(max(class_of) + 1))
        uneven = self._uneven(class_of)
        order = _order(ranks, class_of, classes)
        graph = Graph(ranks, class_of, classes, order, uneven)
        if len(order) < graph.firsts[-1]:
            return Plan(whole, None, (_stuck(graph),))
        return Plan(self.slices, graph)

    def _name(self, group: Group, rank: int) -> str | Problem:
        """The name of a group in the placement."""
        if self._is_everyone(group):
            return "all"
        members = tuple(sorted(self._members(group, rank)))
        if rank not in members or members[-1] >= self.npus:
            found = f"{members[:8]} of rank {rank}, on {self.npus} NPUs"
            return _problem("groups of NPUs of the cluster that have the rank itself", found, "check comm_groups")
        if members not in self.members:
            found_slices = slices_of(members, self.sizes)
            self.members[members] = None if found_slices is None else self._keep(found_slices)
        name = self.members[members]
        if name is None:
            shown = ", ".join(map(str, members[:8])) + (", …" if len(members) > 8 else "")
            sizes = " x ".join(map(str, self.sizes))
            fix = "choose dimensions that its groups fill or divide; dse astra plays any group"
            return _problem("groups that are regular parts of the dimensions", f"ranks {shown} on {sizes}", fix)
        return name

    def _keep(self, slices: Slices) -> str:
        name = name_of(slices, self.sizes)
        self.slices[name] = slices
        return name

    def _partners(self) -> list[tuple[int, ...]] | Problem:
        """For each message of each rank the node at its other end: the first one sent is the first one received."""
        ends: dict[_Way, tuple[list[tuple[int, int]], list[tuple[int, int]]]] = defaultdict(lambda: ([], []))
        for rank, its in enumerate(self.traces):
            for place in np.flatnonzero(its.table.actions >= Action.SEND).tolist():
                slot, sends = int(its.table.operands[place]), its.table.actions[place] == Action.SEND
                peer = its.peers[slot]
                if peer >= self.npus or peer == rank:
                    expected = f"messages to another of {self.npus} NPUs"
                    return _problem(expected, f"one of rank {rank} to rank {peer}")
                pair = (rank, peer) if sends else (peer, rank)
                ends[*pair, its.tags[slot], its.table.sizes[slot]][not sends].append((slot, place))
        met = [[0] * len(its.peers) for its in self.traces]
        for (source, target, tag, _), (sent, received) in ends.items():
            if len(sent) != len(received):
                found = f"{len(sent)} sent and {len(received)} received, from rank {source} to rank {target}, tag {tag}"
                return _problem("as many receives as sends", found)
            for (slot, place), (other_slot, other) in zip(sent, received, strict=True):
                met[source][slot], met[target][other_slot] = other, place
        return [tuple(row) for row in met]

    def _classes(self, ranks: Sequence[Rank]) -> tuple[int, ...]:
        """The class of each rank: those of one class become several until the other ends are alike as well."""
        places = [digits(npu, self.sizes) for npu in range(self.npus)]
        far: list[tuple[Hashable, ...]] = [
            tuple(_apart(places[npu], places[peer]) for peer in rank.peers) for npu, rank in enumerate(ranks)
        ]
        colours = _numbered([(id(rank.table), rank.groups, rank.partners, far[npu]) for npu, rank in enumerate(ranks)])
        while True:
            finer = _numbered(
                [(colours[npu], tuple(colours[peer] for peer in rank.peers)) for npu, rank in enumerate(ranks)]
            )
            if max(finer) == max(colours):
                return finer
            colours = finer

    def _uneven(self, class_of: Sequence[int]) -> str:
        """Which group has members that are not alike."""
        if max(class_of) == 0:
            return ""
        seen = set()
        for rank, its in enumerate(self.traces):
            for group in its.groups:
                members = tuple(self._members(group, rank))
                if members in seen:
                    continue
                seen.add(members)
                for member in members:
                    if class_of[member] != class_of[rank]:
                        return f"ranks {rank} and {member} of one group do not do the same"
        return ""

    def _is_everyone(self, group: Group) -> bool:
        """Whether a group is all ranks: without a name, or by flags for every dimension; others are false."""
        flags = group is not None and isinstance(group[0], bool)
        return group is None or (flags and all(group) and len(group) >= len(self.dimensions))

    def _members(self, group: Group, rank: int) -> Sequence[int]:
        """The ranks of a group that a rank speaks of."""
        if group is None or self._is_everyone(group):
            return range(self.npus)
        if isinstance(group[0], bool):
            return involved_with(rank, [bool(flag) for flag in group], self.dimensions)
        return group


def _apart(here: tuple[int, ...], there: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(abs(a - b) for a, b in zip(here, there, strict=True))


def _numbered(values: Sequence[Hashable]) -> tuple[int, ...]:
    known: dict[Hashable, int] = {}
    return tuple(known.setdefault(value, len(known)) for value in values)


def _order(ranks: Sequence[Rank], class_of: Sequence[int], classes: Sequence[int]) -> Ints:
    """See `Graph.order`; shorter than all nodes where some wait for one another."""
    firsts = np.cumsum([0, *(ranks[npu].table.nodes for npu in classes)]).tolist()
    missing: list[int] = [count for npu in classes for count in ranks[npu].table.parents.tolist()]
    below: list[list[int]] = []
    for number, npu in enumerate(classes):
        rank, first = ranks[npu], firsts[number]
        begins, children = rank.table.first_child.tolist(), rank.table.children.tolist()
        actions, operands = rank.table.actions.tolist(), rank.table.operands.tolist()
        for place, action in enumerate(actions):
            row = [first + child for child in children[begins[place] : begins[place + 1]]]
            if action == Action.SEND:
                row.append(firsts[class_of[rank.peers[operands[place]]]] + rank.partners[operands[place]])
            elif action == Action.RECEIVE:
                missing[first + place] += 1
            below.append(row)
    ready = [node for node, count in enumerate(missing) if not count]
    for node in ready:  # grows
        for child in below[node]:
            missing[child] -= 1
            if not missing[child]:
                ready.append(child)
    return np.array(ready, np.int64)


def _stuck(graph: Graph) -> Problem:
    """Which rank waits for itself."""
    left = sorted(set(range(graph.firsts[-1])) - set(graph.order.tolist()))
    number = max(index for index, first in enumerate(graph.firsts[:-1]) if first <= left[0])
    npu = graph.classes[number]
    table: NodeTable = graph.ranks[npu].table
    name = table.names[left[0] - graph.firsts[number]]
    return _problem("messages that can arrive", f"'{name[:60]}' of rank {npu}, which waits for itself")


def _problem(expected: str, found: str, fix: str = "") -> Problem:
    return Problem(("workload", "trace"), expected, found, fix, rule="trace on the cluster")


__all__ = ["MOST_RANKS", "Plan", "RankTrace", "plan_of"]
