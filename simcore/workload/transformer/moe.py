"""The feed-forward half of a layer of experts (Lepikhin et al. 2020, GShard, arXiv 2006.16668; arXiv 2401.06066).

A router sends each token to `top_k` of the experts; expert parallelism spreads these over e NPUs, so that the tokens go
there by an all-to-all and come back by another. Routing is taken as balanced: each expert gets its even share of the
tokens times the capacity factor. Shared experts are a dense block that every token takes.

*Folding* (Liu et al. 2025, arXiv 2504.14960; Megatron-core): tensor x context x data NPUs are grouped anew for experts:
as expert tensor x expert x the NPUs that have the same ones. Each expert is cut over the expert tensor group, as a
dense block is over the tensor group: with sequence parallelism each NPU dispatches its own tokens, and the group
gathers what has arrived.

*Dispatch* by `rank` sends a row a token and expert, sorted by destination (Megatron-core's and DeepSpeed's all-to-all);
what arrives is sorted by expert if an NPU has several. By `node` a token crosses each link once, whatever the number of
its experts behind it (DeepEP, hybrid-ep), is copied where it arrives, and its results are summed up on their way back.

*Served*, the partial sums of the tensor group stay where they are until a token's experts, routed and shared, are
summed up: the group then reduces one row a token (vLLM: `reduce_results=False` of shared experts, one all-reduce after
`FusedMoE`). Training reduces a row for each token and expert. Experts that are whole in such a group (`expert_tensor`
1) need no exchange: each NPU has all tokens, and takes those of its own experts (vLLM: `--enable-expert-parallel`).
"""

from __future__ import annotations

import math
from typing import Literal

from simcore.program import Compute, Operator, blocking_collective
from simcore.workload.transformer.feed_forward import activation, mlp
from simcore.workload.transformer.layers import Piece, Shapes, computed, tagged
from simcore.workload.transformer.linear import norm_after, norm_between, residual

BLOCK, SCALE_BYTES = 128, 4
"""Numbers of a block with a scale of its own in `fp8_block`, and bytes of the scale (DeepSeek-V3, arXiv 2412.19437)."""
ROUTER_KERNELS = 8
"""Kernels between the scores and the dispatch: to fp32, softmax or sigmoid, selection of the top ones, their weights'
sum and quotient, the map of tokens to experts, the count of tokens of each, and the balancing loss (Megatron-core's
router without fusion)."""
ROUTER_PASSES = 6.0
"""Numbers moved a score by softmax, selection of the top ones, and the balancing loss: three reads, three writes."""


def dispatched_rows(shapes: Shapes) -> float:
    """Rows (tokens x experts) that an NPU has for experts, and that it gets for its own."""
    moe = shapes.model.mixture_of_experts
    assert moe is not None
    rows = shapes.tokens / shapes.shared * moe.top_k * moe.capacity_factor
    return rows / shapes.parallelism.expert if shapes.whole_experts else rows


def expert_rows(shapes: Shapes) -> float:
    """Rows that an NPU's experts work on: those of all members of its expert tensor group."""
    return dispatched_rows(shapes) * shapes.expert_shared


def received_rows(shapes: Shapes) -> float:
    """Rows that an NPU gets for its experts: of a token that several of these take, one with dispatch by node."""
    moe, p = shapes.model.mixture_of_experts, shapes.parallelism
    assert moe is not None
    if not shapes.dispatched_once:
        return dispatched_rows(shapes)
    return shapes.tokens / shapes.shared * moe.capacity_factor * moe.routing.copies(p.expert)


def local_experts(shapes: Shapes) -> int:
    """Experts of which an NPU has (its tensor-parallel part of) the parameters."""
    moe = shapes.model.mixture_of_experts
    assert moe is not None
    return moe.experts // shapes.parallelism.expert


