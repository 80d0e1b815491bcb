"""The layers of one NPU, each kind made once; designs that differ in what lies between layers share them."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import NamedTuple

from simcore.design.layer_range import Degrees
from simcore.design.parallelism import Parallelism
from simcore.design.software import Software
from simcore.program import Operator, Start
from simcore.workload.data_parallel import Amount
from simcore.workload.transformer import activations
from simcore.workload.transformer.document import TransformerWorkload
from simcore.workload.transformer.ends import embedding_backward, embedding_forward, head_backward, head_forward
from simcore.workload.transformer.further_tokens import further_parameters, further_passes
from simcore.workload.transformer.layer import LayerKind, layer_parameters, layer_passes, paired_passes
from simcore.workload.transformer.layers import Piece, Shapes

BATCH_ASIDE = {
    "global_batch": 1,
    "training_tokens": None,
    "training_batch": None,
    "critical_batch": None,
    "training_precision": None,
}
"""What says how often a microbatch goes through the stages: nothing in them depends on it."""

_LAYERS_ASIDE = {
    "pipeline": 1,
    "data": None,
    "zero": 0,
    "accumulate": None,
    "gather": None,
    "shard_group": None,
    "schedule": "1f1b",
    "interleave": 1,
    "first_stage_layers": None,
    "last_stage_layers": None,
    "stages": None,
    "layers": None,
    "recompute": "none",
    "recompute_layers": None,
    "data_overlap": True,
    "bucket": 25e6,
}
"""What says which layers an NPU has and how copies of them agree: nothing inside a layer depends on it."""


class Layer(NamedTuple):
    """A layer of one kind."""

    forward: tuple[Operator, ...]
    backward: tuple[Operator, ...]
    parameters: Amount
    paired: tuple[tuple[Operator, ...], tuple[Operator, ...]] | None = None
    """Forward and backward beside another microbatch, where that changes them (`expert_overlap`)."""

    def beside(self) -> Layer:
        """The layer beside another microbatch."""
        return self if self.paired is None else self._replace(forward=self.paired[0], backward=self.paired[1])


class Layers:
    """The layers of one NPU, each kind made once, and what comes before and after them."""

    def __init__(self, shapes: Shapes, section: Degrees | None = None) -> None:
        """`section`: degrees of a design of which these layers have others, and so groups of their own."""
        self._shapes, self._section = shapes, section
        self._known: dict[LayerKind, Layer] = {}
        self._further: dict[LayerKind, Layer] = {}
        self._kept: dict[LayerKind, float] = {}

    def __getitem__(self, kind: LayerKind) -> Layer:
        found = self._known.get(kind)
        if found is None:
            shapes = self._shapes
            passes, parameters = layer_passes(shapes, kind), layer_parameters(shapes, kind)
            p = shapes.parallelism
            pairs = p.expert_overlap and kind.experts and p.expert > 1
            beside = paired_passes(shapes, kind) if pairs else None
            forward, backward = map(self.in_groups, passes)
            found = self._known[kind] = Layer(forward, backward, Amount(*parameters), beside)
        return found

    def in_groups(self, operators: tuple[Operator, ...]) -> tuple[Operator, ...]:
        """The operators with the names of the groups that these layers have."""
        section, own = self._section, self._shapes.parallelism.degrees
        if section is None:
            return operators
        return tuple(
            op._replace(group=own.name_group(op.group, section)) if isinstance(op, Start) else op for op in operators
        )

    @cached_property
    def embedding(self) -> Piece:
        """What the first stage does before its layers."""
        return Piece(embedding_forward(self._shapes), embedding_backward(self._shapes))

    @cached_property
    def head(self) -> Piece:
        """What the last stage does after its layers."""
        forward = head_forward(self._shapes)
        return Piece(forward, head_backward(self._shapes, forward))

    def further(self, kind: LayerKind) -> Layer:
        """What the last stage does for each further token that is predicted, by a layer of a kind."""
        found = self._further.get(kind)
        if found is None:
            passes, parameters = further_passes(self._shapes, kind), further_parameters(self._shapes, kind)
            found = self._further[kind] = Layer(*passes, Amount(*parameters))
        return found

    def kept(self, kind: LayerKind) -> float:
        """Bytes that a layer keeps for its backward pass."""
        if kind not in self._kept:
            self._kept[kind] = activations.layer_activations(self._shapes, kind)
        return self._kept[kind]


def layers_of(shapes: Shapes, section: Degrees | None = None) -> Layers:
    """The layers of an NPU; designs that differ in what lies between layers share them (`section`: see `Layers`)."""
    workload, inside = shapes.workload.model_copy(update=BATCH_ASIDE), shapes.parallelism
    return _layers(workload, inside.model_copy(update=_LAYERS_ASIDE), shapes.software, shapes.traced, section)


@lru_cache(maxsize=512)
def _layers(
    workload: TransformerWorkload, inside: Parallelism, software: Software, traced: bool, section: Degrees | None
) -> Layers:
    return Layers(Shapes(workload, inside, software, traced), section)
