"""A transformer's training iteration as a Program: layers over pipeline stages, embedding and head at the ends.

The first virtual stage has the embedding, the last one the head. What data parallelism adds is in
`simcore.workload.data_parallel`, what is kept in `simcore.workload.transformer.activations`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from typing import NamedTuple

from simcore.design.design import Design
from simcore.design.layer_range import Degrees
from simcore.design.parallelism import Parallelism
from simcore.design.software import Software
from simcore.program import ModelPart, Program, Segment
from simcore.schedule import SCHEDULES
from simcore.workload.data_parallel import NONE, Amount, DataParallel, Unit, streaming_of
from simcore.workload.transformer import activations, layers
from simcore.workload.transformer.counts import forward_flops
from simcore.workload.transformer.document import TransformerWorkload
from simcore.workload.transformer.ends import embedding_parameters, exchanges_of_ends, head_parameters
from simcore.workload.transformer.further_tokens import (
    further_kept,
    further_kind,
)
from simcore.workload.transformer.known_layers import BATCH_ASIDE, Layer, Layers
from simcore.workload.transformer.layer import LayerKind
from simcore.workload.transformer.layers import Shapes
from simcore.workload.transformer.stages import Runs, stage_runs
from simcore.workload.transformer.ways import Way, resharded, ways_of

NO_PASSES: tuple[tuple[Segment, ...], tuple[Segment, ...]] = (), ()
"""Forward and backward that are as others."""
WORKSPACE = 32 * 2**20
"""Workspace of matrix products [B], on NPUs since H100: one of the framework's library handle, one of Transformer
Engine's, and four more where experts' products run side by side on streams of their own."""


@dataclass(frozen=True)
class Alike:
    """Designs are alike in their stages where these are equal: many of a search differ in their network alone."""

    workload: TransformerWorkload
    """Without its batch."""
    parallelism: Parallelism
    data: int
    software: Software
    traced: bool
    streamed: tuple[bool, bool]
    """See `streaming_of`."""
    design: Design = field(compare=False)


class PartKind(NamedTuple):
    """Parts are alike where these are."""

    runs: Runs
    first: bool
    """Whether it has the embedding."""
    last: bool
    """Whether it has the head."""
    received_here: bool
    """Whether the virtual stage before it is on the same stage."""
    passed_here: bool
    """Whether the one after it is."""
    ends_meet: bool
    """Whether the first and the last virtual stage are on the same stage."""
    before: Degrees | None = None
    """Degrees of the layer before it, where they are not the section's."""


class _Stages(NamedTuple):
    """What a Program says whatever the number of its microbatches; see `Program`."""

    parts: tuple[ModelPart, ...]
    part_of: tuple[int, ...]
    final: tuple[tuple[Segment, ...], ...]
    send_bytes: float


def transformer_program(design: Design) -> Program:
    """The Program of a design whose workload is a transformer."""
    workload, p = TransformerWorkload.of(design.workload), design.parallelism
    stages = _stages(alike_of(design))
    return Program(
        parts=stages.parts,
        part_of=stages.part_of,
        stages=p.pipeline,
        chunks=p.interleave,
        microbatches=design.microbatches,
        schedule=p.schedule,
        send_bytes=stages.send_bytes,
        final=stages.final,
        model_flops=3 * forward_flops(workload, p.flash_attention),
        tokens=workload.global_batch * workload.sequence,
    )


def alike_of(design: Design) -> Alike:
    """What the stages of a design depend on."""
    workload = TransformerWorkload.of(design.workload).model_copy(update=BATCH_ASIDE)
    software, streamed = design.running_software, streaming_of(design)
    return Alike(workload, design.parallelism, design.data, software, _traced(design), streamed, design)


def _traced(design: Design) -> bool:
    """Whether the NPU runs the kernels of a stack; compilers of its own, as of a TPU, fuse them in their way."""
    return not design.cluster.npu.fuses and not design.cluster.npu.is_ideal


def shapes_of(design: Design) -> Shapes:
    """The sizes of a design whose workload is a transformer."""
    workload = TransformerWorkload.of(design.workload)
    return Shapes(workload, design.parallelism, design.running_software, _traced(design))


