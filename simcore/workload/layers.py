"""The operators of a transformer layer, of the embedding and of the head, on one NPU, for one microbatch.

A GEMM [M,K]x[K,N] costs 2MNK FLOPs and moves its three matrices once. Per layer and sequence this sums to
24 s h^2 + 4 s^2 h FLOPs forward for an ungated MLP with full attention heads (Narayanan et al. 2021, appendix), and
twice that backward. Activations kept are those of Korthikanti et al. 2022 (arXiv 2205.05198), equations 2-4.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from simcore.design import Parallelism, TransformerWorkload
from simcore.program import GROUP_CATEGORY, Category, Compute, Operator, Start, Wait, Waits, blocking
from simcore.spec import BYTES, Transformer

VOCABULARY_MULTIPLE = 128
"""Megatron pads the vocabulary to this many times the tensor-parallel degree."""

COPY = "-copy"
"""Ending of the name of what a collective does in memory."""
COPIED = {"all_reduce": 2.5, "reduce_scatter": 1.25, "all_gather": 1.25, "all_to_all": 2.0}
"""Bytes that NCCL moves in an NPU's memory per byte of a collective's whole buffer.

From its all-reduce times at large sizes: on 2 and on 8 A100 they are 2 (n-1)/n S / (294 GB/s) + S / (595 GB/s), that
is NVLink at its full rate and 2.5 S through memory; on 8 B200 the same 2.5 S.
"""


@dataclass(frozen=True)
class Shapes:
    """Sizes that the operators share: one NPU's part of one microbatch."""

    workload: TransformerWorkload
    parallelism: Parallelism
    copies: bool = False
    """Whether to count what only a calibrated curve can price: collectives that pass over their buffers in memory, and
    weight gradients added up over microbatches."""

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
        """`batch` products [m,k]x[k,n]; the single one has weights [k,n], those of a batch have none."""
        return Compute(
            name, "gemm", 2.0 * batch * m * n * k, self.width * batch * (m * k + k * n + m * n), shape=(batch, m, n, k)
        )

    def moves(self, name: str, count: float, backward: float | None = None) -> Compute:
        """An operator that reads and writes `count` numbers in all, its backward pass `backward` (twice as many)."""
        back = None if backward is None else backward * self.width
        return Compute(name, "memory", 0.0, count * self.width, backward_bytes=back)

    def blocking(self, kind: str, group: str, size: float, members: int) -> tuple[Operator, ...]:
        """A collective of `size` [B] that its stage waits for."""
        return (*self.copy(kind, group, size, members), *blocking(kind, group, size))

    def copy(self, kind: str, group: str, size: float, members: int) -> tuple[Operator, ...]:
        """What a collective reads and writes in the memory of an NPU of a group of `members`."""
        if not self.copies:
            return ()
        whole = size * members if kind == "all_gather" else size
        moved = COPIED[kind] * whole
        return (Compute(kind + COPY, "memory", 0.0, moved, GROUP_CATEGORY[group]),)

    # Collectives at the edge between the tensor-parallel and the sequence-parallel region.

    def gather(self) -> tuple[Operator, ...]:
        """Before a column-parallel product: sequence parallelism gathers the tokens."""
        if self.parallelism.tensor == 1 or not self.parallelism.sequence_parallel:
            return ()
        t = self.parallelism.tensor
        return self.blocking("all_gather", "tensor", self.hidden_bytes / t, t)

    def reduce(self) -> tuple[Operator, ...]:
        """After a row-parallel product: the partial sums are reduced (and scattered with sequence parallelism)."""
        if self.parallelism.tensor == 1:
            return ()
        kind = "reduce_scatter" if self.parallelism.sequence_parallel else "all_reduce"
        return self.blocking(kind, "tensor", self.hidden_bytes, self.parallelism.tensor)

    def reduce_beside(self) -> tuple[Operator, ...]:
        """The start of the same, for the gradient of a column-parallel product's input."""
        t = self.parallelism.tensor
        if t == 1:
            return ()
        kind = "reduce_scatter" if self.parallelism.sequence_parallel else "all_reduce"
        return (
            *self.copy(kind, "tensor", self.hidden_bytes, t),
            Start(kind, "tensor", self.hidden_bytes, Waits.BESIDE),
        )


