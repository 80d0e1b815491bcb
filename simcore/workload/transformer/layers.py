"""Sizes that operators share on one NPU for one microbatch, and what pieces of a layer are made of.

A GEMM [M,K]x[K,N] costs 2MNK FLOPs and moves its three matrices once. With 8-bit precision, as Transformer Engine does
it, the inputs of linear layers' products are 8 bits wide; what leaves a product, residuals, norms, attention itself and
what tensor, context and pipeline parallelism send stay bf16.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from simcore.design.parallelism import Parallelism
from simcore.design.software import Software
from simcore.document.field import BYTES, NARROW
from simcore.program import Category, Compute, Operator, Start, Wait, Waits, blocking_collective
from simcore.workload.transformer.document import TransformerWorkload
from simcore.workload.transformer.model import Transformer

VOCABULARY_MULTIPLE = 128
"""Megatron pads the vocabulary to this many times the tensor-parallel degree."""
OWN_PASSES = 1.54
"""Bytes over those of one fused kernel each that norms, residuals and dropouts move themselves, at the most: what
iterations of Megatron-LM without sequence parallelism took (`megatron-lm-2021`). What `software.elementwise` is beyond
stands for all that a stack spends beside its products, and nobody has measured how that changes with the setting."""


@dataclass(frozen=True)
class Shapes:
    """Sizes that the operators share: one NPU's part of one microbatch."""

    workload: TransformerWorkload
    parallelism: Parallelism
    software: Software
    traced: bool = False
    """Whether to count what a stack's kernels do on a GPU beside products: unfused passes, casts, sums of gradients."""
    served: bool = False
    """Whether a server runs it, whose NPUs copy the heads that they share and sum up experts once a token."""

    @cached_property
    def model(self) -> Transformer:
        """The model's shape."""
        return self.workload.model

    @cached_property
    def width(self) -> int:
        """Bytes of one activation."""
        return 4 if self.operand == BYTES["fp32"] else 2

    @cached_property
    def operand(self) -> float:
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
    def query_npus(self) -> int:
        """NPUs of the tensor group that share out the tokens of the queries of the same heads."""
        return self.parallelism.query_npus(self.model.heads)

    @cached_property
    def queries(self) -> int:
        """Tokens of a sequence from which an NPU attends."""
        return self.sequence // self.query_npus

    @cached_property
    def shares_key_heads(self) -> bool:
        """Whether the tensor group has more NPUs than keys and values have heads, so that several have the same."""
        return self.query_npus == 1 and self.model.key_heads < self.parallelism.tensor

    @cached_property
    def kv_width(self) -> float:
        """Width of an NPU's keys, or values: its share of the heads, one whole head at the least."""
        return self.model.kv_width / (self.model.key_heads if self.shares_key_heads else self.parallelism.tensor)

    @cached_property
    def key_width(self) -> float:
        """Width of an NPU's keys alone, where these are not latent."""
        heads = 1.0 if self.shares_key_heads else self.model.key_heads / self.parallelism.tensor
        return heads * self.model.qk_head_dim

    @property
    def expert_tensor(self) -> int:
        """Over how many NPUs an expert is cut."""
        return self.parallelism.folds

    @property
    def expert_shared(self) -> int:
        """NPUs whose own tokens the experts of one work on: its expert tensor group with sequence parallelism."""
        return self.expert_tensor if self.shared > 1 else 1

    @property
    def whole_experts(self) -> bool:
        """Whether a served tensor group has whole experts on each of its NPUs, all of which have the same tokens."""
        return self.served and self.parallelism.folded

    @property
    def dispatched_once(self) -> bool:
        """Whether a token crosses a link once for all its experts behind it."""
        return self.parallelism.dispatch == "node" and self.parallelism.expert > 1 and not self.whole_experts

    @cached_property
    def vocabulary(self) -> int:
        """Vocabulary padded so that it divides over the tensor group."""
        multiple = VOCABULARY_MULTIPLE * self.parallelism.tensor
        return -(-self.model.vocabulary // multiple) * multiple

    @cached_property
    def hidden_bytes(self) -> float:
        """Bytes of the hidden states of a microbatch, whole."""
        return float(self.tokens * self.model.hidden * self.width)

    def gemm(self, name: str, m: float, n: float, k: float, batch: float = 1.0) -> Compute:
        """`batch` products [m,k]x[k,n]."""
        traffic = batch * (self.operand * (m * k + k * n) + self.width * m * n)
        return Compute(name, "gemm", 2.0 * batch * m * n * k, traffic, shape=(batch, m, n, k))

    def wide_gemm(self, name: str, m: float, n: float, k: float) -> Compute:
        """A product [m,k]x[k,n] that stays in 16 bits where others are in 8."""
        traffic = self.width * (m * k + k * n + m * n)
        kind = "gemm" if self.operand == self.width else "core"
        return Compute(name, kind, 2.0 * m * n * k, traffic, shape=(1.0, m, n, k))

    def moves(self, name: str, count: float, backward: float | None = None) -> Compute:
        """An operator that reads and writes `count` numbers in all, its backward pass `backward` (twice as many)."""
        back = None if backward is None else backward * self.width
        return Compute(name, "memory", 0.0, count * self.width, backward_bytes=back)

    def elementwise(self, name: str, count: float, backward: float | None = None) -> Compute:
        """`moves` by kernels that the software may not have fused into one (`software.elementwise`)."""
        passes = self.software.elementwise if self.traced else 1.0
        back = 2.0 * count if backward is None else backward
        return self.moves(name, passes * count, passes * back)

    def whole_elementwise(self, name: str, count: float, backward: float | None = None) -> Compute:
        """`elementwise` of the tokens of a whole tensor group, which shares them out with sequence parallelism.

        Where the iterations that the software was fitted to had the other setting, what it spends beyond `OWN_PASSES`
        is shared out as it was there.
        """
        passes, fitted = self.software.elementwise, self.software.measured_sequence_parallel
        share = 1.0 / self.shared
        if self.traced and passes > OWN_PASSES and fitted not in (None, self.parallelism.sequence_parallel):
            beyond = 1.0 / self.parallelism.tensor if fitted else 1.0
            share = (OWN_PASSES * share + (passes - OWN_PASSES) * beyond) / passes
        return self.elementwise(name, share * count, None if backward is None else share * backward)

    def cast(self, name: str, numbers: float) -> tuple[Compute, ...]:
        """The kernel that makes narrow operands of 16-bit numbers: by rows and by columns, as both passes read them.

        Where scales are those of the tensor itself, it is read once more to find them.
        """
        if not (self.traced and self.workload.precision in NARROW):
            return ()
        reads = 2 if self.software.fp8.recipe == "current" else 1
        moved = numbers * (reads * self.width + 2 * self.operand)
        return (Compute(name + "-cast", "memory", 0.0, moved),)

    @property
    def norm_casts(self) -> bool:
        """Whether norms write narrow numbers themselves, which they can where scales are known before."""
        return self.software.fp8.recipe == "delayed"

    @property
    def gathered_width(self) -> float:
        """Bytes of a number of a linear layer's operand on its way through the tensor group.

        Transformer Engine casts before it gathers, unless scales are those of blocks.
        """
        narrow = self.workload.precision in NARROW and self.software.fp8.recipe != "block"
        return self.operand if narrow else self.width

    def blocking(self, kind: str, group: str, size: float, members: int) -> tuple[Operator, ...]:
        """A collective of `size` [B] over `members` that its stage waits for; nothing where there is but one."""
        return () if members == 1 else blocking_collective(kind, group, size)

    @property
    def splits(self) -> bool:
        """Whether linear layers are cut into pieces, each beside one exchange of the tensor group."""
        p = self.parallelism
        return p.tensor_overlap and p.sequence_parallel and p.tensor > 1

    @property
    def exchanged(self) -> float:
        """Bytes of the hidden states that an exchange of the tensor group carries: one NPU's tokens."""
        return self.tokens * self.model.hidden * self.gathered_width / self.parallelism.tensor

    # Collectives at the edge between the tensor-parallel and the sequence-parallel region.

    def gather(self, width: float | None = None) -> tuple[Operator, ...]:
        """Before a column-parallel product: sequence parallelism gathers the tokens, in `width` bytes a number."""
        if self.parallelism.tensor == 1 or not self.parallelism.sequence_parallel:
            return ()
        t = self.parallelism.tensor
        share = self.tokens * self.model.hidden * (width or self.width) / t
        return self.blocking("all_gather", "tensor", share, t)

    def gather_beside(self, width: float | None = None) -> tuple[Operator, ...]:
        """The start of the same, for the gradient of a column-parallel product's weights: its input is kept in shares.

        `width` numbers a token (the hidden size). Megatron-LM gathers it again beside the gradient of the input
        (Korthikanti et al. 2022, arXiv 2205.05198, section 4.2.2).
        """
        if self.shared == 1:
            return ()
        share = self.tokens * (width or self.model.hidden) * self.gathered_width / self.shared
        return (Start("all_gather", "tensor", share, Waits.OVERLAP),)

    def reduce(self) -> tuple[Operator, ...]:
        """After a row-parallel product: the partial sums are reduced (and scattered with sequence parallelism)."""
        t = self.parallelism.tensor
        return () if t == 1 else self.blocking(self._reduction, "tensor", self.hidden_bytes, t)

    def reduce_beside(self) -> tuple[Operator, ...]:
        """The start of the same, for the gradient of a column-parallel product's input."""
        if self.parallelism.tensor == 1:
            return ()
        return (Start(self._reduction, "tensor", self.hidden_bytes, Waits.OVERLAP),)

    @property
    def _reduction(self) -> str:
        return "reduce_scatter" if self.parallelism.sequence_parallel else "all_reduce"


class Piece(NamedTuple):
    """A piece of a layer: what it does forward, and what undoes it backward."""

    forward: tuple[Operator, ...]
    backward: tuple[Operator, ...]
    modules: frozenset[str] = frozenset()
    """Modules of `parallelism.recompute_modules` to which it belongs."""
    only_summed: bool = False
    """Whether what it gives goes into a sum and nowhere else: no gradient needs it."""


def tagged(module: str, *pieces: Piece) -> tuple[Piece, ...]:
    """The pieces as parts of a module."""
    return tuple(piece._replace(modules=piece.modules | {module}) for piece in pieces)


def computed(*operators: Compute, shapes: Shapes | None = None) -> Piece:
    """A piece that only computes; `shapes` as `backwards` has it."""
    return Piece(operators, backwards(operators, shapes))


def forwards_of(pieces: Sequence[Piece]) -> tuple[Operator, ...]:
    """The pieces one after the other."""
    return tuple(operator for piece in pieces for operator in piece.forward)


def backwards_of(pieces: Sequence[Piece]) -> tuple[Operator, ...]:
    """The backward pass of all pieces, the last one first."""
    return tuple(operator for piece in reversed(pieces) for operator in piece.backward)


FLASH_BACKWARD = 2.5
"""FLOPs of a flash kernel's backward over its forward: five products for two (Dao 2023, arXiv 2307.08691)."""


def backwards(
    operators: Sequence[Operator],
    shapes: Shapes | None = None,
    beside: tuple[Operator, ...] = (),
    again: tuple[Operator, ...] = (),
    cast: bool = True,
) -> tuple[Operator, ...]:
    """The backward pass of `operators`, in reverse.

    A product Y = X W has two: the gradient of its input dY W^T, [m,n]x[n,k], and that of its weights X^T dY,
    [k,m]x[m,n]. Of the column-parallel ones, `again` starts the gather of X, which runs beside the first gradient of an
    input; and `beside` starts the reduction of the last of these, beside that of its weights. With `shapes` the
    products have weights, whose gradients are added up over microbatches, and gradients of narrow products are `cast`
    before. A flash kernel computes its scores once more.
    """
    products = [i for i, op in enumerate(operators) if isinstance(op, Compute) and op.shape]
    arrived = Wait(Waits.OVERLAP, Category.TENSOR)
    back: list[Operator] = []
    for i in range(len(operators) - 1, -1, -1):
        op = operators[i]
        if isinstance(op, Compute):
            own = _twice(op) if op.shape is None else _products(op, shapes)
            if again and i == products[-1]:
                own = (*again, own[0], arrived, *own[1:])
            if beside and i == products[0]:
                at = own.index(arrived) if arrived in own else 0
                own = (*own[: at + 1], *beside, *own[at + 1 :], arrived)
            if cast and shapes is not None and op.shape is not None and op.kind == "gemm":
                back += shapes.cast(op.name + "-gradient", op.shape[0] * op.shape[1] * op.shape[2])
            back += own
    return tuple(back)


def _twice(op: Compute) -> tuple[Operator, ...]:
    flops = (FLASH_BACKWARD if op.kind == "flash" else 2) * op.flops
    moved = 2 * op.bytes if op.backward_bytes is None else op.backward_bytes
    fused = _flash_backward(*op.fused) if op.fused else ()
    return (Compute(op.name + "-backward", op.kind, flops, moved, op.category, None, op.backward_bytes, fused),)


Product = tuple[float, float, float, float]


def _flash_backward(scores: Product, weighted: Product) -> tuple[Product, ...]:
    """The five products of a flash kernel's backward pass: the scores again, and two for each of its products."""
    (batch, m, n, k), (_, _, value, _) = scores, weighted
    of_weighted = (batch, m, n, value), (batch, n, value, m)
    return (scores, *of_weighted, (batch, m, k, n), (batch, n, k, m))


def input_gradient(op: Compute) -> Compute:
    """The product that gives the gradient of the input of product `op`."""
    assert op.shape is not None
    batch, m, n, k = op.shape
    return op._replace(name=op.name + "-input-gradient", shape=(batch, m, k, n))


def _products(op: Compute, shapes: Shapes | None) -> tuple[Operator, ...]:
    """The two products of a backward pass, and the sum of weight gradients.

    Fused, the product reads what there is and writes the sum in the gradients' precision, where it would write 16 bits;
    else another kernel reads both and writes their sum, as if both were 16 bits wide: with fp32 sums at 10 bytes the
    published iterations of Transformer-1T and GPT-3 175B (arXiv 2205.05198, table 5) would be 8 and 6 % too slow.
    """
    assert op.shape is not None
    batch, m, n, k = op.shape
    weights = batch * k * n
    inputs = input_gradient(op)
    own = op._replace(name=op.name + "-weight-gradient", shape=(batch, k, n, m))
    if shapes is None or not shapes.traced:
        return inputs, own
    if shapes.software.gradient_fusion:
        added = 2.0 * BYTES[shapes.workload.gradient_precision] - shapes.width
        return inputs, own._replace(bytes=own.bytes + added * weights)
    return inputs, own, Compute(op.name + "-accumulate", "memory", 0.0, 3.0 * weights * shapes.width)


def received(shapes: Shapes) -> tuple[Operator, ...]:
    """Gather what the stage before sent: each NPU of the tensor group passes on its share of the hidden states.

    Scatter/gather of Narayanan et al. 2021 (arXiv 2104.04473, section 4.1); with sequence parallelism the share is
    all that an NPU needs.
    """
    t = shapes.parallelism.tensor
    if t == 1 or shapes.parallelism.sequence_parallel:
        return ()
    return shapes.blocking("all_gather", "tensor", shapes.hidden_bytes / t, t)


CORE_PRODUCTS = ("scores", "attention")
"""Products of two activations: they have no weights."""


def split_backward(backward: tuple[Operator, ...]) -> tuple[tuple[Operator, ...], tuple[Operator, ...]]:
    """A backward pass as input gradients (with all that is sent and recomputed) and weight gradients.

    The second product of attention's own ones is the gradient of another input. What would run beside a weight gradient
    is waited for; the inputs that are gathered for weight gradients are gathered with these.
    """
    inputs: list[Operator] = []
    weights: list[Operator] = []
    gathering = False  # for weights: the next wait is theirs too
    for operator in backward:
        own = _of_weights(operator) or (gathering and isinstance(operator, Wait))
        if isinstance(operator, Start | Wait):
            gathering = own and isinstance(operator, Start)
        (weights if own else inputs).append(operator)
    return tuple(inputs), tuple(weights)


def _of_weights(operator: Operator) -> bool:
    """Whether only the gradient of weights needs an operator: itself, or its input gathered again."""
    if isinstance(operator, Start):
        return operator.kind == "all_gather" and operator.waits == Waits.OVERLAP
    if not isinstance(operator, Compute):
        return False
    product = operator.name.removesuffix("-accumulate").removesuffix("-weight-gradient")
    return product != operator.name and product not in CORE_PRODUCTS
