"""The attention half of a layer: projections, latent or not, and the attention itself.

A fused kernel (*flash*; Dao et al. 2022, arXiv 2205.14135) reads queries, keys and values once, writes its output, and
skips the half of the scores that the causal mask rules out, and the tiles outside a layer's window; other kernels
compute and mask them all. A ring passes every key to everyone: it works only where no window is shorter than the
sequence.
"""

from __future__ import annotations

from simcore.program import Compute
from simcore.workload.transformer.context import all_to_all, ring
from simcore.workload.transformer.layers import Piece, Shapes, backwards, computed, tagged
from simcore.workload.transformer.linear import column, norm, norm_after, residual, row
from simcore.workload.transformer.split_queries import split_queries


def attention_half(shapes: Shapes, windowed: bool = False) -> tuple[Piece, ...]:
    """Norm, projections, attention (`windowed`, or to the whole sequence), projection, residual."""
    model, t = shapes.model, shapes.parallelism.tensor
    h = model.hidden
    return (
        *tagged("layernorm", norm(shapes)),
        *(_latent_projections(shapes) if model.latent_attention else _projections(shapes)),
        *_qk_norm(shapes),
        *tagged("core_attn", *core(shapes, windowed)),
        *(() if shapes.parallelism.flash_attention else (_transposed(shapes),)),
        row(shapes, "projection", model.output_width / t, h),
        *norm_after(shapes),
        residual(shapes),
    )


def _projections(shapes: Shapes) -> tuple[Piece, ...]:
    model, t = shapes.model, shapes.parallelism.tensor
    width = (model.query_width + 2 * model.kv_width) / t
    if shapes.served:
        width = model.query_width / t + 2 * shapes.kv_width
    turned = width if model.bias else model.query_width / t + shapes.kv_width
    bias_or_rotary = shapes.elementwise("bias" if model.bias else "rotary", 2.0 * shapes.tokens * turned)
    return column(shapes, "qkv", width, model.hidden, bias_or_rotary), *_gathered_heads(shapes, width)


def _gathered_heads(shapes: Shapes, width: float) -> tuple[Piece, ...]:
    """Where several NPUs have the same key-value head: all columns are gathered, of which each takes its heads.

    So Megatron-core does where `num_query_groups` is below the tensor degree (attention.py: `SelfAttention`). A server
    copies the weights of such a head instead (vLLM: `QKVParallelLinear`).
    """
    if not shapes.shares_key_heads or shapes.served:
        return ()
    own, t = shapes.tokens * width * shapes.width, shapes.parallelism.tensor
    gather = shapes.blocking("all_gather", "tensor", own, t)
    return (Piece(gather, shapes.blocking("reduce_scatter", "tensor", own * t, t)),)


def _qk_norm(shapes: Shapes) -> tuple[Piece, ...]:
    """The norms of queries and keys: read and written; backward read twice, written, and read for weights."""
    model = shapes.model
    if model.qk_norm == "none":
        return ()
    count = shapes.tokens * (model.query_width / shapes.parallelism.tensor + shapes.key_width)
    return (computed(shapes.elementwise("qk-norm", 2.0 * count, 5.0 * count)),)


def _transposed(shapes: Shapes) -> Piece:
    """The output of attention, from heads to tokens."""
    moved = 2.0 * shapes.tokens * shapes.model.output_width / shapes.parallelism.tensor
    return computed(shapes.moves("transpose", moved, moved))


