"""A single collective as a Program: one operator, which all NPUs wait for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from simcore.design.algorithm import CollectiveKind
from simcore.design.design import Design
from simcore.document.problem import Problem
from simcore.program import ModelPart, Program, Segment, blocking_collective
from simcore.workload.base import NPUS, WorkloadKind
from simcore.workload.collective.check import collective_problems
from simcore.workload.collective.document import CollectiveWorkload


class SingleCollective(WorkloadKind):
    """A collective over all NPUs, or over each of several groups."""

    section = CollectiveWorkload
    keys = frozenset({"collective"})
    trained = False
    spread = "all"
    jobs_by = "network"
    exact = True

    def problems(self, design: Design) -> Iterator[Problem]:
        """See `WorkloadKind.problems`."""
        return collective_problems(design)

    def program(self, design: Design) -> Program:
        """See `WorkloadKind.program`."""
        workload = CollectiveWorkload.of(design.workload)
        return _program(workload.collective, workload.size)

    def degrees(self, design: Design) -> Mapping[str, int]:
        """See `WorkloadKind.degrees`."""
        return {"all": design.cluster.npus}

    def groups(self, workload: Any) -> tuple[int, ...] | None:
        """See `WorkloadKind.groups`."""
        return CollectiveWorkload.of(workload).groups

    def reductions(self, design: Design) -> tuple[tuple[str, int], ...]:
        """See `WorkloadKind.reductions`."""
        return (("chunks", 8), (NPUS, 4), ("chunks", 1), (NPUS, 2))


@lru_cache(maxsize=512)
def _program(kind: CollectiveKind, size: float) -> Program:
    segment = Segment("collective", blocking_collective(kind, "all", size))
    return Program(
        parts=(ModelPart((segment,), (), (), 0.0, 0.0, 0.0),),
        part_of=(0,),
        stages=1,
        chunks=1,
        microbatches=1,
        schedule="forward",
        send_bytes=0.0,
        final=((),),
        model_flops=0.0,
        tokens=0,
        trained=False,
    )


KIND = SingleCollective()