def experts_half(shapes: Shapes) -> tuple[Piece, ...]:
    """Norm, router, shared experts, dispatch, experts, combine, residual."""
    moe = shapes.model.mixture_of_experts
    assert moe is not None
    summed = not shapes.served
    shared = mlp(shapes, "shared-expert", moe.shared_feed_forward, summed) if moe.shared_feed_forward else ()
    routed = (
        *_sorted_for_dispatch(shapes, "permute"),
        _exchange(shapes, "dispatch"),
        _gather(shapes),
        *map(_of_routed_size, _experts(shapes)),
        _reduce(shapes),
        _exchange(shapes, "combine"),
        *_sorted_for_dispatch(shapes, "unpermute"),
        *((Piece(shapes.reduce(), ()),) if shapes.served else ()),
    )
    return (
        *tagged("layernorm", *norm_between(shapes)),
        *tagged("moe", _router(shapes), *tagged("shared_experts", *shared), *routed),
        *norm_after(shapes),
        residual(shapes)._replace(only_summed=True),
    )


def _router(shapes: Shapes) -> Piece:
    """Scores of all experts, in 16 bits at least, and the choice among them."""
    moe = shapes.model.mixture_of_experts
    assert moe is not None
    own = shapes.tokens / shapes.shared
    scores = shapes.wide_gemm("router", shapes.tokens // shapes.shared, moe.experts, shapes.model.hidden)
    moved = ROUTER_PASSES * own * moe.experts / ROUTER_KERNELS
    return computed(scores, *(shapes.moves("routing", moved) for _ in range(ROUTER_KERNELS)))


def _sorted_for_dispatch(shapes: Shapes, name: str) -> tuple[Piece, ...]:
    """A row for each expert of each own token, by destination, or the sum of such rows; dispatch by node needs none."""
    if shapes.dispatched_once:
        return ()
    h, own = shapes.model.hidden, shapes.tokens / shapes.shared
    return (computed(shapes.moves(name, own * h + dispatched_rows(shapes) * h)),)


def _experts(shapes: Shapes) -> tuple[Piece, ...]:
    """The experts of an NPU: each way one grouped product, or a product each (`software.expert_launch`)."""
    model, moe = shapes.model, shapes.model.mixture_of_experts
    assert moe is not None
    experts = local_experts(shapes)
    rows, f = expert_rows(shapes), moe.feed_forward / shapes.expert_tensor
    each = math.ceil(rows / experts)
    inner = _grouped(shapes, shapes.gemm("expert-in", each, (2 if model.gated else 1) * f, model.hidden, experts))
    outer = _grouped(shapes, shapes.gemm("expert-out", each, model.hidden, f, experts))
    return (
        *_sorted_by_expert(shapes),
        Piece(shapes.cast("expert-in", rows * model.hidden), ()),
        computed(inner, shapes=shapes),
        *tagged("moe_act", computed(activation(shapes, rows * f))),
        Piece(shapes.cast("expert-out", rows * f), ()),
        computed(outer, shapes=shapes),
        *_biased(shapes, rows * model.hidden),
        *_sorted_by_expert(shapes),
    )


def _grouped(shapes: Shapes, product: Compute) -> Compute:
    """The products of all experts, as the stack has them: one kernel, one that works tile by tile, or a kernel each.

    Rows are sorted by expert and in no way aligned, so of r rows the first may be any of a tile of b: they lie in
    (r + b - 1) / b tiles on average, each computed whole for them.
    """
    moe, software = shapes.model.mixture_of_experts, shapes.software
    assert moe is not None
    assert product.shape is not None
    experts, rows, _, _ = product.shape
    if experts == 1 or not rows:
        return product
    tile = min(software.expert_tile, experts * rows) if moe.capacity_factor == 1.0 else 1
    apart = software.expert_launch if shapes.traced else 0.0
    return product._replace(apart=apart, padding=(rows + tile - 1) / rows)


def _of_routed_size(piece: Piece) -> Piece:
    """A piece of which only routing tells how much there is to do."""

    def marked(operators: tuple[Operator, ...]) -> tuple[Operator, ...]:
        return tuple(one._replace(routed=True) if isinstance(one, Compute) else one for one in operators)

    return piece._replace(forward=marked(piece.forward), backward=marked(piece.backward))


def _biased(shapes: Shapes, count: float) -> tuple[Piece, ...]:
    """The experts' last biases, each times its row's weight, where there are such; the first are added by the product.

    Megatron-core multiplies, adds and joins the rows of one expert after the other (`TEGroupedMLP._apply_bias`): one,
    three and two numbers moved; backward two to split, and three each for the gradients of the bias and of the weight.
    So the host launches an operator for each expert.
    """
    if not shapes.model.biased("experts"):
        return ()
    experts = local_experts(shapes)
    each = shapes.moves("expert-bias", 6.0 * count / experts, 8.0 * count / experts)
    return (computed(*(each,) * experts),)


def _sorted_by_expert(shapes: Shapes) -> tuple[Piece, ...]:
    """Rows that have arrived, expert by expert (or back): nothing to do where they are all for one expert.

    Nor where they come from the own NPU alone, which has sorted them.
    """
    alone = shapes.whole_experts or (shapes.parallelism.expert == 1 and shapes.expert_shared == 1)
    if not shapes.dispatched_once and (alone or local_experts(shapes) == 1):
        return ()
    arrived = received_rows(shapes) * shapes.expert_shared
    return (computed(shapes.moves("sort-rows", (arrived + expert_rows(shapes)) * shapes.model.hidden)),)


def _exchange(shapes: Shapes, way: Literal["dispatch", "combine"]) -> Piece:
    """Dispatch or combine; backward the gradients go the other way.

    Served in `fp8_block` rows are narrowed before they are sent, with a scale for each block (DeepSeek-V3, arXiv
    2412.19437, section 3.3.3; DeepEP); their results come back in 16 bits.
    """
    if shapes.parallelism.expert == 1 or shapes.whole_experts:
        return Piece((), ())
    moe, e = shapes.model.mixture_of_experts, shapes.parallelism.expert
    assert moe is not None
    row = shapes.model.hidden * shapes.width
    narrow = shapes.served and shapes.workload.precision == "fp8_block"
    sent = shapes.model.hidden * (1 + SCALE_BYTES / BLOCK) if narrow else row
    if shapes.dispatched_once:
        tokens = dispatched_rows(shapes) / moe.top_k
        moved = row if shapes.traced else 0  # by a kernel of a GPU; elsewhere the network is all
        library = (moved and shapes.software.exchange) or "deepep"
        there = blocking_collective(moe.routing.kind("dispatch", moved, library), "expert", tokens * sent)
        back = blocking_collective(moe.routing.kind("combine", moved, library), "expert", tokens * row)
        return Piece(there, back) if way == "dispatch" else Piece(back, there)
    there, back = (shapes.blocking("all_to_all", "expert", dispatched_rows(shapes) * size, e) for size in (sent, row))
    return Piece(there, back) if way == "dispatch" else Piece(back, there)


def _gather(shapes: Shapes) -> Piece:
    """The expert tensor group gathers the rows of its members, and reduces their gradient."""
    return _turned(_reduce(shapes))


def _reduce(shapes: Shapes) -> Piece:
    """The experts' partial sums over the expert tensor group."""
    t = shapes.expert_tensor
    if t == 1 or shapes.served:
        return Piece((), ())
    group = "tensor" if t == shapes.parallelism.tensor else "expert_tensor"
    whole = received_rows(shapes) * shapes.expert_shared * shapes.model.hidden * shapes.width
    if shapes.shared == 1:
        return Piece(shapes.blocking("all_reduce", group, whole, t), ())
    gather = shapes.blocking("all_gather", group, whole / t, t)
    return Piece(shapes.blocking("reduce_scatter", group, whole, t), gather)


def _turned(piece: Piece) -> Piece:
    return Piece(piece.backward, piece.forward)