def _latent_projections(shapes: Shapes) -> tuple[Piece, ...]:
    """Down to the latents, which the NPUs of a tensor group all have whole, and up to their heads."""
    model, t, tokens = shapes.model, shapes.parallelism.tensor, shapes.tokens
    latent = model.latent_attention
    assert latent is not None
    h, heads = model.hidden, model.heads / t
    rotary = latent.qk_rope_head_dim
    ranks = latent.kv_lora_rank + (latent.q_lora_rank or 0)
    down = [shapes.gemm("kv-down", tokens // shapes.shared, latent.kv_lora_rank + rotary, h)]
    if latent.q_lora_rank:
        down.insert(0, shapes.gemm("q-down", tokens // shapes.shared, latent.q_lora_rank, h))
    q_up = shapes.gemm("q-up", tokens, heads * model.qk_head_dim, latent.q_lora_rank or h)
    kv_up = shapes.gemm("kv-up", tokens, heads * (latent.qk_nope_head_dim + latent.v_head_dim), latent.kv_lora_rank)
    return (
        computed(*down, shapes=shapes),
        computed(shapes.whole_elementwise("latent-norms", 2.0 * tokens * ranks)),
        *tagged(
            "mla_up_proj",
            _gathered_latents(shapes, ranks + rotary),
            Piece((q_up, kv_up), backwards((q_up, kv_up), shapes, again=shapes.gather_beside(ranks))),
            computed(shapes.elementwise("rotary", 4.0 * tokens * heads * model.qk_head_dim)),
        ),
    )


def _gathered_latents(shapes: Shapes, width: int) -> Piece:
    """With sequence parallelism the latents of all tokens are gathered, which is less than the hidden states."""
    if shapes.shared == 1:
        return Piece((), ())
    whole = float(shapes.tokens * width * shapes.width)
    t = shapes.shared
    gather = shapes.blocking("all_gather", "tensor", whole / t, t)
    return Piece(gather, shapes.blocking("reduce_scatter", "tensor", whole, t))


def core_computes(shapes: Shapes, parts: int = 1, windowed: bool = False) -> tuple[Compute, ...]:
    """Attention from an NPU's queries to 1 / `parts` of the keys and values: scores, softmax, weighted values.

    After an all-to-all these are of all tokens, and of the NPU's share of the heads. The softmax masks; GPT's layer,
    the one with biases, also drops out.
    """
    model, p, split = shapes.model, shapes.parallelism, shapes.parallelism.head_npus
    groups = p.tensor // shapes.query_npus * split
    s, keys, heads = shapes.queries * split, shapes.workload.sequence // parts, p.microbatch * model.heads / groups
    if p.flash_attention:
        query, value = model.qk_head_dim, model.v_head_dim
        seen = _computed(shapes, keys, windowed)
        flops = float(2 * heads * s * seen * (query + value))
        kv = 2 * p.microbatch * keys * shapes.kv_width * shapes.query_npus / split
        fused = (heads, s, seen, query), (heads, s, value, seen)
        traffic = shapes.width * (heads * s * (query + value) + kv)
        return (Compute("flash-attention", "flash", flops, traffic, fused=fused),)
    scores = heads * s * keys
    kept = (2 + 1 / shapes.width) * scores  # a mask of one byte
    dropout = (shapes.moves("attention-dropout", kept, kept),) if model.bias else ()
    return (
        _product(shapes, shapes.gemm("scores", s, keys, model.qk_head_dim, heads)),
        shapes.moves("softmax", 2.0 * scores, 3.0 * scores),
        *dropout,
        _product(shapes, shapes.gemm("attention", s, model.v_head_dim, keys, heads)),
    )


def _computed(shapes: Shapes, keys: int, windowed: bool) -> float:
    """Those of `keys` whose scores are computed for a token: half of them under the causal mask, or a window's."""
    window = shapes.model.window_of(shapes.workload.sequence)
    return window.computed(shapes.workload.sequence) if windowed and window else keys / 2


def _product(shapes: Shapes, gemm: Compute) -> Compute:
    return gemm if shapes.width == shapes.operand else gemm._replace(kind="core")


def core(shapes: Shapes, windowed: bool = False) -> tuple[Piece, ...]:
    """The attention itself, with what context parallelism, or a split of the queries, sends."""
    p = shapes.parallelism
    if p.context > 1 and p.context_communication == "ring":
        return (ring(shapes, core_computes(shapes, p.context)),)
    whole = computed(*core_computes(shapes, windowed=windowed))
    if p.context > 1:
        return all_to_all(shapes, whole)
    return (whole,) if shapes.query_npus == 1 else split_queries(shapes, whole)
