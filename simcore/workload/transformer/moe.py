"""The feed-forward half of a layer of experts (Lepikhin et al. 2020, GShard, arXiv 2006.16668; arXiv 2401.06066).

A router sends each token to `top_k` of the experts; expert parallelism spreads these over e NPUs of the data x context
group, so that the tokens go there by an all-to-all and come back by another. Routing is taken as balanced: each expert
gets its even share of the tokens times the capacity factor. Within the tensor group an expert is split as a dense block
is: with sequence parallelism each NPU dispatches its own tokens, and the group gathers what has arrived. Shared experts
are a dense block that every token takes.
"""

from __future__ import annotations

import math

from simcore.workload.transformer.feed_forward import activation, mlp
from simcore.workload.transformer.layers import Piece, Shapes, computed
from simcore.workload.transformer.linear import norm, residual

ROUTER_PASSES = 6.0
"""Numbers moved a score by softmax, selection of the top ones, and the balancing loss: three reads, three writes."""


def dispatched_rows(shapes: Shapes) -> float:
    """Rows (tokens x experts) that an NPU sends, and that it receives."""
    moe = shapes.model.mixture_of_experts
    assert moe is not None
    return shapes.tokens / shapes.shared * moe.top_k * moe.capacity_factor


def local_experts(shapes: Shapes) -> int:
    """Experts of which an NPU has (its tensor-parallel part of) the parameters."""
    moe = shapes.model.mixture_of_experts
    assert moe is not None
    return moe.experts // shapes.parallelism.expert


def experts_half(shapes: Shapes) -> tuple[Piece, ...]:
    """Norm, router, shared experts, dispatch, experts, combine, residual."""
    model, moe = shapes.model, shapes.model.mixture_of_experts
    assert moe is not None
    h, own = model.hidden, shapes.tokens / shapes.shared
    rows = dispatched_rows(shapes)
    return (
        norm(shapes),
        computed(
            shapes.gemm("router", shapes.tokens // shapes.shared, moe.experts, h),
            shapes.moves("routing", ROUTER_PASSES * own * moe.experts),
        ),
        *(mlp(shapes, "shared-expert", moe.shared_feed_forward) if moe.shared_feed_forward else ()),
        computed(shapes.moves("permute", own * h + rows * h)),
        _exchange(shapes),
        _gather(shapes),
        *_experts(shapes),
        _reduce(shapes),
        _exchange(shapes),
        computed(shapes.moves("unpermute", rows * h + own * h)),
        residual(shapes),
    )


def _experts(shapes: Shapes) -> tuple[Piece, ...]:
    """The experts of an NPU, side by side."""
    model, moe = shapes.model, shapes.model.mixture_of_experts
    assert moe is not None
    experts = local_experts(shapes)
    rows, f = dispatched_rows(shapes) * shapes.shared, moe.feed_forward / shapes.parallelism.tensor
    each = math.ceil(rows / experts)
    return (
        computed(shapes.moves("sort-rows", 2.0 * rows * model.hidden)),
        computed(
            shapes.gemm("expert-in", each, (2 if model.gated else 1) * f, model.hidden, experts),
            activation(shapes, rows * f),
            shapes.gemm("expert-out", each, model.hidden, f, experts),
            shapes=shapes,
        ),
        computed(shapes.moves("sort-rows", 2.0 * rows * model.hidden)),
    )


def _exchange(shapes: Shapes) -> Piece:
    """Dispatch or combine; backward the gradients go the other way."""
    if shapes.parallelism.expert == 1:
        return Piece((), ())
    size = dispatched_rows(shapes) * shapes.model.hidden * shapes.width
    both = shapes.blocking("all_to_all", "expert", size, shapes.parallelism.expert)
    return Piece(both, both)


def _gather(shapes: Shapes) -> Piece:
    """The tensor group gathers the rows of its members, and reduces their gradient."""
    return _turned(_reduce(shapes))


def _reduce(shapes: Shapes) -> Piece:
    """The experts' partial sums over the tensor group."""
    if shapes.parallelism.tensor == 1:
        return Piece((), ())
    whole = dispatched_rows(shapes) * shapes.shared * shapes.model.hidden * shapes.width
    if shapes.shared == 1:
        return Piece(shapes.blocking("all_reduce", "tensor", whole, shapes.parallelism.tensor), ())
    t = shapes.shared
    gather = shapes.blocking("all_gather", "tensor", whole / t, t)
    return Piece(shapes.blocking("reduce_scatter", "tensor", whole, t), gather)


def _turned(piece: Piece) -> Piece:
    return Piece(piece.backward, piece.forward)
