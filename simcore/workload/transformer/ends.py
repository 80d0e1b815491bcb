"""The ends of a model: the embedding, the head, and the matrix that is both.

Where one matrix is used on the first and on the last stage, each has a copy, and their gradients are added up.
"""

from __future__ import annotations

from collections.abc import Sequence

from simcore.design.design import Design
from simcore.document.field import BYTES
from simcore.program import TO_OTHER_END, Operator, blocking_collective
from simcore.workload.data_parallel import Amount, DataParallel
from simcore.workload.transformer.layers import Shapes, backwards


def embedding_parameters(shapes: Shapes) -> float:
    """Token embedding and learned positions, per NPU."""
    model = shapes.model
    positions = model.sequence_length * model.hidden if model.position == "learned" else 0
    return (model.vocabulary * model.hidden + positions) / shapes.parallelism.tensor


def head_parameters(shapes: Shapes, shares_embedding: bool) -> float:
    """Final norm and the output matrix, per NPU; a tied one is the embedding where both are on one stage."""
    model = shapes.model
    tied = shares_embedding and model.shares_embedding
    bias = model.vocabulary if model.biased("head") else 0
    matrix = 0 if tied else model.vocabulary * model.hidden
    return (matrix + bias + model.norm_width) / shapes.parallelism.tensor


def exchanges_of_ends(design: Design, shapes: Shapes, data: DataParallel) -> dict[int, tuple[Operator, ...]]:
    """What the stages with copies of one embedding do with its gradients, by stage, where the ends are two stages.

    The first has the embedding, the last uses it as the output matrix or to look further tokens up. They add its
    gradients up once they are reduced (Megatron-LM: `_allreduce_word_embedding_grads`): of two NPUs each sends all to
    the other.
    """
    model, p = shapes.model, shapes.parallelism
    if not (model.shares_embedding or model.multi_token_prediction):
        return {}
    held = Amount(model.vocabulary * model.hidden / p.tensor)
    each = data.sharded(held) if p.zero >= 2 else held.total
    size = each * BYTES[design.workload.gradient_precision]
    first, last = (blocking_collective(kind, "pipeline", size) for kind in TO_OTHER_END)
    return {0: first, p.pipeline - 1: last}


def embedding_forward(shapes: Shapes) -> tuple[Operator, ...]:
    """Look the tokens up; each NPU of the tensor group holds a part of the vocabulary."""
    return (shapes.moves("embedding", 2.0 * shapes.tokens * shapes.model.hidden), *shapes.reduce())


def embedding_backward(shapes: Shapes) -> tuple[Operator, ...]:
    """Add the gradients into the rows of the tokens."""
    return (*shapes.gather(), shapes.moves("embedding-backward", 3.0 * shapes.tokens * shapes.model.hidden))


def head_forward(shapes: Shapes) -> tuple[Operator, ...]:
    """Final norm, logits over the vocabulary, cross-entropy.

    The cross-entropy goes over the logits in fp32: to fp32, maximum, difference, exponential, sum, quotient; back one
    product and the cast. The fused one reads and writes them once for the sum, and once for the gradient.
    """
    share = shapes.vocabulary / shapes.parallelism.tensor
    kept = float(shapes.tokens * shapes.model.hidden)
    passes = (3.0, 2.0) if shapes.parallelism.cross_entropy_fusion else (19.0, 7.0)
    return (
        shapes.whole_elementwise("norm", 2.0 * kept, 5.0 * kept),
        *shapes.gather(),
        shapes.wide_gemm("logits", shapes.tokens, share, shapes.model.hidden),
        shapes.moves("cross-entropy", *(count * shapes.tokens * share for count in passes)),
    )


def head_backward(shapes: Shapes, forward: Sequence[Operator]) -> tuple[Operator, ...]:
    """Gradients of the logits, of the embedding matrix and of the hidden states."""
    return backwards(forward, shapes, shapes.reduce_beside(), shapes.gather_beside())