@lru_cache(maxsize=512)
def _stages(alike: Alike) -> _Stages:
    workload, p = alike.workload, alike.parallelism
    design = alike.design.model_copy(update={"workload": workload})
    runs = stage_runs(workload.model, p, workload.sequence)
    kinds = [kind for _, kind in sorted(place_parts(p, runs))]
    unique = list(dict.fromkeys(kinds))
    builder = PartBuilder(design, shapes_of(design))
    parts = tuple(builder.part(kind) for kind in unique)
    part_of = tuple(unique.index(kind) for kind in kinds)
    held = cache(lambda chunks: _held([parts[part] for part in chunks]))
    final = cache(builder.data.final)
    apart = not any(kind.ends_meet for kind in kinds)
    ends = exchanges_of_ends(design, builder.shapes, builder.data) if apart else {}
    finals = tuple(final(held(part_of[stage :: p.pipeline]), ends.get(stage, ())) for stage in range(p.pipeline))
    return _Stages(parts, part_of, finals, builder.shapes.hidden_bytes / p.tensor)


def place_parts(p: Parallelism, runs: Sequence[Runs]) -> list[tuple[int, PartKind]]:
    """The place (chunk x stages + stage) and the part of each virtual stage, which has these layers."""
    path = SCHEDULES[p.schedule].path(p.pipeline, p.interleave)
    stages = [None, *(path % p.pipeline).tolist(), None]  # before and after each virtual stage
    placed, degrees = [], None
    for place, own, before, stage, after in zip(path.tolist(), runs, stages, stages[1:], stages[2:], strict=False):
        ends = before is None, after is None, before == stage, after == stage, stages[-2] == 0
        placed.append((place, PartKind(own, *ends, degrees)))
        degrees = own[-1][0].degrees if own else degrees
    return placed


def _held(parts: Iterable[ModelPart]) -> Amount:
    """The parameters of a stage by the groups that reduce them."""
    return Amount.sum_of(
        Amount(
            part.parameters - part.expert_parameters - sum(parameters for parameters, _ in part.apart),
            part.expert_parameters,
            tuple(parameters for parameters, _ in part.apart),
        )
        for part in parts
    )


