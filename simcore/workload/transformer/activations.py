"""What a layer keeps for its backward pass, term by term, and what it needs for a while (per NPU, of one microbatch).

Of a GPT layer in 16 bits Korthikanti et al. 2022 (arXiv 2205.05198, equations 2 to 4) count s b h (10 + 24 / t +
5 a s / (h t)) bytes, all of it / t with sequence parallelism; the terms here are theirs, taken apart, so that grouped
queries, gated blocks, latent attention and experts count the tensors that Megatron-core keeps of them. Every linear
layer keeps its input (8 bits wide with 8-bit precision), every norm its input, every activation function its input,
attention its queries, keys, values and output, and either its scores or, fused, one fp32 number a row of them.
"""

from __future__ import annotations

from simcore.workload.transformer.context import ring_transient
from simcore.workload.transformer.layer import LayerKind, usual_kind
from simcore.workload.transformer.layers import Shapes
from simcore.workload.transformer.moe import expert_rows

FP32 = 4

_SHARED = ("shared experts activation input", "shared experts activation output")
RECOMPUTED = {
    "core_attn": ("log-sum-exp", "scores", "gathered keys and values"),
    "mla_up_proj": ("queries", "keys and values"),
    "layernorm": ("attention product input", "mlp product input"),
    "mlp": ("mlp activation input", "mlp activation output"),
    "moe_act": ("experts activation output",),
    "shared_experts": _SHARED,
    "moe": (
        "router scores and choices",
        "dispatched rows",
        "row weights",
        "experts activation input",
        "experts activation output",
        *_SHARED,
    ),
}
"""Of each module that can be recomputed (`parallelism.recompute_modules`), what is then not kept of it: its inputs are,
and its output where another operator has it as input."""

Terms = dict[str, float]
"""Bytes by name."""


def layer_kept(shapes: Shapes, kind: LayerKind | None = None) -> Terms:
    """Bytes that a layer keeps of one microbatch, by what they are; fully recomputed, its input alone."""
    kind = kind or usual_kind(shapes)
    if kind.recompute == "full":
        return {"layer input": shapes.hidden_bytes / shapes.shared}
    terms = _attention_kept(shapes) | (_experts_kept(shapes) if kind.experts else _dense_kept(shapes))
    if kind.recompute == "selective":
        for module in kind.recomputed_modules(shapes):
            for name in RECOMPUTED[module]:
                terms.pop(name, None)
    return terms


def layer_activations(shapes: Shapes, kind: LayerKind | None = None) -> float:
    """Bytes of `layer_kept` in all."""
    return sum(layer_kept(shapes, kind).values())


def _norm_kept(shapes: Shapes, half: str) -> Terms:
    """A norm's input, the input of the product after it, and the mask of the dropout at the end of the half.

    Dropout masks, of one byte, come with the biased (GPT) layer. A norm at the end of the half keeps its input too.
    Where one norm is for both halves, the second one has no such tensors of its own.
    """
    own = shapes.tokens * shapes.model.hidden / shapes.shared
    mask = 1.0 if shapes.model.bias else 0.0
    after = {f"{half} last norm input": own * shapes.width} if shapes.model.layer_norms == 4 else {}
    if shapes.model.layer_norms == 1 and half == "mlp":
        return {"mlp dropout mask": own * mask}
    return after | {
        f"{half} norm input": own * shapes.width,
        f"{half} product input": own * shapes.operand,
        f"{half} dropout mask": own * mask,
    }


def _exchanges(shapes: Shapes) -> bool:
    """Whether queries and outputs of attention change NPUs, so that they are held before and after."""
    return shapes.query_npus > 1 or shapes.parallelism.head_npus > 1


def _attention_kept(shapes: Shapes) -> Terms:
    model, p, t = shapes.model, shapes.parallelism, shapes.parallelism.tensor
    tokens, width = shapes.tokens, shapes.width
    latent = model.latent_attention
    out = tokens * model.output_width / t
    terms = _norm_kept(shapes, "attention")
    if latent:
        ranks = latent.kv_lora_rank + (latent.q_lora_rank or 0)
        terms["latents"] = tokens * (ranks + latent.qk_rope_head_dim) / shapes.shared * width
        terms["normed latents"] = tokens * ranks / shapes.shared * shapes.operand
    terms["queries"] = tokens * model.query_width / t * width
    terms["keys and values"] = tokens * 2 * shapes.kv_width * width
    if model.qk_norm != "none":
        terms["queries and keys before norms"] = tokens * (model.query_width / t + shapes.key_width) * width
    terms["attention output"] = out * width
    if (sharing := shapes.query_npus) > 1:
        terms["gathered keys and values"] = (sharing - 1) * terms["keys and values"]
    apart = _exchanges(shapes)
    if apart or shapes.operand != width:  # else attention and the projection share it
        terms["projection input"] = out * shapes.operand
    rows = p.microbatch * shapes.sequence * model.heads / t
    if p.flash_attention:
        terms["log-sum-exp"] = rows * FP32
    else:
        terms["scores"] = rows * shapes.workload.sequence * (2 * width + 1)  # two of them, and a dropout mask
    return terms


