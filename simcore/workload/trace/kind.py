"""Traces: a kind of workload."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from simcore.design.design import Design
from simcore.document.problem import Problem
from simcore.graph import Action
from simcore.network import Slice
from simcore.program import Program
from simcore.workload.base import WorkloadKind
from simcore.workload.trace.check import trace_problems
from simcore.workload.trace.document import TraceWorkload
from simcore.workload.trace.files import list_groups, list_ranks
from simcore.workload.trace.plan import plan_of
from simcore.workload.trace.program import trace_program


class TracePlay(WorkloadKind):
    """What NPUs were recorded, or generated, to do."""

    section = TraceWorkload
    keys = frozenset({"trace"})
    files = {"trace": list_ranks, "comm_groups": list_groups}  # noqa: RUF012
    trained = False
    spread = "all"
    explicit = True
    holds = False

    def problems(self, design: Design) -> Iterator[Problem]:
        """See `WorkloadKind.problems`."""
        return trace_problems(design)

    def program(self, design: Design) -> Program:
        """See `WorkloadKind.program`."""
        return trace_program(design)

    def degrees(self, design: Design) -> Mapping[str, int]:
        """See `WorkloadKind.degrees`."""
        return {"all": design.cluster.npus}

    def placement(self, design: Design) -> dict[str, tuple[tuple[int, Slice], ...]]:
        """See `WorkloadKind.placement`."""
        return dict(plan_of(design).slices)

    def unmodelled(self, design: Design) -> tuple[str, ...]:
        """See `WorkloadKind.unmodelled`."""
        trace = TraceWorkload.of(design.workload).content()
        host = any((table.actions == Action.HOST).any() for table in trace.tables)
        memory = "memory: not known from a trace, so that nothing says whether it fits"
        return (memory, "host times: as recorded, on whichever host") if host else (memory,)

    def reductions(self, design: Design) -> tuple[tuple[str, int], ...]:
        """See `WorkloadKind.reductions`."""
        return (("chunks", 8), ("chunks", 1))


KIND = TracePlay()