@dataclass(frozen=True)
class PartBuilder:
    """Makes the parts of a design, whose workload has no batch."""

    design: Design
    shapes: Shapes

    @cached_property
    def data(self) -> DataParallel:
        """What data parallelism adds."""
        return DataParallel(self.design)

    @cached_property
    def ways(self) -> Mapping[Degrees | None, Way]:
        """Its layers by their degrees."""
        return ways_of(self.design, self.shapes)

    @property
    def layers(self) -> Layers:
        """Layers with the section's degrees, and what comes before and after all layers."""
        return self.ways[None].layers

    def _layer(self, kind: LayerKind) -> Layer:
        return self.ways[kind.degrees].layers[kind]

    def held(self, kind: LayerKind) -> Amount:
        """The parameters of a layer."""
        return self.data.amount_in(kind.degrees, self._layer(kind).parameters)

    def part(self, kind: PartKind) -> ModelPart:
        """The part with the layers of its runs, the embedding if it is the first, the head if the last."""
        runs, first, last = kind.runs, kind.first, kind.last
        forward, backward = self.units(kind, beside=True)
        held = Amount.sum_of(unit.parameters.times(unit.repeat) for unit in forward)
        usual, first_one = self.data.forward(forward)
        passes = self._backward(backward)
        last_one, alone = passes[1], NO_PASSES
        if any(self._layer(layer).paired for layer, _ in runs):  # no microbatch runs beside these
            forward_alone, backward_alone = self.units(kind, beside=False)
            ahead, back = self.data.forward(forward_alone), self._backward(backward_alone)
            first_one, last_one, alone = ahead[1] or ahead[0], back[1], (ahead[0], back[0])
        return ModelPart(
            forward=usual,
            first_forward=first_one,
            backward=passes[0],
            last_backward=last_one,
            weights=passes[2],
            last_weights=passes[3],
            alone_forward=alone[0],
            alone_backward=alone[1],
            parameters=held.total,
            activations=self.kept(runs) + self.ends(last),
            most_kept=max([self.ends(last), *(self.ways[layer.degrees].layers.kept(layer) for layer, _ in runs)]),
            working=self.working({kind for kind, _ in runs}, self.kept(runs), first, last),
            expert_parameters=held.experts,
            apart=self.data.shards_apart(held),
        )

    def units(self, kind: PartKind, beside: bool) -> tuple[list[Unit], list[Unit]]:
        """The pieces of a part, forward and backward; `beside` another microbatch, or alone."""
        shapes, first, last = self.shapes, kind.first, kind.last
        arrives, leaves = self._ends_of(kind)
        head = Amount(head_parameters(shapes, shares_embedding=kind.ends_meet))
        embedding = Amount(embedding_parameters(shapes))
        forward: list[Unit] = []
        backward: list[Unit] = []
        now = arrives
        for like, count in kind.runs:
            way = self.ways[like.degrees]
            self._reshard(now, way, forward, backward)
            layer = self._layer(like).beside() if beside else self._layer(like)
            parameters = self.held(like)
            forward.append(Unit("layer", layer.forward, parameters, count))
            backward.insert(0, Unit("layer", layer.backward, parameters, count))
            now = way
        if last:
            self._reshard(now, self.ways[None], forward, backward)
        if first:
            forward.insert(0, Unit("embedding", self.layers.embedding.forward, embedding))
            backward.append(Unit("embedding", self.layers.embedding.backward, embedding))
        if last:
            forward.append(Unit("head", self.layers.head.forward, head))
            backward.insert(0, Unit("head", self.layers.head.backward, head))
        if last and (count := shapes.model.multi_token_prediction):
            further = self.layers.further(further_kind(shapes))
            forward.append(Unit("further-token", further.forward, further.parameters, count))
            backward.insert(0, Unit("further-token", further.backward, further.parameters, count))
            if not kind.ends_meet:  # the first stage's embedding, which looks the further tokens up
                forward.append(Unit("shared-embedding", (), embedding))
                backward.append(Unit("shared-embedding", (), embedding))
        if not (first or kind.received_here):
            forward = [*_received(arrives), *forward]
        if not (last or kind.passed_here):
            backward = [*_received(leaves), *backward]
        return forward, backward

    def _ends_of(self, kind: PartKind) -> tuple[Way, Way]:
        """The layers as which activations arrive at a part, and gradients.

        A stage sends each NPU's share, which with sequence parallelism is all that it has, as the last layer had it;
        else the tensor groups of the next layer gather the shares, whatever groups there were before.
        """
        first, last = (kind.runs[0][0].degrees, kind.runs[-1][0].degrees) if kind.runs else (None, None)
        sent = not (kind.first or kind.received_here or self.design.parallelism.sequence_parallel)
        return self.ways[first if sent else kind.before], self.ways[last]

    def _reshard(self, before: Way, after: Way, forward: list[Unit], backward: list[Unit]) -> None:
        """Add what takes activations from some layers to the next ones, and gradients back."""
        piece = resharded(before.shapes, after.shapes)
        if piece.forward:
            forward.append(Unit("reshard", piece.forward, NONE))
        if piece.backward:
            backward.insert(0, Unit("reshard", piece.backward, NONE))

    def _backward(self, units: list[Unit]) -> tuple[tuple[Segment, ...], ...]:
        """The backward passes of a part: usual and last one; where the schedule splits them, weight gradients apart."""
        if not SCHEDULES[self.design.parallelism.schedule].splits:
            return (*self.data.backward(units), (), ())
        halves = [layers.split_backward(unit.operators) for unit in units]
        inputs = [unit._replace(operators=half[0]) for unit, half in zip(units, halves, strict=True)]
        weights = [unit._replace(operators=half[1]) for unit, half in zip(units, halves, strict=True)]
        passed, _ = self.data.backward(inputs, reduces=False)
        return (passed, passed, *self.data.reducing_weights(weights))

    def kept(self, runs: Runs) -> float:
        """Bytes that layers keep of a microbatch."""
        return sum(count * self.ways[kind.degrees].layers.kept(kind) for kind, count in runs)

    def _edges(self, last: bool) -> float:
        """Bytes kept at the edge of a part: the logits and the final norm's input and output on the last one.

        A fused loss overwrites the 16-bit logits with their gradient; else it keeps a copy of them in fp32.
        """
        if not last:
            return 0.0
        shapes, p = self.shapes, self.shapes.parallelism
        logits = shapes.tokens * shapes.vocabulary / p.tensor
        logits *= shapes.width if p.cross_entropy_fusion else activations.FP32
        return logits + 2 * shapes.hidden_bytes / shapes.shared

    def ends(self, last: bool) -> float:
        """Bytes kept behind the layers of a part: at its edge, and of what predicts further tokens, an edge each."""
        edge, further = self._edges(last), self.shapes.model.multi_token_prediction
        return edge + further * (edge + further_kept(self.shapes)) if last and further else edge

    def working(self, kinds: Iterable[LayerKind], kept: float, first: bool, last: bool) -> float:
        """Bytes in use for a while, at the moment when most are, beyond what all microbatches in flight keep.

        Of a part with these kinds of layers, which keep so much for one microbatch.

        The backward pass frees what it has used: the layers come when the head's share is gone, the embedding when
        that of the layers is gone as well.
        """
        kinds, moving, matrix = set(kinds), self.data.moving, self.matrix
        layer = max((self._layer(kind).parameters.total for kind in kinds), default=0.0)
        further = self.shapes.model.multi_token_prediction if last else 0
        if further:
            layer = max(layer, self.layers.further(further_kind(self.shapes)).parameters.total)
        whole = moving.bytes_of(layer, layer, max(layer, matrix) if last else layer)
        moments = [self.layer_moment(kind) - self.ends(last) + whole for kind in kinds]
        if last:
            moments.append(self.head_moment() + moving.bytes_of(matrix, layer, 0.0))
        if further:
            moments.append(self.further_moment() + whole)
        if first:
            own = embedding_parameters(self.shapes)
            moments.append(self.embedding_moment - kept - self.ends(last) + moving.bytes_of(own, 0.0, layer))
        return max(moments, default=0.0) + self.placeholders(kinds, last) + self.standing(kinds)

    @property
    def matrix(self) -> float:
        """Parameters of the output matrix, also of one that is the embedding."""
        return self.shapes.vocabulary * self.shapes.model.hidden / self.shapes.parallelism.tensor

    def layer_moment(self, kind: LayerKind) -> float:
        """Gradients inside a layer, and what is recomputed of it."""
        plain, (shapes, known) = kind._replace(recompute="none"), self.ways[kind.degrees]
        return activations.layer_transient(shapes, kind) + known.kept(plain) - known.kept(kind)

    def head_moment(self) -> float:
        """Tokens gathered for the output matrix and their gradient, what a loss holds of the logits, its weights'.

        The loss has a 16-bit gradient of the logits, and copies of them in fp32 beyond the first.
        """
        shapes, p = self.shapes, self.shapes.parallelism
        gathered = shapes.hidden_bytes * (2 if shapes.shared > 1 else 1)
        share = shapes.tokens * shapes.vocabulary / p.tensor
        further = activations.FP32 * (shapes.software.loss_copies - 1)
        logits = 0.0 if p.cross_entropy_fusion else share * (shapes.width + further)
        return gathered + logits + self._table(self.matrix)

    def further_moment(self) -> float:
        """Gradients inside a layer that predicts a further token, the layers' and the first token's still kept."""
        return self.layer_moment(further_kind(self.shapes)) - self._edges(last=True)

    @property
    def embedding_moment(self) -> float:
        """The embedding's gradient, when all that its part keeps is gone [B]."""
        return self._table(embedding_parameters(self.shapes))

    def _table(self, parameters: float) -> float:
        """The 16-bit gradient of an embedding or output matrix, before it is added to the fp32 one."""
        return parameters * self.shapes.width if self._fp32_gradients else 0.0

    @property
    def _fp32_gradients(self) -> bool:
        return self.shapes.workload.gradient_precision == "fp32" and self.shapes.operand < activations.FP32

    def placeholders(self, kinds: set[LayerKind], last: bool) -> float:
        """One 16-bit gradient of each shape of weight, which the framework is given while the fp32 one accumulates.

        Transformer Engine, which adds weight gradients to Megatron's fp32 ones inside the matrix product, keeps them.
        """
        if not self._fp32_gradients:
            return 0.0
        found = set[tuple[float, float]]()
        if last and self.shapes.model.multi_token_prediction:
            kinds = {*kinds, further_kind(self.shapes)}
            found.add((self.shapes.model.hidden / self.shapes.parallelism.tensor, 2 * self.shapes.model.hidden))
        found = found.union(*(activations.weight_shapes(self.ways[kind.degrees].shapes, kind) for kind in kinds))
        return sum(rows * columns for rows, columns in found) * self.shapes.width

    def standing(self, kinds: Iterable[LayerKind]) -> float:
        """Hidden states received from and sent to the neighbouring stages, and workspaces of matrix products [B]."""
        sizes = [self.shapes, *(self.ways[kind.degrees].shapes for kind in kinds)]
        hidden = max(shapes.hidden_bytes / shapes.shared for shapes in sizes)
        sent = 2 * hidden if self.design.parallelism.pipeline > 1 else 0.0
        return sent + WORKSPACE * (6 if self.shapes.model.mixture_of_experts else 2)


def _received(way: Way) -> list[Unit]:
    """The gather of what another stage has sent, where that is not all that an NPU needs."""
    operators = way.layers.in_groups(layers.received(way.shapes))
    return [Unit("received", operators, NONE)] if operators else []
