"""Qwen2, Qwen2.5 and Qwen3, dense or with experts.

Of Qwen2 the products to queries, keys and values have biases; of Qwen3 none, but norms of queries and keys. Shared
experts of Qwen2-MoE are weighted by a gate of their own.
"""

from __future__ import annotations

from simcore.workload.transformer.huggingface.base import (
    Configuration,
    ModelFamily,
    Shape,
    add_biases,
    decoder,
    with_attention_bias,
)
from simcore.workload.transformer.huggingface.patterns import expert_layers, window
from simcore.workload.transformer.window import Window


class Qwen2(ModelFamily):
    """`model_type` qwen2."""

    def read(self, config: Configuration) -> Shape:
        """See `ModelFamily.read`."""
        config.default(num_key_value_heads=self._key_heads)
        shape = decoder(config, head_dim=self._head_dim)
        self._attention(config, shape)
        config.omit_dropouts("attention_dropout")
        used, first = config.flag("use_sliding_window"), config.size("max_window_layers", default=0, least=0)
        tokens = config.optional("sliding_window", least=int(used))  # newer files have 0 where it is not used
        if not used:
            tokens = None
        usual = None if tokens is None or first >= shape["layers"] else Window(tokens=tokens, full_first=first)
        shape["window"] = window(config, shape["layers"], tokens, usual)
        return shape

    _head_dim: int | None = None
    _key_heads = 32

    def _attention(self, config: Configuration, shape: Shape) -> None:
        if config.flag("qkv_bias", True):
            add_biases(shape, "qkv")


class Qwen3(Qwen2):
    """`model_type` qwen3."""

    _head_dim: int | None = 128

    def _attention(self, config: Configuration, shape: Shape) -> None:
        with_attention_bias(config, shape)
        shape["qk_norm"] = "head"


class Qwen2Experts(Qwen2):
    """`model_type` qwen2_moe."""

    _key_heads = 16

    def read(self, config: Configuration) -> Shape:
        """See `ModelFamily.read`."""
        shape = super().read(config)
        add_experts(config, shape)
        shared = config.size("shared_expert_intermediate_size")
        shape["mixture_of_experts"] |= {"shared_feed_forward": shared, "shared_gate": True}
        return shape


class Qwen3Experts(Qwen3):
    """`model_type` qwen3_moe."""

    _head_dim = None
    _key_heads = 4

    def read(self, config: Configuration) -> Shape:
        """See `ModelFamily.read`."""
        shape = super().read(config)
        add_experts(config, shape)
        return shape


def add_experts(config: Configuration, shape: Shape) -> None:
    """Experts in every `decoder_sparse_step`-th layer but for those that are named as dense."""
    config.known("norm_topk_prob output_router_logits router_aux_loss_coef")
    step = config.size("decoder_sparse_step", default=1)
    dense = config.listed("mlp_only_layers", int) or []
    having = [i not in dense and (i + 1) % step == 0 for i in range(shape["layers"])]
    shape["mixture_of_experts"] = {
        "experts": config.size("num_experts", "num_local_experts"),
        "top_k": config.size("num_experts_per_tok"),
        "feed_forward": config.size("moe_intermediate_size"),
        **expert_layers(config, "mlp_only_layers", having),
    }


QWEN2, QWEN3, QWEN2_MOE, QWEN3_MOE = Qwen2(), Qwen3(), Qwen2Experts(), Qwen3Experts()
