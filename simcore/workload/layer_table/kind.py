"""Training a table of layers: a kind of workload."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from simcore.design.design import Design
from simcore.document.problem import Problem
from simcore.program import Program
from simcore.workload.base import READ, Totals, WorkloadKind
from simcore.workload.layer_table.check import table_problems
from simcore.workload.layer_table.document import Layer, LayerWorkload
from simcore.workload.layer_table.program import rows_of, table_flops, table_program


class TableTraining(WorkloadKind):
    """Training of a table of layers."""

    section = LayerWorkload
    exact = True
    keys = frozenset({"layers"})
    catalogue = "networks"
    feeding = READ
    rows = {"layers": Layer}  # noqa: RUF012
    jobs_by = "programs"

    def describes(self, model: Mapping[str, Any]) -> bool:
        """See `WorkloadForm.describes`."""
        return isinstance(model.get("layers"), list | tuple)

    def problems(self, design: Design) -> Iterator[Problem]:
        """See `WorkloadKind.problems`."""
        return table_problems(design)

    def program(self, design: Design) -> Program:
        """See `WorkloadKind.program`."""
        return table_program(design)

    def totals(self, workload: Any) -> Totals:
        """See `WorkloadKind.totals`."""
        rows = rows_of(workload.layers)
        flops = table_flops(workload.global_batch, rows)
        return Totals(flops, workload.global_batch, sum(row.parameters for row in rows))


KIND = TableTraining()
