"""One iteration of a design as spans of time: blocks of pipeline stages, service of network dimensions, operators.

Everything comes from a traced run of the fast engine. When a dimension serves is known block by block: what a block
issues is served evenly over it, and what does not fit into it after its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dse.evaluate.spread import spread_indices
from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.design.jobs import lone_job
from simcore.document.problem import InputError, Problem
from simcore.engine.fast import pipeline
from simcore.engine.fast.iteration import Trace
from simcore.engine.fast.use import BlockUse, block_use
from simcore.program import Category
from simcore.schedule.base import read_block
from simcore.simulate import simulate_traced
from simcore.system.chunks import PICOSECONDS

MOST_STAGES = 16
"""Stages that are shown: evenly, with the first and the last one."""
MOST_OPERATORS = 32
"""Operators of a block that are listed: a layer or two."""


@dataclass(frozen=True, slots=True)
class Span:
    """Something that lasts [s]."""

    what: str
    begin: float
    end: float
    share: float = 1.0
    """Share of the span in which the dimension serves; of services alone."""


@dataclass(frozen=True)
class Timeline:
    """An iteration; `stages` are those shown, each with its blocks in order."""

    seconds: float
    stages: Mapping[int, tuple[Span, ...]]
    of: int
    """Stages that there are."""
    stage: int
    """The stage whose network and operators are shown: the one that finishes last."""
    network: Mapping[str, tuple[Span, ...]]
    """Dimension -> when it serves."""
    inside: Mapping[str, tuple[Span, ...]]
    """Kind of block -> what happens at the beginning of the first one on the stage: at most `MOST_OPERATORS`."""
    microbatches: int


def timeline(document: Mapping[str, Any]) -> Timeline:
    """The timeline of a design document.

    Raises `InputError` where the fast engine cannot play it, or where it is a single collective.
    """
    design = lone_job(design_from(document))
    result, log = simulate_traced(design)
    if log is None:
        problem = Problem(("workload",), "a workload with blocks to draw", "one without", "dse simulate --trace")
        raise InputError([problem])
    rows = log.rows.tolist()
    blocks = [row for row in rows if row[0] == pipeline.BLOCK_LEVEL]
    ends: dict[int, int] = {}
    for _, stage, _, _, end in blocks:
        ends[stage] = max(end, ends.get(stage, 0))
    last = max(ends, key=lambda stage: (ends[stage], -stage))
    stages = sorted(ends)
    listed: dict[int, list[Span]] = {stages[index]: [] for index in spread_indices(len(stages), MOST_STAGES)}
    for _, stage, code, begin, end in blocks:
        if stage in listed:
            listed[stage].append(Span(read_block(code).kind, begin / PICOSECONDS, end / PICOSECONDS))
    use = block_use(design, log, last)
    return Timeline(
        seconds=result.iteration_time_s,
        stages={stage: tuple(spans) for stage, spans in listed.items()},
        of=len(ends),
        stage=last,
        network=dict(_network(design, use)),
        inside=dict(_inside(log, rows, use, last)),
        microbatches=1 + max(read_block(code).microbatch for _, _, code, _, _ in blocks),
    )


def _network(design: Design, use: list[BlockUse]) -> Iterator[tuple[str, tuple[Span, ...]]]:
    for index, dimension in enumerate(design.cluster.dimensions):
        name = f"{index}: {dimension.topology}({dimension.size})"
        yield name, tuple(_service([(block.begin, block.end, block.busy[index]) for block in use]))


def _service(blocks: list[tuple[int, int, int]]) -> Iterator[Span]:
    """Spans of service: each block's own time, what is left over in the pauses and blocks that follow."""
    waiting, before = 0, 0
    for begin, end, busy in blocks:
        served = min(waiting, begin - before)
        if served:
            yield Span("", before / PICOSECONDS, (before + served) / PICOSECONDS)
        waiting += busy - served
        served = min(waiting, end - begin)
        if served:
            yield Span("", begin / PICOSECONDS, end / PICOSECONDS, served / (end - begin))
        waiting, before = waiting - served, end
    if waiting:
        yield Span("", before / PICOSECONDS, (before + waiting) / PICOSECONDS)


def _inside(
    log: Trace, rows: list[list[int]], use: list[BlockUse], stage: int
) -> Iterator[tuple[str, tuple[Span, ...]]]:
    """The first operators of the first block of each kind, as far as the log has them."""
    operators = [row for row in rows if row[0] == pipeline.OPERATOR_LEVEL and row[1] == stage]
    firsts: dict[str, BlockUse] = {}
    for block in use:
        firsts.setdefault(read_block(block.code).kind, block)
    for what, block in firsts.items():
        spans = tuple(
            Span(_operator(log, index), begin / PICOSECONDS, end / PICOSECONDS)
            for _, _, index, begin, end in operators
            if block.begin <= begin < block.end
        )
        if spans:
            yield what, spans[:MOST_OPERATORS]


def _operator(log: Trace, index: int) -> str:
    code, _, category = log.operators[index]
    return log.names.get(index, "compute") if code == pipeline.COMPUTE else f"wait: {Category(category).name.lower()}"
