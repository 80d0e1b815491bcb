"""Where the nodes of a row of NPUs are drawn: switches in levels above the NPUs, or NPUs on a circle.

NPUs that are under the same switches and of the same stage are one node where there are many.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from simcore.engine.link_use import FREE, LinkUse, RowUse

_SINGLE = 16
"""NPUs of a row that are drawn one by one where there are switches."""
_CIRCLE = 256
"""NPUs without switches that can be drawn."""
_LEVELS = ("leaf", "spine", "core")


@dataclass(frozen=True, slots=True)
class Node:
    """A switch, or NPUs of one stage."""

    x: float
    y: float
    npus: int
    """0: a switch."""
    stage: int
    """-1 of a switch, and of NPUs of no job."""
    name: str
    job: int
    """Number of the job; -1 of a switch, and of NPUs of no job."""


@dataclass(frozen=True, slots=True)
class Line:
    """The links between two nodes."""

    ends: tuple[int, int]
    """Nodes by number."""
    utilization: float
    """Utilization of the busiest of them, in either direction."""
    jobs: Mapping[int, float]
    """Job -> its share of that."""


@dataclass(frozen=True, slots=True)
class Fabric:
    """A row to be drawn; no nodes where there are too many."""

    nodes: tuple[Node, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Names:
    """What the nodes of a row are called."""

    row: RowUse
    levels: Mapping[int, int]
    """The level of each switch, 1 at the NPUs."""

    @classmethod
    def of(cls, row: RowUse) -> Names:
        """The names of a row's nodes."""
        return cls(row, _levels(row))

    def name(self, node: int) -> str:
        """`NPU 3`, `leaf 1`, or `switch` where there is one."""
        if node < len(self.row.stages):
            return f"NPU {node}"
        level = self.levels[node]
        alike = sorted(one for one, its in self.levels.items() if its == level)
        if len(self.levels) == 1:
            return "switch"
        kind = _LEVELS[level - 1] if level <= len(_LEVELS) else "switch"
        return f"{kind} {alike.index(node)}"


def used_links(row: RowUse) -> tuple[LinkUse, ...]:
    """The links of a row; without those between switches where all NPUs are under one, and nothing passes them."""
    size = len(row.stages)
    between = [link for link in row.links if min(link.ends[0]) >= size or max(link.ends[0]) < size]
    if any(link.utilization > 0 for link in between) or len(_under(row)) > 1:
        return row.links
    return tuple(link for link in row.links if link.utilization > 0 or min(link.ends[0]) < size)


def _under(row: RowUse) -> set[int]:
    """The switches that NPUs are at."""
    size = len(row.stages)
    return {max(ends) for link in row.links for ends in link.ends if min(ends) < size <= max(ends)}


def _levels(row: RowUse) -> dict[int, int]:
    """How many links each switch is from the nearest NPU."""
    size = len(row.stages)
    beside: dict[int, set[int]] = defaultdict(set)
    for link in used_links(row):
        for a, b in link.ends:
            beside[a].add(b)
            beside[b].add(a)
    levels: dict[int, int] = {}
    edge = [node for node in beside if node < size]
    level = 0
    while edge:
        level += 1
        edge = sorted({other for node in edge for other in beside[node] if other >= size and other not in levels})
        levels |= dict.fromkeys(edge, level)
    return levels


def lay_out(row: RowUse) -> Fabric:
    """The nodes and lines of a row."""
    names = Names.of(row)
    if not names.levels:
        return _on_circle(row, names)
    groups = _group_npus(row, names)
    nodes: list[Node] = []
    number: dict[int, int] = {}
    for place, npus in enumerate(groups):
        stage, job = row.stages[npus[0]], row.jobs[npus[0]]
        said = names.name(npus[0]) if len(npus) == 1 else f"{len(npus)} ×"
        number |= dict.fromkeys(npus, len(nodes))
        nodes.append(Node((place + 0.5) / len(groups), 0.0, len(npus), stage, said, job))
    highest = max(names.levels.values())
    for level in range(1, highest + 1):
        alike = sorted(node for node, its in names.levels.items() if its == level)
        for place, node in enumerate(alike):
            number[node] = len(nodes)
            nodes.append(Node((place + 0.5) / len(alike), level / highest, 0, FREE, names.name(node), FREE))
    return Fabric(tuple(nodes), tuple(_lines(row, number)))


def _group_npus(row: RowUse, names: Names) -> list[list[int]]:
    """NPUs that are one node each."""
    size = len(row.stages)
    if size <= _SINGLE:
        return [[npu] for npu in range(size)]
    above: dict[int, set[int]] = defaultdict(set)
    for link in used_links(row):
        for ends in link.ends:
            if min(ends) < size and max(ends) in names.levels:
                above[min(ends)].add(max(ends))
    found: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for npu, (stage, job) in enumerate(zip(row.stages, row.jobs, strict=True)):
        found[tuple(sorted(above[npu])), job, stage].append(npu)
    return list(found.values())


def _on_circle(row: RowUse, names: Names) -> Fabric:
    size = len(row.stages)
    if size > _CIRCLE:
        return Fabric((), ())
    turns = [2 * math.pi * (npu / size + 0.25) for npu in range(size)]
    nodes = tuple(
        Node(0.5 - math.cos(turn) / 2, 0.5 + math.sin(turn) / 2, 1, stage, names.name(npu), job)
        for npu, (turn, stage, job) in enumerate(zip(turns, row.stages, row.jobs, strict=True))
    )
    return Fabric(nodes, tuple(_lines(row, {npu: npu for npu in range(size)})))


def _lines(row: RowUse, number: Mapping[int, int]) -> Iterator[Line]:
    most: dict[tuple[int, int], LinkUse] = {}
    for link in used_links(row):
        for a, b in link.ends:
            if a in number and b in number:
                ends = min(number[a], number[b]), max(number[a], number[b])
                if ends not in most or link.utilization > most[ends].utilization:
                    most[ends] = link
    yield from (Line(ends, link.utilization, by_job(link)) for ends, link in most.items())


def by_job(link: LinkUse) -> dict[int, float]:
    """Job -> the share of the time for which a link carries its messages, the largest first."""
    found: dict[int, float] = {}
    for one in link.by:
        found[one.job] = found.get(one.job, 0.0) + one.share
    return dict(sorted(found.items(), key=lambda item: -item[1]))


class Alike(NamedTuple):
    """Links of one kind and load, in one direction or in both."""

    first: LinkUse
    links: int
    both_ways: bool


def distinct_links(row: RowUse) -> Sequence[Alike]:
    """Links that differ in kind or load, the busiest first."""
    names = Names.of(row)
    found: dict[tuple[object, ...], list[LinkUse]] = defaultdict(list)
    for link in used_links(row):
        kinds = sorted(names.levels.get(end, 0) for end in link.ends[0])
        found[*kinds, tuple((one.job, one.stage, one.group, round(one.share, 4)) for one in link.by)].append(link)
    alike = [
        Alike(
            its[0], sum(len(link.ends) for link in its), its[0].ends[0][::-1] in {e for link in its for e in link.ends}
        )
        for its in found.values()
    ]
    return sorted(alike, key=lambda one: -one.first.utilization)
