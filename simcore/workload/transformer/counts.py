"""Parameters and model FLOPs of a transformer, by its shape alone: what no parallelism changes.

A GPT layer has 12 h^2 + 13 h parameters and takes 24 s h^2 + 4 s^2 h FLOPs forward per sequence (Narayanan et al.
2021, appendix). Grouped queries, gated blocks, latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1) and
experts count the matrices that they have; of its routed experts a token takes `top_k`.
"""

from __future__ import annotations

from simcore.workload.transformer.document import TransformerWorkload
from simcore.workload.transformer.model import Transformer


def attention_matrices(model: Transformer) -> int:
    """Numbers in the matrices of one attention block."""
    h, out = model.hidden, model.output_width * model.hidden
    latent = model.latent_attention
    if latent is None:
        return h * model.query_width + 2 * h * model.kv_width + out
    rank = latent.q_lora_rank
    queries = rank * (h + model.query_width) if rank else h * model.query_width
    down = h * (latent.kv_lora_rank + latent.qk_rope_head_dim)
    up = latent.kv_lora_rank * model.heads * (latent.qk_nope_head_dim + latent.v_head_dim)
    return queries + down + up + out


def mlp_matrices(model: Transformer, width: int) -> int:
    """Numbers in the matrices of a feed-forward block of `width`."""
    return (3 if model.gated else 2) * model.hidden * width


def router_and_shared(model: Transformer) -> int:
    """Numbers in the router and the shared experts of one layer of experts."""
    moe = model.mixture_of_experts
    assert moe is not None
    return model.hidden * moe.experts + mlp_matrices(model, moe.shared_feed_forward)


def layer_vectors(model: Transformer, experts: bool) -> int:
    """Norms and biases of a layer: 13 h with biases, an ungated block of 4 h and full heads."""
    h = model.hidden
    latent = model.latent_attention
    norms = 2 * h + ((latent.q_lora_rank or 0) + latent.kv_lora_rank if latent else 0)
    if not model.bias:
        return norms
    moe = model.mixture_of_experts
    width = moe.shared_feed_forward if experts and moe else model.ffn
    return norms + 2 * h + model.query_width + 2 * model.kv_width + width + 2 * h


def layer_matrices(model: Transformer, experts: bool) -> tuple[int, int]:
    """Numbers in the matrices of a layer that every token passes, and in those of its routed experts together."""
    moe = model.mixture_of_experts
    if not experts or moe is None:
        return attention_matrices(model) + mlp_matrices(model, model.ffn), 0
    own = attention_matrices(model) + router_and_shared(model)
    return own, moe.experts * mlp_matrices(model, moe.feed_forward)


def copied_parameters(model: Transformer, experts: bool) -> int:
    """Numbers in matrices of a layer that a tensor group does not split: down to the latents, and the router's."""
    latent, moe = model.latent_attention, model.mixture_of_experts
    down = latent.kv_lora_rank + latent.qk_rope_head_dim + (latent.q_lora_rank or 0) if latent else 0
    return model.hidden * (down + (moe.experts if moe and experts else 0))


def active_matrices(model: Transformer, experts: bool) -> float:
    """Numbers in the matrices of a layer that one token passes."""
    own, routed = layer_matrices(model, experts)
    moe = model.mixture_of_experts
    if not experts or moe is None:
        return float(own)
    return own + routed * moe.top_k / moe.experts * min(1.0, moe.capacity_factor)


def layers_by_kind(model: Transformer) -> tuple[tuple[bool, int], ...]:
    """How many layers have experts (True) or a dense block (False)."""
    return ((False, model.layers - model.expert_layers), (True, model.expert_layers))


def predicts_by_experts(model: Transformer) -> bool:
    """Whether the layers that predict further tokens have experts: as the model's layers after the first ones have."""
    return model.mixture_of_experts is not None


def projection_matrix(model: Transformer) -> int:
    """Numbers in the matrix from a token's hidden state and the next one's embedding to what predicts further."""
    return 2 * model.hidden * model.hidden


def model_matrices(model: Transformer) -> float:
    """Parameters of the whole model in matrices, with one embedding matrix: a lower bound of its parameters."""
    layers = sum(count * sum(layer_matrices(model, experts)) for experts, count in layers_by_kind(model))
    if model.multi_token_prediction:
        each = sum(layer_matrices(model, predicts_by_experts(model))) + projection_matrix(model)
        layers += model.multi_token_prediction * each
    return float(layers + model.vocabulary * model.hidden)


def forward_flops(workload: TransformerWorkload, flash: bool = False) -> float:
    """FLOPs of one forward pass of the global batch, over all NPUs.

    Per layer and token 2 x matrices + 4 s h, that is 24 h^2 + 4 s h for the GPT layer; 2 h V per token for the head.
    Layers that predict further tokens have a projection and the head's product each.
    `flash` attention skips the masked half of the scores.
    """
    model, s = workload.model, workload.sequence
    further = model.multi_token_prediction
    matrices = sum(count * active_matrices(model, experts) for experts, count in layers_by_kind(model))
    matrices += further * (active_matrices(model, predicts_by_experts(model)) + projection_matrix(model))
    attention = 2.0 * s * (model.query_width + model.output_width) * (0.5 if flash else 1.0)
    head = 2.0 * model.hidden * model.vocabulary
    a_token = 2.0 * matrices + (model.layers + further) * attention + (1 + further) * head
    return workload.global_batch * s * a_token
