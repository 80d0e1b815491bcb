"""Serving a pruned network: a kind of workload.

Before each layer workers exchange what the neurons of each need of the others: an exchange of all with all, by the
busiest link. A worker computes the products of its neurons with every input that one of them needs; the zeros in
between are computed too, as kernels for dense matrices do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from simcore.design.design import Design
from simcore.design.dimension import block_of
from simcore.document.field import BYTES
from simcore.document.problem import Path, Problem
from simcore.program import Compute, ModelPart, Operator, Program, Segment, blocking_collective
from simcore.result import Crossing
from simcore.workload.base import Totals, WorkloadKind
from simcore.workload.pruned.document import Connection, PrunedWorkload
from simcore.workload.pruned.partition import Layer, connections_of, crossing, given_layers, layers_of
from simcore.workload.rules import batch_problems, precision_problems, unused_problems

_UNUSED = (
    *("pipeline", "context", "expert", "expert_tensor", "expert_overlap", "zero", "accumulate", "gather"),
    *("shard_group", "schedule", "interleave", "recompute", "sequence_parallel", "tensor_overlap", "gradients"),
    "attention_split",
)


class PrunedServing(WorkloadKind):
    """See the module."""

    section = PrunedWorkload
    exact = True
    keys = frozenset({"widths"})
    trained = False
    rows = {"connections": Connection}  # noqa: RUF012

    def problems(self, design: Design) -> Iterator[Problem]:
        """See `WorkloadKind.problems`."""
        yield from batch_problems(design)
        yield from unused_problems(design, _UNUSED)
        yield from precision_problems(design)
        workload, tensor = PrunedWorkload.of(design.workload), design.parallelism.tensor
        for width in workload.widths:
            if width % tensor:
                path: Path = ("parallelism", "tensor")
                expected = f"a degree that divides the neurons of every layer ({width})"
                yield Problem(path, expected, str(tensor), rule="tensor divides the layers")
                break

    def program(self, design: Design) -> Program:
        """See `WorkloadKind.program`."""
        workload, batch = PrunedWorkload.of(design.workload), design.microbatch
        layers, width = layers_of(workload, design.parallelism.tensor), BYTES[workload.precision]
        segments = tuple(
            Segment(f"layer-{number}", _operators(layer, design, batch * width, batch, width))
            for number, layer in enumerate(layers, 1)
        )
        held = float(sum(layer.neurons * layer.inputs for layer in layers))
        working = batch * width * max(layer.neurons + 2 * layer.inputs for layer in layers)
        return Program(
            parts=(ModelPart(segments, (), (), held, 0.0, working),),
            part_of=(0,),
            stages=1,
            chunks=1,
            microbatches=design.microbatches,
            schedule="forward",
            send_bytes=0.0,
            final=((),),
            model_flops=_flops(workload),
            tokens=workload.global_batch,
            counts="samples",
            trained=False,
        )

    def totals(self, workload: Any) -> Totals:
        """See `WorkloadKind.totals`: no design computes less than the connections, or holds fewer."""
        return Totals(_flops(workload), workload.global_batch, float(connections_of(workload)))


def _flops(workload: PrunedWorkload) -> float:
    return 2.0 * workload.global_batch * connections_of(workload)


def _operators(layer: Layer, design: Design, number: float, batch: int, width: float) -> tuple[Operator, ...]:
    """The exchange before a layer, where anything crosses, and its products; `number` is one number of a batch [B]."""
    workers = design.parallelism.tensor
    m, n, k = batch, layer.neurons, layer.inputs
    moved = (n * k + m * (n + k)) * width
    product = Compute("layer", "gemm", 2.0 * m * n * k, moved, shape=(1.0, m, n, k))
    if not layer.busiest:
        return (product,)
    # An exchange of S sends S / workers to each other one: at a port all of them count, on links of pairs the largest.
    switched = all(block_of(dimension).switched for dimension in design.cluster.dimensions)
    each = layer.busiest / (workers - 1) if switched else float(layer.largest)
    return (*blocking_collective("all_to_all", "tensor", each * workers * number), product)


def crossing_of(design: Design) -> Crossing | None:
    """What passes between the workers of a design's pruned network; None of other workloads."""
    workload = design.workload
    if not isinstance(workload, PrunedWorkload):
        return None
    workers, each = design.parallelism.tensor, workload.global_batch // design.data * BYTES[workload.precision]
    found = (given_layers(workload, workers), layers_of(workload, workers))
    given, assigned = (float(crossing(layers) * each) for layers in found)
    return Crossing(given, assigned)


KIND = PrunedServing()
