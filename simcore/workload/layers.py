"""The operators of a transformer layer, of the embedding and of the head, on one NPU, for one microbatch.

A GEMM [M,K]x[K,N] costs 2MNK FLOPs and moves its three matrices once. Per layer and sequence this sums to
24 s h^2 + 4 s^2 h FLOPs forward for an ungated MLP with full attention heads (Narayanan et al. 2021, appendix), and
twice that backward. Activations kept are those of Korthikanti et al. 2022 (arXiv 2205.05198), equations 2-4.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from simcore.design import Parallelism, TransformerWorkload
from simcore.program import Compute, Operator, blocking
from simcore.spec import BYTES, Transformer

VOCABULARY_MULTIPLE = 128
"""Megatron pads the vocabulary to this many times the tensor-parallel degree."""


@dataclass(frozen=True)
class Shapes:
    """Sizes that the operators share: one NPU's part of one microbatch."""

    workload: TransformerWorkload
    parallelism: Parallelism

    @cached_property
    def model(self) -> Transformer:
        """The model's shape."""
        return self.workload.model

    @cached_property
    def width(self) -> int:
        """Bytes of one activation or weight."""
        return BYTES[self.workload.precision]

    @cached_property
    def tokens(self) -> int:
        """Tokens of a microbatch."""
        return self.parallelism.microbatch * self.workload.sequence

    @cached_property
    def shared(self) -> int:
        """Over how many NPUs norms, residuals and dropouts are split: the tensor group with sequence parallelism."""
        return self.parallelism.tensor if self.parallelism.sequence_parallel else 1

    @cached_property
    def vocabulary(self) -> int:
        """Vocabulary padded so that it divides over the tensor group."""
        multiple = VOCABULARY_MULTIPLE * self.parallelism.tensor
        return -(-self.model.vocabulary // multiple) * multiple

    @cached_property
    def hidden_bytes(self) -> float:
        """Bytes of the hidden states of a microbatch, whole."""
        return float(self.tokens * self.model.hidden * self.width)

    def gemm(self, name: str, m: int, n: float, k: float, batch: float = 1.0) -> Compute:
        """`batch` products [m,k]x[k,n]."""
        return Compute(
            name, "gemm", 2.0 * batch * m * n * k, self.width * batch * (m * k + k * n + m * n), shape=(batch, m, n, k)
        )

    def moves(self, name: str, count: float) -> Compute:
        """An operator that reads and writes `count` numbers in all."""
        return Compute(name, "memory", 0.0, count * self.width)

    # Collectives at the edge between the tensor-parallel and the sequence-parallel region.

    def gather(self) -> tuple[Operator, ...]:
        """Before a column-parallel product: sequence parallelism gathers the tokens."""
        if self.parallelism.tensor == 1 or not self.parallelism.sequence_parallel:
            return ()
        return blocking("all_gather", "tensor", self.hidden_bytes / self.parallelism.tensor)

    def reduce(self) -> tuple[Operator, ...]:
        """After a row-parallel product: the partial sums are reduced (and scattered with sequence parallelism)."""
        if self.parallelism.tensor == 1:
            return ()
        kind = "reduce_scatter" if self.parallelism.sequence_parallel else "all_reduce"
        return blocking(kind, "tensor", self.hidden_bytes)


def attention_core(shapes: Shapes) -> tuple[Operator, ...]:
    """Scores, softmax with mask and dropout, weighted values: what selective recomputation repeats."""
    model, b = shapes.model, shapes.parallelism.microbatch
    s, heads = shapes.workload.sequence, shapes.model.heads / shapes.parallelism.tensor
    d = model.hidden / model.heads
    return (
        shapes.gemm("scores", s, s, d, b * heads),
        shapes.moves("softmax", 5.0 * b * heads * s * s),
        shapes.gemm("attention", s, d, s, b * heads),
    )


def layer_forward(shapes: Shapes) -> tuple[Operator, ...]:
    """One transformer layer, forward."""
    model, t, tokens = shapes.model, shapes.parallelism.tensor, shapes.tokens
    h, f = model.hidden, model.ffn
    norm = shapes.moves("norm", 2.0 * tokens * h / shapes.shared)
    residual = shapes.moves("dropout-residual", 4.0 * tokens * h / shapes.shared)
    return (
        norm,
        *shapes.gather(),
        shapes.gemm("qkv", tokens, (h + 2 * model.kv_width) / t, h),
        *attention_core(shapes),
        shapes.gemm("projection", tokens, h, h / t),
        *shapes.reduce(),
        residual,
        norm,
        *shapes.gather(),
        shapes.gemm("mlp-in", tokens, (2 if model.gated else 1) * f / t, h),
        shapes.moves("activation", (3.0 if model.gated else 2.0) * tokens * f / t),
        shapes.gemm("mlp-out", tokens, h, f / t),
        *shapes.reduce(),
        residual,
    )


def backwards(operators: tuple[Operator, ...]) -> tuple[Operator, ...]:
    """The backward pass of `operators`: in reverse, gradients of inputs and of weights, twice the FLOPs and bytes."""
    return tuple(
        Compute(op.name + "-backward", op.kind, 2 * op.flops, 2 * op.bytes, op.category, op.shape)
        for op in reversed(operators)
        if isinstance(op, Compute)
    )


def layer_backward(shapes: Shapes) -> tuple[Operator, ...]:
    """One layer, backward, with what is recomputed first.

    The input gradient of each column-parallel product is reduced (with sequence parallelism: reduce-scattered, after
    the output gradient was gathered).
    """
    forward = layer_forward(shapes)
    again: tuple[Operator, ...] = ()
    if shapes.parallelism.recompute == "full":
        again = forward
    elif shapes.parallelism.recompute == "selective":
        again = attention_core(shapes)
    halves = _halves(forward)
    backward: tuple[Operator, ...] = ()
    for half in reversed(halves):
        backward += (*shapes.gather(), *backwards(half), *shapes.reduce())
    return again + backward


def _halves(forward: tuple[Operator, ...]) -> tuple[tuple[Operator, ...], tuple[Operator, ...]]:
    """Attention and MLP: the layer splits before its second norm."""
    second = [i for i, op in enumerate(forward) if isinstance(op, Compute) and op.name == "norm"][1]
    return forward[:second], forward[second:]


def embedding_forward(shapes: Shapes) -> tuple[Operator, ...]:
    """Look the tokens up; each NPU of the tensor group holds a part of the vocabulary."""
    return (shapes.moves("embedding", 2.0 * shapes.tokens * shapes.model.hidden), *shapes.reduce())


def embedding_backward(shapes: Shapes) -> tuple[Operator, ...]:
    """Add the gradients into the rows of the tokens."""
    return (*shapes.gather(), shapes.moves("embedding-backward", 3.0 * shapes.tokens * shapes.model.hidden))


def head_forward(shapes: Shapes) -> tuple[Operator, ...]:
    """Final norm, logits over the vocabulary, cross-entropy."""
    share = shapes.vocabulary / shapes.parallelism.tensor
    return (
        shapes.moves("norm", 2.0 * shapes.tokens * shapes.model.hidden / shapes.shared),
        *shapes.gather(),
        shapes.gemm("logits", shapes.tokens, share, shapes.model.hidden),
        shapes.moves("cross-entropy", 4.0 * shapes.tokens * share),
    )


def head_backward(shapes: Shapes) -> tuple[Operator, ...]:
    """Gradients of the logits, of the embedding matrix and of the hidden states."""
    return (*backwards(head_forward(shapes)), *shapes.reduce())


def layer_activations(shapes: Shapes) -> float:
    """Bytes that a layer keeps of one microbatch, per NPU.

    For fp16, h the hidden size, a heads, t tensor parallel: s b h (10 + 24/t + 5 a s/(h t)), all of it / t with
    sequence parallelism; selective recomputation drops the last term; full keeps 2 s b h, the layer's input. The terms
    are taken apart here so that grouped-query attention and gated or wider MLPs count what they keep.
    """
    model, p, s = shapes.model, shapes.parallelism, shapes.workload.sequence
    h, t, w = model.hidden, p.tensor, shapes.width
    if p.recompute == "full":
        return shapes.hidden_bytes / shapes.shared
    learned = 1.0 if model.bias else 0.0  # dropout masks, of one byte, come with the biased (GPT) layer
    outside = (4 * w + 2 * learned) * h / shapes.shared  # two norms' inputs, inputs of two products, two masks
    attention = w * (2 * h + 2 * model.kv_width)  # queries, keys, values, and the input of the projection
    mlp = (
        w * (3 if model.gated else 2) * model.ffn
    )  # input of the activation (two when gated) and of the second product
    kept = shapes.tokens * (outside + (attention + mlp) / t)
    core = 0.0 if p.recompute == "selective" else p.microbatch * s * s * model.heads * (2 * w + 1) / t
    return kept + core


def layer_parameters(shapes: Shapes) -> float:
    """Parameters of a layer per NPU of the tensor group: (12 h^2 + 13 h) / t for an ungated MLP of width 4h."""
    model = shapes.model
    h, f, kv = model.hidden, model.ffn, model.kv_width
    matrices = 2 * h * h + 2 * h * kv + (3 if model.gated else 2) * h * f
    vectors = (2 * h + 2 * kv + f + h + 4 * h) if model.bias else 2 * h
    return (matrices + vectors) / shapes.parallelism.tensor


def embedding_parameters(shapes: Shapes) -> float:
    """Token embedding and learned positions, per NPU."""
    model = shapes.model
    positions = model.sequence_length * model.hidden if model.position == "learned" else 0
    return (model.vocabulary * model.hidden + positions) / shapes.parallelism.tensor


def head_parameters(shapes: Shapes, shares_embedding: bool) -> float:
    """Final norm and the output matrix, per NPU; GPT models tie it to the embedding where both are on one stage."""
    model = shapes.model
    tied = shares_embedding and model.position == "learned"
    norm = (2 if model.bias else 1) * model.hidden
    return ((0 if tied else model.vocabulary * model.hidden) + norm) / shapes.parallelism.tensor
