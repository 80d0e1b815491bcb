"""DeepSeek-V2 and V3, and Kimi K2: latent attention, fine-grained and shared experts, the first layers dense.

With `topk_method` noaux_tc a router has a number for each expert that balances it, which counts as a bias.
`num_nextn_predict_layers` are the layers that predict further tokens (DeepSeek-V3, arXiv 2412.19437, section 2.2).
"""

from __future__ import annotations

from typing import Any

from simcore.workload.transformer.huggingface.base import Configuration, ModelFamily, Shape, add_biases, decoder
from simcore.workload.transformer.huggingface.patterns import expert_layers


class DeepSeek(ModelFamily):
    """`model_type` deepseek_v2, deepseek_v3 and kimi_k2."""

    def __init__(self, method: str) -> None:
        self._method = method
        """`topk_method` where the file does not say it."""

    def read(self, config: Configuration) -> Shape:
        """See `ModelFamily.read`."""
        shape = decoder(config)
        shape.pop("head_dim", None)  # of the rotary part, in newer files
        shape.pop("kv_heads")  # keys and values are of the latents
        config.omit_dropouts("attention_dropout")
        config.known("aux_loss_alpha ep_size norm_topk_prob routed_scaling_factor scoring_func seq_aux qk_head_dim")
        config.known("rope_interleave output_router_logits router_aux_loss_coef")
        if config.flag("attention_bias"):
            config.omit("attention_bias: biases of the products to and from the latents")
        shape["latent_attention"] = {
            "q_lora_rank": config.optional("q_lora_rank"),
            **{key: config.size(key) for key in ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")},
        }
        shape["multi_token_prediction"] = config.size("num_nextn_predict_layers", default=0, least=0)
        method = config.text("topk_method", self._method)
        if config.optional("n_routed_experts") is not None:
            shape["mixture_of_experts"] = self._experts(config, shape["layers"], method)
            if method == "noaux_tc":
                add_biases(shape, "router")
        return shape

    def _experts(self, config: Configuration, layers: int, method: str) -> dict[str, Any]:
        width, groups = config.size("moe_intermediate_size"), config.size("n_group", default=1)
        chosen = config.size("topk_group", default=groups)
        first = config.size("first_k_dense_replace", default=0, least=0)
        each = config.size("moe_layer_freq", default=1)
        grouped = groups > 1 and method != "greedy"
        return {
            "experts": config.size("n_routed_experts"),
            "top_k": config.size("num_experts_per_tok"),
            "feed_forward": width,
            "shared_feed_forward": width * config.size("n_shared_experts", default=0, least=0),
            **expert_layers(config, "moe_layer_freq", [i >= first and i % each == 0 for i in range(layers)]),
            **({"groups": groups, "top_groups": chosen} if grouped else {}),
        }


V2, V3 = DeepSeek("greedy"), DeepSeek("noaux_tc")
