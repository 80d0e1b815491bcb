"""What an NPU's model of operator times must satisfy: a grid of measurements, products that it can time."""

from __future__ import annotations

from collections.abc import Iterator

from simcore.compute import ProductTable, times_of
from simcore.design.design import Design
from simcore.document.problem import Path, Problem
from simcore.memory.plan import program_of
from simcore.program import Compute, Program

OPERATOR_TIMES = "operator times"
"""Rule of products that the NPU's own model has no time for."""
_MOST_SHOWN = 5
_WHERE: Path = ("cluster", "npu", "compute")


def compute_problems(design: Design) -> list[Problem]:
    """Every problem of a design that is sound otherwise; none where the NPU is a roofline, or idle."""
    model = design.cluster.npu.compute
    if model is None or not design.workload.computes:
        return []
    problems = list(_check_array(design))
    if model.table is not None:
        problems += _check_grid(ProductTable(model.table))
    return problems or list(_check_products(design, program_of(design)))


def _check_array(design: Design) -> Iterator[Problem]:
    npu, workload = design.cluster.npu, design.workload
    assert npu.compute is not None
    array, peak = npu.compute.systolic, npu.rate(workload.precision)
    if array is not None and array.peak > peak * (1 + 1e-9):
        expected = f"at least the {array.peak / 1e12:.6g} TFLOP/s of its arrays (2 x units x clock)"
        yield Problem(("cluster", "npu", "peak", workload.precision), expected, f"{peak / 1e12:.6g} TFLOP/s")


def _check_grid(table: ProductTable) -> Iterator[Problem]:
    path: Path = (*_WHERE, "table")
    if table.has_repeats:
        yield Problem(path, "each shape once", "one that is measured twice")
    if table.missing_shape is not None:
        batch, m, n, k = table.missing_shape
        expected = "every combination of the values of batch, m, n and k"
        yield Problem(path, expected, f"no row for batch {batch}, m {m}, n {n}, k {k}", "measure it, or drop its row")


def _check_products(design: Design, program: Program) -> Iterator[Problem]:
    """Products that have no time."""
    times = times_of(design)
    model = design.cluster.npu.compute
    assert model is not None
    unable: dict[str, None] = {}
    for operator in _operators(program):
        try:
            times.seconds(operator)
        except ValueError as error:
            shape = "" if operator.shape is None else " (batch {:g}, m {:g}, n {:g}, k {:g})".format(*operator.shape)
            unable[f"'{operator.name}'{shape}: {error}"] = None
    for message in list(unable)[:_MOST_SHOWN]:
        fix = "measure more shapes, or say 'beyond: roofline'" if model.table else ""
        yield Problem(_WHERE, "products that it can time", message, fix, rule=OPERATOR_TIMES)
    if len(unable) > _MOST_SHOWN:
        yield Problem(_WHERE, "products that it can time", f"{len(unable) - _MOST_SHOWN} more", rule=OPERATOR_TIMES)


def _operators(program: Program) -> dict[Compute, None]:
    """Every compute operator once."""
    lists = [segments for part in program.parts for segments in part.passes]
    lists += list(program.final)
    found = [op for segments in lists for segment in segments for op in segment.operators]
    return dict.fromkeys(op for op in found if isinstance(op, Compute))
