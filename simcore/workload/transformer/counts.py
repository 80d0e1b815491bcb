"""Parameters and model FLOPs of a transformer, by its shape alone: what no parallelism changes.

A GPT layer has 12 h^2 + 13 h parameters and takes 24 s h^2 + 4 s^2 h FLOPs forward per sequence (Narayanan et al.
2021, appendix). Grouped queries, gated blocks, latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1) and
experts count the matrices that they have; of its routed experts a token takes `top_k`.
"""

from __future__ import annotations

from functools import lru_cache

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
    """Norms and biases of a layer: 13 h with biases, an ungated block of 4 h and full heads.

    Those of the routed experts are apart (`expert_vectors`).
    """
    latent = model.latent_attention
    latents = (latent.q_lora_rank or 0) + latent.kv_lora_rank if latent else 0
    found = model.layer_norms * model.norm_width + latents + _qk_norms(model)
    found += model.heads if model.attention_sinks else 0
    if model.biased("qkv"):
        found += model.query_width + 2 * model.kv_width
    if model.biased("projection"):
        found += model.hidden
    return found + (_router_vectors(model) if experts else 0) + _block_biases(model, experts)


def _qk_norms(model: Transformer) -> int:
    if model.qk_norm == "head":
        return 2 * model.qk_head_dim
    return model.query_width + model.key_heads * model.qk_head_dim if model.qk_norm == "width" else 0


def _router_vectors(model: Transformer) -> int:
    moe = model.mixture_of_experts
    if moe is None:
        return 0
    return (moe.experts if model.biased("router") else 0) + (model.hidden if moe.shared_gate else 0)


def _block_biases(model: Transformer, experts: bool) -> int:
    """Biases of the dense block, or of the shared experts."""
    moe = model.mixture_of_experts
    width = moe.shared_feed_forward if experts and moe else model.ffn
    return _biases(model, width) if model.biased("mlp") and width else 0


def _biases(model: Transformer, width: int) -> int:
    """Biases of a block of `width`: those of the products in, and of the one out."""
    return (2 if model.gated else 1) * width + model.hidden


def expert_vectors(model: Transformer) -> int:
    """Biases of the routed experts of a layer, together."""
    moe = model.mixture_of_experts
    return moe.experts * _biases(model, moe.feed_forward) if moe and model.biased("experts") else 0


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


def edge_parameters(model: Transformer) -> int:
    """Parameters before and after the layers: embeddings, the last norm, and the output matrix where it is another."""
    table = model.vocabulary * model.hidden
    positions = model.sequence_length * model.hidden if model.position == "learned" else 0
    head = (0 if model.shares_embedding else table) + (model.vocabulary if model.biased("head") else 0)
    return table + positions + head + model.norm_width


def model_parameters(model: Transformer) -> int:
    """All parameters of the model, to the last norm and bias; without what predicts further tokens."""
    return edge_parameters(model) + sum(
        count * (sum(layer_matrices(model, experts)) + layer_vectors(model, experts) + experts * expert_vectors(model))
        for experts, count in layers_by_kind(model)
    )


def active_parameters(model: Transformer) -> int:
    """Parameters that a token passes: of the routed experts `top_k`, all others, both embedding matrices too."""
    moe = model.mixture_of_experts
    if moe is None:
        return model_parameters(model)
    idle = moe.experts - moe.top_k
    each = mlp_matrices(model, moe.feed_forward) + expert_vectors(model) // moe.experts
    return model_parameters(model) - model.expert_layers * idle * each


def further_parameters(model: Transformer) -> int:
    """Parameters of the layers that predict further tokens: each a layer, a projection and three norms."""
    if not model.multi_token_prediction:
        return 0
    experts = predicts_by_experts(model)
    layer = sum(layer_matrices(model, experts)) + layer_vectors(model, experts) + experts * expert_vectors(model)
    return model.multi_token_prediction * (layer + projection_matrix(model) + 3 * model.norm_width)


def attention_flops(model: Transformer, sequence: int, flash: bool = False) -> float:
    """FLOPs that a token takes forward to attend, over all layers: 4 s h each where nothing is masked.

    `flash` attention skips what the causal mask rules out, and what lies outside a layer's window; else every score is
    computed.
    """
    a_token = 2.0 * (model.query_width + model.output_width)
    layers = model.layers + model.multi_token_prediction
    if not flash:
        return layers * a_token * sequence
    window = model.window_of(sequence)
    windowed = model.windowed_layers(sequence)
    return a_token * ((layers - windowed) * sequence / 2 + (windowed * window.seen(sequence) if window else 0.0))


def forward_flops(workload: TransformerWorkload, flash: bool = False) -> float:
    """FLOPs of one forward pass of the global batch, over all NPUs: `token_flops` of each token."""
    return workload.global_batch * workload.sequence * token_flops(workload.model, workload.sequence, flash)


@lru_cache(maxsize=512)
def token_flops(model: Transformer, sequence: int, flash: bool = False) -> float:
    """FLOPs of a token forward, in a sequence of so many.

    Per layer 2 x matrices + 4 s h, that is 24 h^2 + 4 s h for the GPT layer; 2 h V for the head.
    Layers that predict further tokens have a projection and the head's product each.
    `flash` attention skips the masked half of the scores, and what lies outside windows.
    """
    further = model.multi_token_prediction
    matrices = sum(count * active_matrices(model, experts) for experts, count in layers_by_kind(model))
    if further:
        matrices += further * (active_matrices(model, predicts_by_experts(model)) + projection_matrix(model))
    head = 2.0 * model.hidden * model.vocabulary
    return 2.0 * matrices + attention_flops(model, sequence, flash) + (1 + further) * head
