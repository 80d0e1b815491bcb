"""A trace as a Program: its graph, and beside it the list of its operators, class by class.

The list is what power, and whoever counts operators, go by; it says nothing of order.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from simcore.design.design import Design
from simcore.document.problem import InputError
from simcore.graph import Action, Graph, Rank
from simcore.program import Category, ModelPart, Program, Segment, Start, Wait, Waits
from simcore.workload.trace.document import TraceWorkload
from simcore.workload.trace.plan import plan_of


def trace_program(design: Design) -> Program:
    """The Program of a checked design. Raises `InputError` where its trace does not go on its cluster."""
    plan = plan_of(design)
    if plan.graph is None:
        raise InputError(list(plan.problems))
    return _program(plan.graph, TraceWorkload.of(design.workload).tokens or 0)


@lru_cache(maxsize=64)
def _program(graph: Graph, tokens: int) -> Program:
    parts = tuple(_listed(graph.ranks[npu]) for npu in graph.classes)
    return Program(
        parts=parts,
        part_of=tuple(range(len(parts))),
        stages=len(parts),
        chunks=1,
        microbatches=1,
        schedule="forward",
        send_bytes=0.0,
        final=((),) * len(parts),
        model_flops=0.0,
        tokens=tokens,
        trained=False,
        graph=graph,
    )


def _listed(rank: Rank) -> ModelPart:
    """What a class does, each operator once with how often."""
    table = rank.table
    segments = []
    for number, times in _counted(rank, Action.COMPUTE):
        compute = table.computes[number]
        segments.append(Segment(compute.name, (compute,), times))
    for number, times in _counted(rank, Action.COLLECTIVE):
        kind, group, size = table.collectives[number]
        start = Start(kind, rank.groups[group], size, Waits.EXCHANGE)
        segments.append(Segment(kind, (start, Wait(Waits.EXCHANGE, Category.UNGROUPED)), times))
    return ModelPart(tuple(segments), (), (), 0.0, 0.0, 0.0)


def _counted(rank: Rank, action: Action) -> list[tuple[int, int]]:
    numbers, times = np.unique(rank.table.operands[rank.table.actions == action], return_counts=True)
    return list(zip(numbers.tolist(), times.tolist(), strict=True))
