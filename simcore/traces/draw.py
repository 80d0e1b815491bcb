"""Traces drawn by other programs: the graph as GraphML, the times as a Chrome trace (ui.perfetto.dev).

Sources: GraphML's primer (graphml.graphdrawing.org), the Trace Event Format of Chrome.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from simcore.astra.files.chakra import TraceNode
from simcore.traces.base import COMMUNICATION, Trace, TraceSet, group_of, integer_of, kind_of
from simcore.traces.graph import graph_of, schedule_of

_KEYS = {"rank": "int", "name": "string", "kind": "string", "duration_us": "long", "bytes": "long", "group": "string"}


def write_graphml(traces: TraceSet, path: Path) -> None:
    """Write the dependencies of all ranks as one graph, whose nodes are named `<rank>.<node>`."""
    with path.open("w", encoding="utf-8") as file:
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n')
        file.write('<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
        for name, kind in _KEYS.items():
            file.write(f'<key id="{name}" for="node" attr.name="{name}" attr.type="{kind}"/>\n')
        file.write('<graph id="traces" edgedefault="directed">\n')
        for rank, trace in enumerate(traces.ranks):
            file.writelines(_graphml_nodes(rank, trace))
        file.write("</graph>\n</graphml>\n")


def _graphml_nodes(rank: int, trace: Trace) -> Iterator[str]:
    for node in trace:
        values = {
            "rank": rank,
            "name": _printable(node.name),
            "kind": kind_of(node),
            "duration_us": node.duration_us,
            "bytes": integer_of(node, "comm_size"),
            "group": group_of(node) if node.type in COMMUNICATION else "",
        }
        data = "".join(f'<data key="{key}">{quoteattr(str(value))[1:-1]}</data>' for key, value in values.items())
        yield f'<node id="{rank}.{node.id}">{data}</node>\n'
    for node in trace:
        for before in sorted({*node.data_deps, *node.ctrl_deps}):
            yield f'<edge source="{rank}.{before}" target="{rank}.{node.id}"/>\n'


def _printable(name: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in name)[:200]


def write_perfetto(traces: TraceSet, path: Path, where: str) -> None:
    """Write when each node ran: as recorded, or, where no times were, as early as dependencies allow.

    One process a rank; a thread for computation, each host thread and stream, and each group's communication. Raises
    `InputError` where dependencies are incomplete or a circle.
    """
    events: list[dict[str, Any]] = []
    for rank, trace in enumerate(traces.ranks):
        events.append({"name": "process_name", "ph": "M", "pid": rank, "args": {"name": f"rank {rank}"}})
        if any(node.start_time_us for node in trace):
            starts = tuple(node.start_time_us for node in trace)
        else:
            starts = schedule_of(trace, graph_of(trace, f"{where}, rank {rank}")).starts
        events += (_span(rank, node, start) for node, start in zip(trace, starts, strict=True))
    path.write_text(json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}), encoding="utf-8")


def _span(rank: int, node: TraceNode, start: int) -> dict[str, Any]:
    more = {"kind": kind_of(node), "id": node.id, "bytes": integer_of(node, "comm_size")}
    span = {"name": _printable(node.name), "ph": "X", "pid": rank, "tid": _row(node), "ts": start}
    return {**span, "dur": node.duration_us, "args": more}


def _row(node: TraceNode) -> str:
    if node.type in COMMUNICATION:
        group = group_of(node)
        return "communication" if group == "all" else f"communication, {group}"
    for attribute, word in (("stream", "stream"), ("tid", "thread")):
        if node.get(attribute) is not None:
            return f"{word} {integer_of(node, attribute)}"
    return kind_of(node)
