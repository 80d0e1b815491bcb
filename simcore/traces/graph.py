"""The dependencies of a trace as a graph: checked, in topological order, with its longest path."""

from __future__ import annotations

from dataclasses import dataclass

from simcore.traces.base import Trace, refuse


@dataclass(frozen=True)
class Graph:
    """Nodes in topological order: `order` holds places in the trace, `before` the places each node follows."""

    order: tuple[int, ...]
    before: tuple[tuple[int, ...], ...]

    @property
    def dependencies(self) -> int:
        """Number of edges."""
        return sum(map(len, self.before))


def graph_of(trace: Trace, where: str) -> Graph:
    """The graph of a trace.

    Raises `InputError` where an id comes twice, a node depends on one that is not there, or nodes wait in a circle.
    """
    places = {node.id: place for place, node in enumerate(trace)}
    if len(places) < len(trace):
        refuse(where, "every node id once", "one id twice")
    before: list[tuple[int, ...]] = []
    after: list[list[int]] = [[] for _ in trace]
    for place, node in enumerate(trace):
        wanted = sorted({*node.data_deps, *node.ctrl_deps})
        lost = next((id for id in wanted if id not in places), None)
        if lost is not None:
            refuse(where, "dependencies on nodes of the trace", f"node {node.id} after node {lost}, which is not there")
        before.append(tuple(places[id] for id in wanted))
        for id in wanted:
            after[places[id]].append(place)
    missing = [len(found) for found in before]
    order = [place for place, count in enumerate(missing) if count == 0]
    for place in order:  # grows
        for child in after[place]:
            missing[child] -= 1
            if missing[child] == 0:
                order.append(child)
    if len(order) < len(trace):
        stuck = [str(trace[place].id) for place, count in enumerate(missing) if count]
        refuse(where, "dependencies without a circle", f"nodes {', '.join(stuck[:8])} that wait for one another")
    return Graph(tuple(order), tuple(before))


@dataclass(frozen=True)
class Schedule:
    """When each node would start and end if nothing but dependencies held it up [µs], and the longest path (places)."""

    starts: tuple[int, ...]
    ends: tuple[int, ...]
    path: tuple[int, ...]

    @property
    def length(self) -> int:
        """Length of the longest path [µs]."""
        return max(self.ends, default=0)


def schedule_of(trace: Trace, graph: Graph) -> Schedule:
    """The earliest schedule of recorded durations, by dynamic programming in topological order."""
    starts, ends = [0] * len(trace), [0] * len(trace)
    latest = [-1] * len(trace)
    for place in graph.order:
        if graph.before[place]:
            latest[place] = max(graph.before[place], key=lambda other: ends[other])
            starts[place] = ends[latest[place]]
        ends[place] = starts[place] + trace[place].duration_us
    place = max(range(len(trace)), key=lambda other: ends[other], default=-1)
    path = []
    while place >= 0:
        path.append(place)
        place = latest[place]
    return Schedule(tuple(starts), tuple(ends), tuple(reversed(path)))