def attention_core(shapes: Shapes) -> tuple[Operator, ...]:
    """Scores, masked softmax, dropout (of the biased layer), weighted values: what selective recomputation repeats."""
    model, b = shapes.model, shapes.parallelism.microbatch
    s, heads = shapes.workload.sequence, shapes.model.heads / shapes.parallelism.tensor
    d = model.hidden / model.heads
    scores = b * heads * s * s
    mask = 1 / shapes.width
    dropout = (shapes.moves("attention-dropout", (2 + mask) * scores, (2 + mask) * scores),) if model.bias else ()
    return (
        shapes.gemm("scores", s, s, d, b * heads),
        shapes.moves("softmax", 2.0 * scores, 3.0 * scores),
        *dropout,
        shapes.gemm("attention", s, d, s, b * heads),
    )


def layer_forward(shapes: Shapes) -> tuple[Operator, ...]:
    """One transformer layer, forward, kernel by kernel as Megatron-LM runs it.

    Its fused kernels (masked softmax; bias and GeLU; bias, dropout and residual) count as one; counts are of numbers
    read and written, backward with the sums for the gradients of biases, norms and the residual's two branches.
    """
    model, t, tokens = shapes.model, shapes.parallelism.tensor, shapes.tokens
    h, f, qkv = model.hidden, model.ffn, model.hidden + 2 * model.kv_width
    kept = tokens * h / shapes.shared
    mask = 1 / shapes.width if model.bias else 0.0
    norm = shapes.moves("norm", 2.0 * kept, 5.0 * kept)
    residual = shapes.moves("residual", (3 + mask) * kept, (5 + mask if model.bias else 3) * kept)
    turned = qkv if model.bias else h + model.kv_width
    wide = tokens * f / t
    activation = shapes.moves("activation", *((3.0 * wide, 5.0 * wide) if model.gated else (2.0 * wide, 4.0 * wide)))
    bias_or_rotary = shapes.moves("bias" if model.bias else "rotary", 2.0 * tokens * turned / t)
    return (
        norm,
        *shapes.gather(),
        shapes.gemm("qkv", tokens, qkv / t, h),
        bias_or_rotary,
        *attention_core(shapes),
        shapes.moves("transpose", 2.0 * tokens * h / t, 2.0 * tokens * h / t),
        shapes.gemm("projection", tokens, h, h / t),
        *shapes.reduce(),
        residual,
        norm,
        *shapes.gather(),
        shapes.gemm("mlp-in", tokens, (2 if model.gated else 1) * f / t, h),
        activation,
        shapes.gemm("mlp-out", tokens, h, f / t),
        *shapes.reduce(),
        residual,
    )


def backwards(
    operators: tuple[Operator, ...], beside: tuple[Operator, ...] = (), accumulate: bool = False
) -> tuple[Operator, ...]:
    """The backward pass of `operators`, in reverse.

    A product Y = X W has two: the gradient of its input dY W^T, [m,n]x[n,k], and that of its weights X^T dY,
    [k,m]x[m,n]; with `accumulate` it is then added to what earlier microbatches left. `beside` starts once the gradient
    of the input of the first of them, the column-parallel one, is there, and runs beside that of its weights.
    """
    first = next((i for i, op in enumerate(operators) if isinstance(op, Compute) and op.shape), -1)
    back: list[Operator] = []
    for i in range(len(operators) - 1, -1, -1):
        op = operators[i]
        if isinstance(op, Compute) and not op.name.endswith(COPY):
            own = _product_backward(op, accumulate) if op.shape else [_twice(op)]
            if i == first and beside:
                own = [own[0], *beside, *own[1:], Wait(Waits.BESIDE, Category.TENSOR)]
            back += own
    return tuple(back)


