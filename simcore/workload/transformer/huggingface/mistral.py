"""Mistral, dense, and Mixtral, whose layers all have experts; every layer has the sliding window, if there is one."""

from __future__ import annotations

from simcore.workload.transformer.huggingface.base import Configuration, ModelFamily, Shape, decoder
from simcore.workload.transformer.huggingface.patterns import window
from simcore.workload.transformer.window import Window


class Mistral(ModelFamily):
    """`model_type` mistral."""

    def read(self, config: Configuration) -> Shape:
        """See `ModelFamily.read`."""
        config.default(num_key_value_heads=8)
        shape = decoder(config)
        config.omit_dropouts("attention_dropout")
        tokens = config.window()
        shape["window"] = window(config, shape["layers"], tokens, Window(tokens=tokens) if tokens else None)
        return shape


class Mixtral(Mistral):
    """`model_type` mixtral."""

    def read(self, config: Configuration) -> Shape:
        """See `ModelFamily.read`."""
        shape = super().read(config)
        config.known("output_router_logits router_aux_loss_coef router_jitter_noise")
        shape["mixture_of_experts"] = {
            "experts": config.size("num_local_experts"),
            "top_k": config.size("num_experts_per_tok"),
            "feed_forward": shape["feed_forward"],
        }
        return shape


MISTRAL, MIXTRAL = Mistral(), Mixtral()
