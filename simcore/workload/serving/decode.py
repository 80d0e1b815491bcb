"""One further token of each request: attention against its cache, and the experts that a few tokens take.

*Latent attention* keeps, of each token and layer, the latent of its keys and values and the one rotary key that all
heads share: d_c + d_r numbers in place of 2 n_kv d (DeepSeek-V2, arXiv 2405.04434, section 2.1.2 and Table 1). A decode
never expands them: W_UK is absorbed into the query and W_UV into the output (same section), so that all heads of a
request are the rows of one product with its d_c + d_r wide cache, and of one with its d_c wide values, as if there were
one key-value head. The two matrices are those of the expansion, used on one token instead of on the whole context.

*Experts*: T tokens that each take k of E experts, any k of them as likely, touch E (1 - (1 - k/E)^T) experts on
average: those are read. Of the group of e NPUs that share the experts, each has 1 / e of them.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from itertools import chain, groupby

from simcore.program import Compute, Operator
from simcore.workload.transformer.layers import Shapes
from simcore.workload.transformer.model import Transformer
from simcore.workload.transformer.moe import dispatched_rows, local_experts

Replacement = dict[str, tuple[Operator, ...]]
"""By the name of an operator of a training layer, what is there instead."""


@dataclass(frozen=True)
class CacheHeads:
    """What attention reads and does for a token of the cache, on one NPU of a tensor group."""

    heads: float
    """Heads of keys and values; fewer than tensor-parallel NPUs are copied."""
    shared: float
    """Query heads of each."""
    key: int
    """Width of a key in the cache."""
    value: int
    """Width of a value in the cache."""
    width: int
    """Numbers kept of a token and head: values that are a part of the keys are kept once."""


def cache_heads(model: Transformer, tensor: int) -> CacheHeads:
    """Key and value heads in the cache of a layer of `model`; latents are whole on every NPU of the tensor group."""
    latent = model.latent_attention
    if latent is not None:
        key = latent.kv_lora_rank + latent.qk_rope_head_dim
        return CacheHeads(1.0, model.heads / tensor, key, latent.kv_lora_rank, key)
    heads = max(1.0, model.key_heads / tensor)
    key, value = model.qk_head_dim, model.v_head_dim
    return CacheHeads(heads, model.heads / tensor / heads, key, value, key + value)


def decoded_width(model: Transformer) -> int:
    """Multiplications of a decoded token with one token of the cache, over all heads of a layer."""
    heads = cache_heads(model, 1)
    return model.heads * (heads.key + heads.value)


def decode_attention(shapes: Shapes, context: int, cache_width: float) -> Replacement:
    """Attention of one token of each request to `context` tokens, whose numbers take `cache_width` bytes."""
    cached = cache_heads(shapes.model, shapes.parallelism.tensor)
    products = shapes.tokens * cached.heads
    rows = products * cached.shared
    kind = "gemm" if shapes.width == shapes.operand else "core"
    each = 2.0 * rows * context
    queries, outputs, scores = (count * shapes.width * rows for count in (cached.key, cached.value, context))
    keys, values = (count * cache_width * products * context for count in (cached.key, cached.value))
    wide, narrow = (products, cached.shared, context, cached.key), (products, cached.shared, cached.value, context)
    absorb, expand = _absorbed(shapes)
    found: Replacement = {"kv-up": absorb} if absorb else {}
    if shapes.parallelism.flash_attention:
        once = cached.width * cache_width * products * context
        flops = each * (cached.key + cached.value)
        fused = Compute("flash-attention", "flash", flops, queries + once + outputs, fused=(wide, narrow))
        return found | {"flash-attention": (fused, *expand)}
    weighted = Compute("attention", kind, each * cached.value, scores + values + outputs, shape=narrow)
    return found | {
        "scores": (Compute("scores", kind, each * cached.key, queries + keys + scores, shape=wide),),
        "softmax": (Compute("softmax", "memory", 0.0, 3.0 * scores),),
        "attention": (weighted, *expand),
    }


def _absorbed(shapes: Shapes) -> tuple[tuple[Operator, ...], tuple[Operator, ...]]:
    """Queries to the space of the latents, and weighted latents to values, head by head; nothing without latents."""
    latent = shapes.model.latent_attention
    if latent is None:
        return (), ()
    heads, rank = shapes.model.heads / shapes.parallelism.tensor, latent.kv_lora_rank
    absorb = shapes.gemm("absorb-keys", shapes.tokens, rank, latent.qk_nope_head_dim, heads)
    expand = shapes.gemm("expand-values", shapes.tokens, latent.v_head_dim, rank, heads)
    return (absorb,), (expand,)


def touched_experts(experts: int, top_k: int, tokens: float) -> float:
    """Different experts that `tokens` tokens take on average."""
    missed: float = (1.0 - top_k / experts) ** tokens  # by all of them, one expert
    return experts * (1.0 - missed)


BUSIEST = 0.6
"""Rate of experts that are spread over NPUs, over that of evenly routed ones: all wait for the NPU of the busiest,
which takes 1.7 times the mean. With it 27 published throughputs of a mixture on eight H100, H200 and B200 are 1.11,
1.24 and 1.18 times too high in the mean, without it 1.44, 1.55 and 1.43; ten of another on one B200, where none waits,
1.12 times (docs/accuracy-details.md, Served models)."""


def served_experts(shapes: Shapes, rate: float) -> Replacement:
    """The products of an NPU's experts, of which those are read that its group's tokens take.

    They are one kernel, at `rate` times the rate of other products (`Software.experts_on`), of the busiest NPU where
    several have them (`BUSIEST`).
    Their last biases are added by a server's kernel of all experts (vLLM, `fused_moe`), not one expert after the other.
    """
    model, moe, p = shapes.model, shapes.model.mixture_of_experts, shapes.parallelism
    if moe is None:
        return {}
    share = local_experts(shapes) / moe.experts
    tokens = shapes.tokens * (1 if shapes.whole_experts else p.expert)
    read = touched_experts(moe.experts, moe.top_k, tokens) * share
    each, f = dispatched_rows(shapes) / read, moe.feed_forward / shapes.expert_tensor
    wide = (2 if model.gated else 1) * f
    rate *= BUSIEST if p.expert > 1 else 1.0
    return {
        "expert-bias": (),
        "expert-in": (shapes.gemm("expert-in", each, wide, model.hidden, read)._replace(padding=1.0 / rate),),
        "expert-out": (shapes.gemm("expert-out", each, model.hidden, f, read)._replace(padding=1.0 / rate),),
    }


def replaced(operators: tuple[Operator, ...], by: Replacement) -> tuple[Operator, ...]:
    """`operators` with others in place of those named."""
    return fill_frame(frame_of(operators, by), by)


Frame = tuple[tuple[Operator, ...] | str, ...]
"""Operators that stay, and between them the names of those that others take the place of."""


def frame_of(operators: tuple[Operator, ...], names: Container[str]) -> Frame:
    """`operators` without those of these names, to be filled with other ones many times over."""
    grouped = groupby(operators, lambda op: name if (name := getattr(op, "name", "")) in names else None)
    return tuple(
        part for name, group in grouped for part in ((tuple(group),) if name is None else (name for _ in group))
    )


def fill_frame(frame: Frame, by: Replacement) -> tuple[Operator, ...]:
    """The operators of a frame, with others in place of those named."""
    return tuple(chain.from_iterable(by[part] if isinstance(part, str) else part for part in frame))
