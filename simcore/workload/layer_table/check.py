"""What a table of layers must satisfy."""

from __future__ import annotations

from collections.abc import Iterator

from simcore.design.design import Design
from simcore.document.problem import Problem
from simcore.schedule import SCHEDULES
from simcore.workload.layer_table.document import LayerWorkload
from simcore.workload.layer_table.program import rows_of
from simcore.workload.rules import batch_problems, precision_problems, unused_problems
from simcore.workload.servers import server_problems
from simcore.workload.sharding import sharding_problems
from simcore.workload.staleness import unflushed_problems


def table_problems(design: Design) -> Iterator[Problem]:
    """Every problem of a design that trains a table of layers."""
    workload, p = LayerWorkload.of(design.workload), design.parallelism
    yield from batch_problems(design)
    yield from sharding_problems(design)
    yield from unused_problems(
        design,
        (
            "context",
            "expert",
            "expert_tensor",
            "expert_overlap",
            "interleave",
            "recompute",
            "sequence_parallel",
            "attention_split",
        ),
    )
    yield from precision_problems(design)
    rows = rows_of(workload.layers)
    if p.pipeline > len(rows):
        expected = f"at most {len(rows)} stages, one a row"
        yield Problem(("parallelism", "pipeline"), expected, str(p.pipeline), rule="stages have layers")
    if SCHEDULES[p.schedule].splits:
        yield Problem(("parallelism", "schedule"), "1f1b or gpipe for a table of layers", p.schedule)
    yield from unflushed_problems(design)
    yield from server_problems(design)
    if design.data and 0 < design.microbatches < (least := SCHEDULES[p.schedule].least(p.pipeline)):
        expected = f"at least {least} microbatches for schedule {p.schedule} on {p.pipeline} stages"
        yield Problem(("parallelism", "schedule"), expected, str(design.microbatches), rule="fewest microbatches")
    for number, row in enumerate(rows, 1):
        if row.product is not None and row.product[2] % p.tensor:
            what = f"row {number} of the table" + (f" ('{row.layer.name}')" if row.layer.name else "")
            columns = "filters of a group" if row.layer.kind == "conv" else "n"
            expected = f"a degree that divides the {row.product[2]} {columns} of {what}"
            yield Problem(("parallelism", "tensor"), expected, str(p.tensor), rule="tensor divides the layers")
            break