def _block_kept(shapes: Shapes, name: str, tokens: float, width: float) -> Terms:
    """The input of the activation (two where gated) and of the second product of a block."""
    return {
        f"{name} activation input": tokens * (2 if shapes.model.gated else 1) * width * shapes.width,
        f"{name} activation output": tokens * width * shapes.operand,
    }


def _dense_kept(shapes: Shapes) -> Terms:
    return _norm_kept(shapes, "mlp") | _block_kept(
        shapes, "mlp", shapes.tokens, shapes.model.ffn / shapes.parallelism.tensor
    )


def _experts_kept(shapes: Shapes) -> Terms:
    """The router and the shared experts read the same normed tokens; each dispatched row is a copy of its own."""
    moe, t = shapes.model.mixture_of_experts, shapes.parallelism.tensor
    assert moe is not None
    own, rows = shapes.tokens / shapes.shared, expert_rows(shapes)
    return (
        _norm_kept(shapes, "mlp")
        | {"router scores and choices": own * moe.experts * (2 * FP32 + 1)}
        | _block_kept(shapes, "shared experts", shapes.tokens, moe.shared_feed_forward / t)
        | {"dispatched rows": rows * shapes.model.hidden * shapes.operand, "row weights": rows * FP32}
        | _block_kept(shapes, "experts", rows, moe.feed_forward / shapes.expert_tensor)
    )


def layer_transient(shapes: Shapes, kind: LayerKind) -> float:
    """Most bytes beyond what is kept while a layer goes backward: gradients of what its largest operators produced.

    In a block, when the activation's input gradient is there its output's is not yet gone, but the output itself is;
    in attention, the gradients of output, queries, keys and values, which an all-to-all holds three times (as computed,
    as sent, as received); where queries are split, those of keys and values are of all tokens before they are reduced.
    Or while it goes forward, what a ring of contexts holds of all parts.
    """
    model, p, t = shapes.model, shapes.parallelism, shapes.parallelism.tensor
    tokens, moe = shapes.tokens, model.mixture_of_experts
    gates = 2 if model.gated else 1
    copies = 3 if _exchanges(shapes) else 1
    attention = copies * tokens * ((model.output_width + model.query_width) / t + 2 * shapes.kv_width)
    attention += (shapes.query_npus - 1) * tokens * 2 * shapes.kv_width
    if p.context > 1 and p.context_communication == "ring":
        attention = max(attention, ring_transient(shapes))
    if kind.experts and moe:
        routed = expert_rows(shapes) * (model.hidden + gates * moe.feed_forward / shapes.expert_tensor)
        block = max(routed, tokens * gates * moe.shared_feed_forward / t)
    else:
        block = tokens * (model.hidden + gates * model.ffn / t)
    residual = tokens * model.hidden / shapes.shared
    return (residual + max(attention, block)) * shapes.width


def weight_shapes(shapes: Shapes, kind: LayerKind) -> frozenset[tuple[float, float]]:
    """Shapes of the weights of a layer per NPU, each once: [outputs, inputs]."""
    model, t = shapes.model, shapes.parallelism.tensor
    h, latent, moe = model.hidden, model.latent_attention, model.mixture_of_experts
    gates = 2 if model.gated else 1
    found: set[tuple[float, float]] = {(h, model.output_width / t)}
    if latent:
        found |= {
            (latent.kv_lora_rank + latent.qk_rope_head_dim, h),
            (model.heads * (latent.qk_nope_head_dim + latent.v_head_dim) / t, latent.kv_lora_rank),
            (model.query_width / t, latent.q_lora_rank or h),
        }
        if latent.q_lora_rank:
            found.add((latent.q_lora_rank, h))
    else:
        found.add(((model.query_width + 2 * model.kv_width) / t, h))
    widths = [model.ffn / t]
    if kind.experts and moe:
        widths = [moe.feed_forward / shapes.expert_tensor, moe.shared_feed_forward / t]
    for width in filter(None, widths):
        found |= {(gates * width, h), (h, width)}
    return frozenset(found)
