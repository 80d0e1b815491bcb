"""What a design of a trace must satisfy."""

from __future__ import annotations

from collections.abc import Iterator

from simcore.design.design import Design
from simcore.document.problem import Problem
from simcore.graph import Action
from simcore.workload.rules import UNUSED, precision_problems
from simcore.workload.trace.document import TraceWorkload
from simcore.workload.trace.plan import plan_of

RECORDED_TIMES = "recorded times"
"""Rule of a trace whose times are those of another NPU."""


def trace_problems(design: Design) -> Iterator[Problem]:
    """Every problem of a design that plays a trace."""
    workload = TraceWorkload.of(design.workload)
    yield from precision_problems(design)
    for name in sorted(design.parallelism.model_fields_set):
        expected = "nothing of parallelism: a trace says who does what"
        found = str(getattr(design.parallelism, name))
        yield Problem(("parallelism", name), expected, found, "leave it out", rule=UNUSED)
    npu = design.cluster.npu.name
    if workload.recorded_on is not None and workload.recorded_on != npu:
        expected = f"{workload.recorded_on}, on which the times of the trace were recorded"
        fix = "they hold on no other; leave out recorded_on where the trace has num_ops and tensor_size"
        yield Problem(("cluster", "npu"), expected, npu or "another", fix, rule=RECORDED_TIMES)
    plan = plan_of(design)
    yield from plan.problems
    memory = design.cluster.memory
    if plan.graph and (memory is None or memory.expanded is None):
        moved = any((table.actions == Action.MEMORY).any() for table in workload.content().tables)
        if moved:
            fix = "give cluster.memory.expanded its bandwidth"
            yield Problem(("cluster", "memory"), "expanded memory, which the trace loads and stores", "none", fix)
