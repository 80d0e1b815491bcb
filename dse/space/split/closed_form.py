"""What LIBRA counts of a design: all compute, and every collective by its bytes on each dimension, one after the other.

Bytes that each NPU sends for a buffer of s on dimensions of n NPUs, innermost first (Won et al. 2024, ISPASS, arXiv
2109.11762, section IV): a reduce-scatter s (n - 1) / n, then s / n goes on; an all-reduce twice that; an all-gather
of a share s from the outermost dimension on, s (n - 1), then s n goes on; an all-to-all s (n - 1) / n on each. A
collective takes the longest of its dimensions' bytes over bandwidth. Latency, chunks, overlap, and what topologies do
to a group that takes a part of a dimension are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.compute import times_of
from simcore.design.design import Design
from simcore.document.problem import InputError, Problem
from simcore.memory.plan import program_of
from simcore.program import Compute, Start
from simcore.system.placement import place

Vector = NDArray[np.float64]
KINDS = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all")


class ClosedForm(NamedTuple):
    """An iteration: `compute` [s], and its collectives."""

    compute: float
    table: Vector
    """Bytes of each collective on each dimension [B], `[collectives, dims]`."""
    often: Vector
    """How often each happens, `[collectives]`."""

    def seconds(self, bandwidth: Vector) -> float:
        """Its time with `bandwidth` [B/s], `[dims]`."""
        return self.compute + float(self.often @ (self.table / bandwidth).max(axis=1, initial=0.0))


def closed_form(design: Design) -> ClosedForm:
    """The iteration of a design as LIBRA counts it.

    Raises `InputError` for a pipeline, which the form does not know, a graph, and collectives of other kinds.
    """
    program, dims = program_of(design), len(design.cluster.dimensions)
    if program.stages * program.chunks > 1 or program.graph is not None:
        found = "a trace" if program.graph is not None else f"{program.stages} stages"
        raise InputError([Problem(("parallelism", "pipeline"), "1, as LIBRA's form has no pipelines", found)])
    placement, times = place(design)[0], times_of(design)
    compute, counted = 0.0, dict[Start, int]()
    for segment, often in program.segments_of(0):
        for operator in segment.operators:
            if isinstance(operator, Compute):
                compute += often * segment.repeat * times.seconds(operator)
            elif isinstance(operator, Start):
                counted[operator] = counted.get(operator, 0) + often * segment.repeat
    rows = [_bytes(start, [(s.dimension, s.part.members) for s in placement[start.group]], dims) for start in counted]
    return ClosedForm(compute, np.array(rows).reshape(-1, dims), np.array([float(n) for n in counted.values()]))


def together(forms: Sequence[ClosedForm]) -> ClosedForm:
    """Several iterations one after the other on the same network."""
    return ClosedForm(
        sum(form.compute for form in forms),
        np.concatenate([form.table for form in forms]),
        np.concatenate([form.often for form in forms]),
    )


def _bytes(start: Start, parts: Iterable[tuple[int, int]], dims: int) -> Vector:
    """Bytes of a collective on each dimension [B], of a group with so many members on some of them."""
    if start.kind not in KINDS:
        raise InputError([Problem(("workload",), f"collectives of kind {', '.join(KINDS)}", start.kind)])
    sent, size, gathers = np.zeros(dims), start.size, start.kind == "all_gather"
    for dimension, members in sorted(parts, reverse=gathers):
        if gathers:
            sent[dimension] = size * (members - 1)
            size *= members
            continue
        sent[dimension] = (2 if start.kind == "all_reduce" else 1) * size * (members - 1) / members
        size /= 1 if start.kind == "all_to_all" else members
    return sent
