"""A run as a Chrome trace: open the file at ui.perfetto.dev or chrome://tracing.

One process a pipeline stage. Its thread *blocks* shows every forward and backward block of the iteration; *operators*
shows what happens inside the first block of each kind and inside everything that overlaps with gradient reduction
(equal blocks repeat, so they are not shown again). A single collective is one span; of an explicit graph each node is
one, on a rank of each class.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from simcore.design.design import Design
from simcore.engine.fast import pipeline
from simcore.engine.fast.iteration import Trace
from simcore.engine.graph.run import play_graph
from simcore.engine.graph.tables import BEGAN, ENDED
from simcore.graph import Action, Graph
from simcore.memory.plan import program_of
from simcore.program import Category
from simcore.result import Result
from simcore.schedule.base import CHUNK_SHIFT, WEIGHTS

_PICOSECONDS_PER_MICROSECOND = 1e6


def write_trace(design: Design, result: Result, log: Trace | None, path: Path) -> None:
    """Write the trace of a design; `log` comes from `simcore.simulate.simulate_traced`."""
    graph = program_of(design).graph if design.jobs is None else None
    if graph is not None:
        events = _node_events(design, graph)
    elif log is None:
        events = [_span("collective", 0, "blocks", 0.0, result.iteration_time_s * 1e6)]
    else:
        events = _events(log)
    other = {"npus": result.npus, "iteration_time_s": result.iteration_time_s, "design": design.document()}
    text = json.dumps({"traceEvents": events, "displayTimeUnit": "ms", "otherData": other})
    path.write_text(text, encoding="utf-8")


def _node_events(design: Design, graph: Graph) -> list[dict[str, Any]]:
    """The nodes of an explicit graph, of one NPU of each class."""
    _, states = play_graph(design, graph)
    events = []
    for number, npu in enumerate(graph.classes):
        events.append({"name": "process_name", "ph": "M", "pid": number, "args": {"name": f"rank {npu}"}})
        table, first = graph.ranks[npu].table, graph.firsts[number]
        for place, name in enumerate(table.names):
            begin, end = states[first + place, BEGAN], states[first + place, ENDED]
            if end > begin:
                thread = _THREADS.get(Action(table.actions[place]), "network")
                start = float(begin) / _PICOSECONDS_PER_MICROSECOND
                events.append(_span(name, number, thread, start, float(end - begin) / _PICOSECONDS_PER_MICROSECOND))
    return events


_THREADS = {Action.COMPUTE: "NPU", Action.HOST: "host", Action.MEMORY: "memory"}


def _events(log: Trace) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    stages: set[int] = set()
    for level, stage, what, begin, end in log.rows.tolist():
        stages.add(stage)
        name = _block_name(what) if level == pipeline.BLOCK_LEVEL else _operator_name(log, what)
        thread = "blocks" if level == pipeline.BLOCK_LEVEL else "operators"
        start, duration = begin / _PICOSECONDS_PER_MICROSECOND, (end - begin) / _PICOSECONDS_PER_MICROSECOND
        events.append(_span(name, stage, thread, start, duration))
    names = [
        {"name": "process_name", "ph": "M", "pid": stage, "args": {"name": f"stage {stage}"}}
        for stage in sorted(stages)
    ]
    return names + events


def _span(name: str, stage: int, thread: str, start: float, duration: float) -> dict[str, Any]:
    return {"name": name, "ph": "X", "pid": stage, "tid": thread, "ts": start, "dur": duration}


def _block_name(code: int) -> str:
    direction = "backward" if code & 1 else "forward"
    microbatch, chunk = divmod(code >> 1, 1 << CHUNK_SHIFT)
    if chunk >= WEIGHTS:
        direction, chunk = "weight gradients", chunk - WEIGHTS
    return f"{direction} {microbatch}" + (f" chunk {chunk}" if chunk else "")


def _operator_name(log: Trace, index: int) -> str:
    code, _, category = log.operators[index]
    if code == pipeline.COMPUTE:
        return log.names.get(index, "compute")
    return f"wait for {Category(category).name.lower()} communication"
