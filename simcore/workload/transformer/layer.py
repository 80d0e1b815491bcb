"""A transformer layer: its attention half and its feed-forward half, forward and backward, and its parameters."""

from __future__ import annotations

from typing import NamedTuple

from simcore.design.layer_range import Degrees
from simcore.program import Operator
from simcore.workload.transformer.attention import attention_half
from simcore.workload.transformer.counts import copied_parameters, expert_vectors, layer_matrices, layer_vectors
from simcore.workload.transformer.feed_forward import dense_half
from simcore.workload.transformer.layers import Piece, Shapes, backwards_of, forwards_of
from simcore.workload.transformer.moe import experts_half, local_experts
from simcore.workload.transformer.overlap import paired


class LayerKind(NamedTuple):
    """Layers of one kind are alike."""

    experts: bool = False
    """Whether its feed-forward half consists of experts."""
    recompute: str = "none"
    modules: frozenset[str] | None = None
    """What it recomputes where that is selective; what the design says unless given."""
    windowed: bool = False
    """Whether it attends to the model's window instead of the whole sequence."""
    degrees: Degrees | None = None
    """Its own, where they are not the section's."""

    def recomputed_modules(self, shapes: Shapes) -> frozenset[str]:
        """What it recomputes where that is selective."""
        return shapes.parallelism.recomputed_modules if self.modules is None else self.modules


def usual_kind(shapes: Shapes) -> LayerKind:
    """A dense layer, recomputed as the design says."""
    return LayerKind(recompute=shapes.parallelism.recompute)


def layer_pieces(shapes: Shapes, kind: LayerKind) -> tuple[Piece, ...]:
    """The layer, piece by piece."""
    return (*attention_half(shapes, kind.windowed), *(experts_half(shapes) if kind.experts else dense_half(shapes)))


def layer_forward(shapes: Shapes, kind: LayerKind | None = None) -> tuple[Operator, ...]:
    """One transformer layer, forward."""
    kind = kind or usual_kind(shapes)
    return forwards_of(layer_pieces(shapes, kind))


def layer_passes(shapes: Shapes, kind: LayerKind) -> tuple[tuple[Operator, ...], tuple[Operator, ...]]:
    """One layer forward, and backward with what is recomputed first.

    The input gradient of each column-parallel product is reduced (with sequence parallelism: reduce-scattered, after
    the output gradient was gathered).
    """
    pieces = layer_pieces(shapes, kind)
    return forwards_of(pieces), _recomputed(shapes, kind, pieces) + backwards_of(pieces)


def _recomputed(shapes: Shapes, kind: LayerKind, pieces: tuple[Piece, ...]) -> tuple[Operator, ...]:
    """What is done again at the start of the backward pass.

    JAX takes from what it computes again whatever no gradient needs (`dce_jaxpr` in the rule of `jax.checkpoint` for
    partial evaluation), so XLA never sees it: the last product of a layer, whose sum with the residual goes on.
    """
    if kind.recompute not in ("selective", "full"):
        return ()
    if shapes.software.recomputes == "needed":
        pieces = tuple(piece for piece in pieces if not piece.only_summed)
    if kind.recompute == "selective":
        chosen = kind.recomputed_modules(shapes)
        pieces = tuple(piece for piece in pieces if piece.modules & chosen)
    return forwards_of(pieces)


def paired_passes(shapes: Shapes, kind: LayerKind) -> tuple[tuple[Operator, ...], tuple[Operator, ...]]:
    """A layer of experts forward and backward, each beside that of another microbatch (see `paired`)."""
    pieces = layer_pieces(shapes, kind)
    backward = _recomputed(shapes, kind, pieces) + paired(backwards_of(pieces), backward=True)
    return paired(forwards_of(pieces), backward=False), backward


def layer_parameters(shapes: Shapes, kind: LayerKind | None = None) -> tuple[float, float]:
    """Parameters of a layer per NPU: of all that data parallelism copies, and of the NPU's routed experts.

    (12 h^2 + 13 h) / t for an ungated MLP of width 4 h. The tensor group splits neither routers nor what leads down to
    latents: every NPU of it has these whole (Megatron-core). Served, each has its key-value heads whole.
    """
    kind = kind or usual_kind(shapes)
    own, routed = layer_matrices(shapes.model, kind.experts)
    t = shapes.parallelism.tensor
    moe = shapes.model.mixture_of_experts
    routed += expert_vectors(shapes.model) if kind.experts else 0
    mine = routed / moe.experts * local_experts(shapes) if moe and kind.experts else 0.0
    copied = copied_parameters(shapes.model, kind.experts)
    held = copied + (own - copied + layer_vectors(shapes.model, kind.experts)) / t
    if shapes.served and shapes.shares_key_heads:
        held += 2 * shapes.model.hidden * (shapes.kv_width - shapes.model.kv_width / t)
    return held, mine / shapes.expert_tensor
