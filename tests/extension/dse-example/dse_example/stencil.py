"""A kind of workload: sweeps over a grid that is spread over all NPUs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from simcore.design.design import Design
from simcore.design.workload import Workload
from simcore.document.field import Count, Precision
from simcore.document.problem import Problem
from simcore.program import Compute, ModelPart, Program, Segment, blocking_collective
from simcore.workload.base import Totals, WorkloadKind
from simcore.workload.rules import precision_problems


class StencilWorkload(Workload):
    """Sweeps over a grid that is spread over all NPUs, each followed by the sum of what has changed."""

    grid: Count
    """Points of the grid."""
    sweeps: Count
    precision: Precision = "fp32"

    @property
    def global_batch(self) -> int:
        """The grid is there once."""
        return 1

    @property
    def flops(self) -> float:
        """Of one sweep over the whole grid: seven neighbours, each multiplied and added."""
        return 14.0 * self.grid


class Stencil(WorkloadKind):
    """See `StencilWorkload`."""

    section = StencilWorkload
    keys = frozenset({"grid", "sweeps"})
    trained = False

    def problems(self, design: Design) -> Iterator[Problem]:
        yield from precision_problems(design)
        grid = StencilWorkload.of(design.workload).grid
        if grid % design.cluster.npus:
            yield Problem(("workload", "grid"), f"a multiple of the {design.cluster.npus} NPUs", str(grid))

    def program(self, design: Design) -> Program:
        workload, npus = StencilWorkload.of(design.workload), design.cluster.npus
        points = workload.grid / npus
        sweep = Compute("sweep", "gemm", workload.flops / npus, 8.0 * points)
        segment = Segment("sweep", (sweep, *blocking_collective("all_reduce", "data", 4.0)), workload.sweeps)
        return Program(
            parts=(ModelPart((segment,), (), (), points, 0.0, 4.0 * points),),
            part_of=(0,),
            stages=1,
            chunks=1,
            microbatches=1,
            schedule="forward",
            send_bytes=0.0,
            final=((),),
            model_flops=workload.sweeps * workload.flops,
            tokens=workload.sweeps,
            counts="sweeps",
            trained=False,
        )

    def totals(self, workload: Any) -> Totals:
        return Totals(workload.sweeps * workload.flops, workload.sweeps, float(workload.grid))


KIND = Stencil()
