"""Sizes that operators share on one NPU for one microbatch, and the operators of the embedding and of the head.

A GEMM [M,K]x[K,N] costs 2MNK FLOPs and moves its three matrices once. With 8-bit precision, as Transformer Engine does
it, the inputs of linear layers' products are 8 bits wide; what leaves a product, residuals, norms, attention itself and
what tensor, context and pipeline parallelism send stay bf16.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

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
        """Bytes of one activation."""
        return max(2, self.operand)

    @cached_property
    def operand(self) -> int:
        """Bytes of one number that enters the product of a linear layer."""
        return BYTES[self.workload.precision]

    @cached_property
    def sequence(self) -> int:
        """Tokens of a sequence that an NPU of the context group has."""
        return self.workload.sequence // self.parallelism.context

    @cached_property
    def tokens(self) -> int:
        """Tokens of a microbatch that an NPU of the context group has."""
        return self.parallelism.microbatch * self.sequence

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
        traffic = batch * (self.operand * (m * k + k * n) + self.width * m * n)
        return Compute(name, "gemm", 2.0 * batch * m * n * k, traffic, shape=(batch, m, n, k))

    def moves(self, name: str, count: float) -> Compute:
        """An operator that reads and writes `count` numbers in all."""
        return Compute(name, "memory", 0.0, count * self.width)

    @property
    def splits(self) -> bool:
        """Whether linear layers are cut into pieces, each beside one exchange of the tensor group."""
        p = self.parallelism
        return p.tensor_overlap and p.sequence_parallel and p.tensor > 1

    @property
    def exchanged(self) -> float:
        """Bytes of the hidden states that an exchange of the tensor group carries: one NPU's tokens."""
        return self.hidden_bytes / self.parallelism.tensor

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


class Piece(NamedTuple):
    """A piece of a layer: what it does forward, and what undoes it backward."""

    forward: tuple[Operator, ...]
    backward: tuple[Operator, ...]


def computed(*operators: Compute) -> Piece:
    """A piece that only computes."""
    return Piece(operators, backwards(operators))


def forwards_of(pieces: Sequence[Piece]) -> tuple[Operator, ...]:
    """The pieces one after the other."""
    return tuple(operator for piece in pieces for operator in piece.forward)


def backwards_of(pieces: Sequence[Piece]) -> tuple[Operator, ...]:
    """The backward pass of all pieces, the last one first."""
    return tuple(operator for piece in reversed(pieces) for operator in piece.backward)


FLASH_BACKWARD = 2.5
"""FLOPs of a flash kernel's backward over its forward: five products for two (Dao 2023, arXiv 2307.08691)."""


def backwards(operators: tuple[Operator, ...]) -> tuple[Operator, ...]:
    """The backward pass of `operators`: in reverse, gradients of inputs and of weights, twice the FLOPs and bytes.

    A flash kernel computes its scores once more.
    """
    return tuple(
        Compute(
            op.name + "-backward",
            op.kind,
            (FLASH_BACKWARD if op.kind == "flash" else 2) * op.flops,
            2 * op.bytes,
            op.category,
            op.shape,
        )
        for op in reversed(operators)
        if isinstance(op, Compute)
    )


CORE_PRODUCTS = ("scores", "attention")
"""Products of two activations: they have no weights."""


def split_backward(backward: tuple[Operator, ...]) -> tuple[tuple[Operator, ...], tuple[Operator, ...]]:
    """A backward pass as input gradients (with all that is sent and recomputed) and weight gradients.

    Each product of a linear layer computes both, of the same FLOPs and bytes.
    """
    inputs: list[Operator] = []
    weights: list[Operator] = []
    for operator in backward:
        if isinstance(operator, Compute) and operator.kind == "gemm" and operator.name.endswith("-backward"):
            name = operator.name.removesuffix("-backward")
            if name not in CORE_PRODUCTS:
                half = operator._replace(flops=operator.flops / 2, bytes=operator.bytes / 2)
                inputs.append(half._replace(name=f"{name}-input-gradient"))
                weights.append(half._replace(name=f"{name}-weight-gradient"))
                continue
        inputs.append(operator)
    return tuple(inputs), tuple(weights)


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
