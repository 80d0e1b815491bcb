"""Layers that predict further tokens (multi-token prediction), on the last stage behind the head.

Each takes the hidden states of what is before it and the embeddings of the tokens one further on, norms both, projects
the two side by side (2 h numbers a token) to h, and is a layer like others with a head of its own loss (DeepSeek-V3,
arXiv 2412.19437, section 2.2; Megatron-core). Embedding and output matrix are the model's: the last stage has a copy of
the embedding where the first one is another.

Over the tensor group the projection is column-parallel, and its output is gathered (Megatron-core's `eh_proj`).
"""

from __future__ import annotations

from simcore.program import Operator
from simcore.workload.transformer.activations import layer_activations
from simcore.workload.transformer.counts import predicts_by_experts, projection_matrix
from simcore.workload.transformer.ends import embedding_backward, embedding_forward, head_backward, head_forward
from simcore.workload.transformer.layer import LayerKind, layer_parameters, layer_passes
from simcore.workload.transformer.layers import Piece, Shapes, backwards_of, computed, forwards_of


def further_kind(shapes: Shapes) -> LayerKind:
    """What the layer is like: with experts if the model has them, recomputed as the design says."""
    return LayerKind(predicts_by_experts(shapes.model), shapes.parallelism.recompute)


def further_passes(shapes: Shapes, kind: LayerKind) -> tuple[tuple[Operator, ...], tuple[Operator, ...]]:
    """One of them, forward and backward."""
    pieces = _projection(shapes)
    forward, backward = layer_passes(shapes, kind)
    embedding, head = embedding_forward(shapes), head_forward(shapes)
    ahead = (*embedding, *forwards_of(pieces), *forward, *head)
    back = (*head_backward(shapes, head), *backward, *backwards_of(pieces), *embedding_backward(shapes))
    return ahead, back


def _projection(shapes: Shapes) -> tuple[Piece, ...]:
    """The norms of hidden states and embeddings, side by side, and their projection."""
    t, h = shapes.parallelism.tensor, shapes.model.hidden
    kept = shapes.tokens * h / shapes.shared
    norms = computed(shapes.moves("norm", 4.0 * kept, 10.0 * kept), shapes.moves("concatenate", 4.0 * kept, 4.0 * kept))
    product = computed(shapes.gemm("further-projection", shapes.tokens, h / t, 2 * h), shapes=shapes)
    return norms, _gathered_pairs(shapes), product, _gathered_columns(shapes)


def _gathered_pairs(shapes: Shapes) -> Piece:
    """The tokens of the tensor group, twice as wide; the partial sums of their gradient are reduced."""
    t, whole = shapes.parallelism.tensor, 2 * shapes.hidden_bytes
    if t == 1:
        return Piece((), ())
    if shapes.shared == 1:
        return Piece((), shapes.blocking("all_reduce", "tensor", whole, t))
    gathered = shapes.blocking("all_gather", "tensor", whole / t, t)
    return Piece(gathered, shapes.blocking("reduce_scatter", "tensor", whole, t))


def _gathered_columns(shapes: Shapes) -> Piece:
    """The projected numbers of each token; of their gradient each NPU takes its own, of all tokens."""
    t = shapes.parallelism.tensor
    if t == 1:
        return Piece((), ())
    gathered = shapes.blocking("all_gather", "tensor", shapes.hidden_bytes / t, t)
    return Piece(gathered, gathered if shapes.shared > 1 else ())


def further_parameters(shapes: Shapes, kind: LayerKind) -> tuple[float, float]:
    """Parameters of one of them per NPU, as `layer_parameters` has them: projection and three norms beside a layer."""
    own, experts = layer_parameters(shapes, kind)
    vectors = 3 * shapes.model.norm_width
    return own + (projection_matrix(shapes.model) + vectors) / shapes.parallelism.tensor, experts


def further_kept(shapes: Shapes) -> float:
    """Bytes that one of them keeps of a microbatch: its layer's, inputs of the norms and of the projection."""
    pair = 2 * shapes.tokens * shapes.model.hidden / shapes.shared
    return layer_activations(shapes, further_kind(shapes)) + pair * (shapes.width + shapes.operand)
