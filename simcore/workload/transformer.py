"""A transformer's training iteration as a Program: layers over pipeline stages, gradients in buckets, ZeRO.

Layers are spread evenly over the virtual stages (the first ones take one more where they do not divide). The first
virtual stage has the embedding, the last one the head. ZeRO (Rajbhandari et al. 2020): from stage 1 gradients are
reduce-scattered and the updated parameters gathered; stage 3 gathers each layer's parameters in every forward and
backward, one layer ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from simcore.design import Design, TransformerWorkload
from simcore.once import once
from simcore.program import (
    Category,
    Compute,
    Operator,
    Part,
    Program,
    Segment,
    Start,
    Wait,
    Waits,
)
from simcore.spec import BYTES
from simcore.workload import layers
from simcore.workload.layers import Shapes

MASTER_BYTES = 12
"""fp32 master copy, momentum and variance of a parameter (Adam)."""


@dataclass(frozen=True)
class _Unit:
    """A run of `repeat` equal pieces of a part, each with `parameters` per NPU."""

    name: str
    operators: tuple[Operator, ...]
    parameters: float
    repeat: int = 1


def part_layers(total: int, virtual_stages: int) -> list[int]:
    """Layers of each virtual stage."""
    base, more = divmod(total, virtual_stages)
    return [base + (stage < more) for stage in range(virtual_stages)]


@once
def transformer_program(design: Design) -> Program:
    """The Program of a design whose workload is a transformer."""
    workload, p = design.workload, design.parallelism
    assert isinstance(workload, TransformerWorkload)
    shapes = Shapes(workload, p)
    virtual = p.pipeline * p.interleave
    counts = part_layers(workload.model.layers, virtual)
    kinds = [(count, k == 0, k == virtual - 1) for k, count in enumerate(counts)]
    unique = list(dict.fromkeys(kinds))
    builder = _Builder(design, shapes)
    parts = tuple(builder.part(*kind) for kind in unique)
    part_of = tuple(unique.index(kind) for kind in kinds)
    held = [sum(parts[part_of[k]].parameters for k in range(s, virtual, p.pipeline)) for s in range(p.pipeline)]
    finals = {parameters: builder.final(parameters) for parameters in set(held)}
    return Program(
        parts=parts,
        part_of=part_of,
        stages=p.pipeline,
        chunks=p.interleave,
        microbatches=design.microbatches,
        schedule=p.schedule,
        send_bytes=shapes.hidden_bytes / shapes.shared,
        final=tuple(finals[parameters] for parameters in held),
        model_flops=3 * forward_flops(workload),
        tokens=workload.global_batch * workload.sequence,
    )


def forward_flops(workload: TransformerWorkload) -> float:
    """FLOPs of one forward pass of the global batch, over all NPUs.

    Per layer and token 2 x matrices + 4 s h, that is 24 h^2 + 4 s h for the GPT layer; 2 h V per token for the head.
    """
    model, s = workload.model, workload.sequence
    h, f, kv = model.hidden, model.ffn, model.kv_width
    matrices = 2 * h * h + 2 * h * kv + (3 if model.gated else 2) * h * f
    return workload.global_batch * s * (model.layers * (2.0 * matrices + 4.0 * s * h) + 2.0 * h * model.vocabulary)


@dataclass(frozen=True)
class _Builder:
    design: Design
    shapes: Shapes

    @cached_property
    def _layer(self) -> tuple[tuple[Operator, ...], tuple[Operator, ...]]:
        """Forward and backward of a layer, one object for all parts."""
        return layers.layer_forward(self.shapes), layers.layer_backward(self.shapes)

    def part(self, count: int, first: bool, last: bool) -> Part:
        """The part with `count` layers, the embedding if `first`, the head if `last`."""
        shapes = self.shapes
        layer = layers.layer_parameters(shapes)
        head = layers.head_parameters(shapes, shares_embedding=first)
        embedding = layers.embedding_parameters(shapes)
        forward = [_Unit("layer", self._layer[0], layer, count)] if count else []
        backward = [_Unit("layer", self._layer[1], layer, count)] if count else []
        if first:
            forward.insert(0, _Unit("embedding", layers.embedding_forward(shapes), embedding))
            backward.append(_Unit("embedding", layers.embedding_backward(shapes), embedding))
        if last:
            forward.append(_Unit("head", layers.head_forward(shapes), head))
            backward.insert(0, _Unit("head", layers.head_backward(shapes), head))
        reducing = self._reducing(backward)
        return Part(
            forward=self._gathering(forward),
            backward=self._gathering(backward),
            last_backward=self._gathering(reducing),
            parameters=count * layer + first * embedding + last * head,
            activations=count * layers.layer_activations(shapes) + self._edges(last),
            working=self._working(last),
        )

    def _edges(self, last: bool) -> float:
        """Bytes kept at the edge of a part: the logits in fp32 and the final norm's input on the last one."""
        if not last:
            return 0.0
        logits = 4.0 * self.shapes.tokens * self.shapes.vocabulary / self.shapes.parallelism.tensor
        return logits + self.shapes.hidden_bytes / self.shapes.shared

    def _working(self, last: bool) -> float:
        """Bytes in use for a while: one layer's activations where they are recomputed, gradients of the logits."""
        shapes, p = self.shapes, self.shapes.parallelism
        unsaved = Shapes(shapes.workload, p.model_copy(update={"recompute": "none"}))
        layer = layers.layer_activations(unsaved) if p.recompute == "full" else 0.0
        if p.recompute == "selective":
            layer = layers.layer_activations(unsaved) - layers.layer_activations(shapes)
        gathered = 2 * shapes.width * layers.layer_parameters(shapes) if p.zero == 3 else 0.0
        logits = 4.0 * shapes.tokens * shapes.vocabulary / p.tensor if last else 0.0
        return max(layer, logits) + gathered + 2 * shapes.hidden_bytes

    def _gradient_bytes(self, parameters: float) -> float:
        workload = self.design.workload
        assert isinstance(workload, TransformerWorkload)
        return parameters * BYTES[workload.gradient_precision]

    def _reduce(self, parameters: float) -> Start:
        kind = "reduce_scatter" if self.design.parallelism.zero else "all_reduce"
        return Start(kind, "data", self._gradient_bytes(parameters), Waits.GRADIENTS)

    def _reducing(self, units: Sequence[_Unit]) -> list[_Unit]:
        """The last microbatch's backward: once a bucket is full, the next unit starts with its reduction.

        That a reduction stands at the start of the following unit, and not at the end of its own, changes nothing in
        time, and lets a run of equal layers meet an idle network again where the reduction is faster than the layer.
        """
        if self.design.data == 1:
            return list(units)
        least = self.design.parallelism.bucket
        pieces: list[tuple[int, float]] = []
        waiting = 0.0
        for index, unit in enumerate(units):
            for _ in range(unit.repeat):
                full = waiting if self._gradient_bytes(waiting) >= least else 0.0
                pieces.append((index, full))
                waiting += unit.parameters - full
        out = []
        for (index, full), run in groupby(pieces):
            starting = (self._reduce(full),) if full else ()
            unit = units[index]
            out.append(_Unit(unit.name, starting + unit.operators, unit.parameters, len(list(run))))
        return [*out, _Unit("gradients", (self._reduce(waiting),), 0.0)]

    def _gathering(self, units: Sequence[_Unit]) -> tuple[Segment, ...]:
        """Segments of the units; ZeRO-3 gathers each piece's parameters while the piece before it runs."""
        if self.design.parallelism.zero < 3 or self.design.data == 1:
            return tuple(Segment(unit.name, unit.operators, unit.repeat) for unit in units if unit.operators)
        pieces = [unit for unit in units if unit.parameters]
        segments = [Segment("gather", (self._gather(pieces[0].parameters),))] if pieces else []
        arrived = Wait(Waits.PREFETCH, Category.DATA)
        for i, unit in enumerate(units):
            following = next((later.parameters for later in units[i + 1 :] if later.parameters), 0.0)
            if not unit.parameters:
                segments.append(Segment(unit.name, unit.operators, unit.repeat))
                continue
            if unit.repeat > 1:
                ahead = (arrived, self._gather(unit.parameters), *unit.operators)
                segments.append(Segment(unit.name, ahead, unit.repeat - 1))
            ending = (self._gather(following),) if following else ()
            segments.append(Segment(unit.name, (arrived, *ending, *unit.operators)))
        return tuple(segments)

    def _gather(self, parameters: float) -> Start:
        shard = parameters * self.shapes.width / self.design.data
        return Start("all_gather", "data", shard, Waits.PREFETCH)

    def final(self, parameters: float) -> tuple[Segment, ...]:
        """Wait for the gradients, step the optimizer, gather the parameters that ZeRO-1 and 2 updated in shards."""
        workload, zero = self.design.workload, self.design.parallelism.zero
        assert isinstance(workload, TransformerWorkload)
        own = parameters / (self.design.data if zero else 1)
        traffic = own * (BYTES[workload.gradient_precision] + 2 * MASTER_BYTES + self.shapes.width)
        operators: list[Operator] = [Wait(Waits.GRADIENTS, Category.DATA)]
        operators.append(Compute("optimizer", "memory", 0.0, traffic, Category.OPTIMIZER))
        if zero in (1, 2) and self.design.data > 1:
            operators.append(Start("all_gather", "data", own * self.shapes.width, Waits.NOW))
            operators.append(Wait(Waits.NOW, Category.DATA))
        return (Segment("optimizer", tuple(operators)),)
