"""A run as a Chrome trace: open the file at ui.perfetto.dev or chrome://tracing.

One process a pipeline stage, or, of the flow engine, a class of NPUs. Its thread *blocks* shows every forward and
backward block of the iteration; *operators* shows what happens inside the first block of each kind and inside
everything that overlaps with gradient reduction (equal blocks repeat, so they are not shown again), and with the flow
engine inside all of them. That also has a thread for each dimension of the network, which shows the flows that it
serves: whose they are, and at which share of the rate that they have alone. A single collective is one span;
of an explicit graph each node is one, on a rank of each class.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from simcore.design.design import Design
from simcore.engine.fast import pipeline
from simcore.engine.fast.iteration import Trace
from simcore.engine.flow.spans import FlowLog
from simcore.engine.graph.run import play_graph
from simcore.engine.graph.tables import BEGAN, ENDED
from simcore.graph import Action, Graph
from simcore.memory.plan import program_of
from simcore.program import Category
from simcore.result import Result
from simcore.schedule.base import block_name

_PICOSECONDS_PER_MICROSECOND = 1e6
Event = dict[str, Any]


def write_trace(design: Design, result: Result, log: Trace | FlowLog | None, path: Path) -> int:
    """Write the trace of a design; `log` comes from `simcore.simulate.simulate_traced`, or `log_flows`.

    How many spans the log had no room for: they are not in the trace.
    """
    other = {"npus": result.npus, "iteration_time_s": result.iteration_time_s, "design": design.document()}
    lost = 0
    graph = program_of(design).graph if design.jobs is None else None
    if graph is not None:
        events = _node_events(design, graph)
    elif isinstance(log, FlowLog):
        events, lost = _flow_events(log), log.lost
        other["spans_without_room"] = lost
    elif log is None:
        events = [_span("collective", 0, "blocks", 0.0, result.iteration_time_s * 1e6)]
    else:
        events = _events(log)
    text = json.dumps({"traceEvents": events, "displayTimeUnit": "ms", "otherData": other})
    path.write_text(text, encoding="utf-8")
    return lost


def _node_events(design: Design, graph: Graph) -> list[Event]:
    """The nodes of an explicit graph, of one NPU of each class."""
    _, states = play_graph(design, graph)
    events = []
    for number, npu in enumerate(graph.classes):
        events.append(_process_name(number, f"rank {npu}"))
        table, first = graph.ranks[npu].table, graph.firsts[number]
        for place, name in enumerate(table.names):
            begin, end = states[first + place, BEGAN], states[first + place, ENDED]
            if end > begin:
                thread = _THREADS.get(Action(table.actions[place]), "network")
                start = float(begin) / _PICOSECONDS_PER_MICROSECOND
                events.append(_span(name, number, thread, start, float(end - begin) / _PICOSECONDS_PER_MICROSECOND))
    return events


_THREADS = {Action.COMPUTE: "NPU", Action.HOST: "host", Action.MEMORY: "memory"}


def _flow_events(log: FlowLog) -> list[Event]:
    names = [_process_name(number, f"{track.name} ({track.npus} NPUs)") for number, track in enumerate(log.tracks)]
    events = []
    for track, thread, name, begin, end, pace in log.spans:
        start, duration = begin / _PICOSECONDS_PER_MICROSECOND, (end - begin) / _PICOSECONDS_PER_MICROSECOND
        its = {} if pace is None else {"args": {"pace": pace}}
        events.append(_span(name, track, thread, start, duration) | its)
    return names + events


def _events(log: Trace) -> list[Event]:
    events: list[Event] = []
    stages: set[int] = set()
    for level, stage, what, begin, end in log.rows.tolist():
        stages.add(stage)
        name = block_name(what) if level == pipeline.BLOCK_LEVEL else _operator_name(log, what)
        thread = "blocks" if level == pipeline.BLOCK_LEVEL else "operators"
        start, duration = begin / _PICOSECONDS_PER_MICROSECOND, (end - begin) / _PICOSECONDS_PER_MICROSECOND
        events.append(_span(name, stage, thread, start, duration))
    return [_process_name(stage, f"stage {stage}") for stage in sorted(stages)] + events


def _process_name(process: int, name: str) -> Event:
    return {"name": "process_name", "ph": "M", "pid": process, "args": {"name": name}}


def _span(name: str, process: int, thread: str, start: float, duration: float) -> Event:
    return {"name": name, "ph": "X", "pid": process, "tid": thread, "ts": start, "dur": duration}


def _operator_name(log: Trace, index: int) -> str:
    code, _, category = log.operators[index]
    if code == pipeline.COMPUTE:
        return log.names.get(index, "compute")
    return f"wait for {Category(category).name.lower()} communication"
