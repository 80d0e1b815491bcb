"""A table of layers as a Program: convolutions as matrix products, rows over pipeline stages, columns over NPUs.

A convolution is the product [b H' W', k_h k_w C / g] x [k_h k_w C / g, F] that im2col makes of it (Chetlur et al. 2014,
arXiv 1410.0759), moving its input, its kernel and its output once. Backward costs two such products. Tensor parallelism
splits the columns of every product (output features, filters; Krizhevsky 2014, arXiv 1404.5997): the outputs are
gathered forward, the gradients of the inputs reduced backward, and what is no product is done by every NPU. Pipeline
stages are the runs of consecutive rows whose largest share of FLOPs is least.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from simcore.design.design import Design
from simcore.design.once import once
from simcore.design.parallelism import Parallelism
from simcore.design.same import Same
from simcore.document.field import BYTES
from simcore.program import Compute, ModelPart, Operator, Program, Segment, blocking_collective
from simcore.workload.data_parallel import streaming_of
from simcore.workload.layer_table.document import Layer, LayerTable, LayerWorkload
from simcore.workload.training import ModelUnit, Trainer
from simcore.workload.transformer.layers import backwards


@dataclass(frozen=True)
class Row:
    """A layer of a table by what follows from its shape; all numbers per sample."""

    layer: Layer
    product: tuple[int, int, int, int] | None
    """(batch, m, n, k) of its matrix product; `m` grows with the batch."""
    moved: float
    """Numbers read and written (of a convolution: its tensors, not im2col's copies), without the second matrix."""
    constant: float
    """Numbers of the second matrix, read once whatever the batch."""
    moved_bytes: float
    """Bytes read and written whatever the precision."""
    parameters: float
    kept: float
    input: float
    output: float

    @property
    def flops(self) -> float:
        """FLOPs forward of one sample, over all applications."""
        if self.product is None:
            return 0.0
        batch, m, n, k = self.product
        return 2.0 * batch * m * n * k * self.layer.times


@once
def rows_of(table: LayerTable) -> tuple[Row, ...]:
    """The rows of a table, each with what the row before hands to it."""
    out: list[Row] = []
    before = 0.0
    known: dict[tuple[int, float], Row] = {}
    for layer in table.rows():
        key = (id(layer), before)
        if key not in known:
            known[key] = _row(layer, before)
        out.append(known[key])
        before = known[key].output
    return tuple(out)


def _or(given: float | None, otherwise: float) -> float:
    return otherwise if given is None else given


def _row(layer: Layer, before: float) -> Row:
    if layer.kind == "memory":
        elements, size = _or(layer.elements, 0.0), _or(layer.bytes, 0.0)
        output = _or(layer.output, before)
        kept = _or(layer.activations, 0.0)
        return Row(layer, None, elements, 0.0, size, _or(layer.parameters, 0.0), kept, before, output)
    if layer.kind == "gemm":
        assert layer.m is not None
        assert layer.n is not None
        assert layer.k is not None
        batch = layer.batch or 1
        product = (batch, layer.m, layer.n, layer.k)
        taken, given, weights = batch * layer.m * layer.k, batch * layer.m * layer.n, batch * layer.n * layer.k
        bias = layer.n if layer.bias else 0
    else:
        assert layer.height is not None
        assert layer.width is not None
        assert layer.channels is not None
        assert layer.filters is not None
        groups, out = layer.groups or 1, layer.output_height * layer.output_width
        window = layer.kernel_height * layer.kernel_width
        product = (groups, out, layer.filters // groups, window * layer.channels // groups)
        taken = layer.height * layer.width * layer.channels
        given, weights = out * layer.filters, window * layer.channels // groups * layer.filters
        bias = layer.filters if layer.bias else 0
    kept = _or(layer.activations, float(taken * layer.times))
    parameters = _or(layer.parameters, float(weights + bias))
    return Row(
        layer,
        product,
        float(taken + given),
        float(weights),
        0.0,
        parameters,
        kept,
        float(taken),
        _or(layer.output, float(given * layer.times)),
    )


def stage_rows(rows: Sequence[Row], stages: int) -> list[list[Row]]:
    """The rows of each stage: consecutive ones, at least one each, the largest share of FLOPs as small as can be."""
    sums = [0.0, *accumulate(row.flops for row in rows)]
    n = len(rows)
    best = [sums[i] for i in range(n + 1)]
    cuts: list[list[int]] = []
    for stage in range(1, stages):
        cut, nearest = [0] * (n + 1), [float("inf")] * (n + 1)
        for end in range(stage + 1, n + 1):
            low, high = stage, end - 1  # largest of (before the cut, after it): the first rises, the second falls
            while low < high:
                middle = (low + high) // 2
                if best[middle] >= sums[end] - sums[middle]:
                    high = middle
                else:
                    low = middle + 1
            at = min({max(stage, low - 1), low}, key=lambda i: (max(best[i], sums[end] - sums[i]), i))
            cut[end], nearest[end] = at, max(best[at], sums[end] - sums[at])
        best = nearest
        cuts.append(cut)
    ends = [n]
    for cut in reversed(cuts):
        ends.append(cut[ends[-1]])
    edges = [0, *reversed(ends)]
    return [list(rows[edges[s] : edges[s + 1]]) for s in range(stages)]


@dataclass(frozen=True)
class _Builder:
    """Operators of rows on one NPU."""

    tensor: int
    batch: int
    """Samples of a microbatch."""
    width: float
    """Bytes of one number."""

    def unit(self, row: Row, first: bool) -> ModelUnit:
        """A row; the `first` one of the model hands no gradient on."""
        name = row.layer.name or row.layer.kind
        parameters = row.parameters
        if row.product is None:
            size = self.batch * (row.moved * self.width + row.moved_bytes)
            forward: tuple[Operator, ...] = (Compute(name, "memory", 0.0, size),) if size else ()
            return ModelUnit(name, forward, backwards(forward), parameters, row.layer.times)
        batch, m, n, k = row.product
        share, rows = n / self.tensor, self.batch * m
        given = batch * m * n
        moved = self.batch * (row.moved - given + given / self.tensor) + row.constant / self.tensor
        product = Compute(
            name, "gemm", 2.0 * batch * rows * share * k, moved * self.width, shape=(batch, rows, share, k)
        )
        forward, backward = (product,), backwards((product,))
        if self.tensor > 1:
            forward += blocking_collective("all_gather", "tensor", self.batch * given * self.width / self.tensor)
            taken = () if first else blocking_collective("all_reduce", "tensor", self.batch * row.input * self.width)
            backward += taken
            parameters /= self.tensor
        return ModelUnit(name, forward, backward, parameters, row.layer.times)


@dataclass(frozen=True)
class _Alike:
    """Designs are alike in their stages where these are equal: many of a search differ in their network alone."""

    layers: Same[LayerTable]
    precisions: tuple[str, str]
    parallelism: Parallelism
    data: int
    microbatch: int
    streamed: tuple[bool, bool]
    """See `streaming_of`."""
    design: Design = field(compare=False)


class _Stages(NamedTuple):
    """What a Program says whatever the number of its microbatches; see `Program`."""

    parts: tuple[ModelPart, ...]
    final: tuple[tuple[Segment, ...], ...]
    sends: tuple[float, ...]


def table_program(design: Design) -> Program:
    """The Program of a design that trains a table of layers."""
    workload, p = LayerWorkload.of(design.workload), design.parallelism
    precisions, sizes = (workload.precision, workload.gradient_precision), (design.data, design.microbatch)
    stages = _stages(_Alike(Same(workload.layers), precisions, p, *sizes, streaming_of(design), design))
    return Program(
        parts=stages.parts,
        part_of=tuple(range(p.pipeline)),
        stages=p.pipeline,
        chunks=1,
        microbatches=design.microbatches,
        schedule=p.schedule,
        send_bytes=max(stages.sends),
        final=stages.final,
        model_flops=table_flops(workload.global_batch, rows_of(workload.layers)),
        tokens=workload.global_batch,
        counts="samples",
        sends=stages.sends,
    )


@lru_cache(maxsize=512)
def _stages(alike: _Alike) -> _Stages:
    p, design = alike.parallelism, alike.design
    builder = _Builder(p.tensor, alike.microbatch, BYTES[alike.precisions[0]])
    trainer = Trainer(design)
    rows = rows_of(alike.layers.value)
    parts, finals, sends = [], [], []
    scale = alike.microbatch * builder.width
    for stage, own in enumerate(stage_rows(rows, p.pipeline)):
        units = [builder.unit(row, first=stage == 0 and i == 0) for i, row in enumerate(own)]
        working = scale * max(row.input + row.output for row in own)
        kept, most = scale * sum(row.kept for row in own), scale * max(row.kept for row in own)
        parts.append(trainer.part(units, kept, working, most_kept=most))
        finals.append(trainer.final(parts[-1].parameters))
        sends.append(scale * own[-1].output)
    return _Stages(tuple(parts), tuple(finals), tuple(sends))


def table_flops(samples: int, rows: Sequence[Row]) -> float:
    """FLOPs of an iteration of so many samples, in products."""
    return 3 * samples * sum(row.flops for row in rows)