def _twice(op: Compute) -> Compute:
    moved = 2 * op.bytes if op.backward_bytes is None else op.backward_bytes
    return op._replace(name=op.name + "-backward", flops=2 * op.flops, bytes=moved)


def _product_backward(op: Compute, accumulate: bool) -> list[Operator]:
    assert op.shape is not None
    batch, m, n, k = op.shape
    back: list[Operator] = [
        op._replace(name=op.name + "-input-gradient", shape=(batch, m, k, n)),
        op._replace(name=op.name + "-weight-gradient", shape=(batch, k, n, m)),
    ]
    if accumulate and batch == 1:
        width = op.bytes / (m * k + k * n + m * n)
        back.append(Compute(op.name + "-accumulate", "memory", 0.0, 3.0 * k * n * width))
    return back


def layer_backward(shapes: Shapes) -> tuple[Operator, ...]:
    """One layer, backward, with what is recomputed first.

    The input gradient of each column-parallel product is reduced beside its weight gradient, as Megatron-LM does (with
    sequence parallelism: reduce-scattered, after the output gradient was gathered).
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
        backward += (*shapes.gather(), *backwards(half, shapes.reduce_beside(), shapes.copies))
    return again + backward


def _halves(forward: tuple[Operator, ...]) -> tuple[tuple[Operator, ...], tuple[Operator, ...]]:
    """Attention and MLP: the layer splits before its second norm."""
    second = [i for i, op in enumerate(forward) if isinstance(op, Compute) and op.name == "norm"][1]
    return forward[:second], forward[second:]


def received(shapes: Shapes) -> tuple[Operator, ...]:
    """Gather what the stage before sent: each NPU of the tensor group passes on its share of the hidden states.

    Scatter/gather of Narayanan et al. 2021 (arXiv 2104.04473, section 4.1); with sequence parallelism the share is
    all that an NPU needs.
    """
    if shapes.parallelism.tensor == 1 or shapes.parallelism.sequence_parallel:
        return ()
    t = shapes.parallelism.tensor
    return shapes.blocking("all_gather", "tensor", shapes.hidden_bytes / t, t)


def embedding_forward(shapes: Shapes) -> tuple[Operator, ...]:
    """Look the tokens up; each NPU of the tensor group holds a part of the vocabulary."""
    moved = shapes.tokens * shapes.model.hidden
    return (shapes.moves("embedding", 2.0 * moved, 3.0 * moved), *shapes.reduce())


def embedding_backward(shapes: Shapes) -> tuple[Operator, ...]:
    """Add the gradients into the rows of the tokens."""
    return (*shapes.gather(), shapes.moves("embedding-backward", 3.0 * shapes.tokens * shapes.model.hidden))


def head_forward(shapes: Shapes) -> tuple[Operator, ...]:
    """Final norm, logits over the vocabulary, cross-entropy.

    The cross-entropy goes over the logits in fp32: to fp32, maximum, difference, exponential, sum, quotient; back one
    product and the cast.
    """
    share = shapes.vocabulary / shapes.parallelism.tensor
    kept = shapes.tokens * shapes.model.hidden / shapes.shared
    return (
        shapes.moves("norm", 2.0 * kept, 5.0 * kept),
        *shapes.gather(),
        shapes.gemm("logits", shapes.tokens, share, shapes.model.hidden),
        shapes.moves("cross-entropy", 19.0 * shapes.tokens * share, 7.0 * shapes.tokens * share),
    )


def head_backward(shapes: Shapes) -> tuple[Operator, ...]:
    """Gradients of the logits, of the embedding matrix and of the hidden states."""
    return backwards(head_forward(shapes), shapes.reduce_beside(), shapes.copies)


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
