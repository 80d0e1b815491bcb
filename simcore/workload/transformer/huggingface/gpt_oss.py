"""gpt-oss: experts with biases in every layer, a learned score a head that draws attention, windows in every second."""

from __future__ import annotations

from simcore.workload.transformer.huggingface.base import (
    Configuration,
    ModelFamily,
    Shape,
    add_biases,
    decoder,
    with_attention_bias,
)
from simcore.workload.transformer.huggingface.patterns import window
from simcore.workload.transformer.window import Window


class GptOss(ModelFamily):
    """`model_type` gpt_oss."""

    def read(self, config: Configuration) -> Shape:
        """See `ModelFamily.read`."""
        shape = decoder(config, head_dim=64)
        with_attention_bias(config, shape, True)
        add_biases(shape, "router", "experts")
        config.omit_dropouts("attention_dropout")
        config.known("experts_per_token initial_context_length output_router_logits router_aux_loss_coef swiglu_limit")
        shape["attention_sinks"] = True
        shape["mixture_of_experts"] = {
            "experts": config.size("num_local_experts"),
            "top_k": config.size("num_experts_per_tok", "experts_per_token"),
            "feed_forward": shape["feed_forward"],
        }
        tokens = config.window()
        shape["window"] = window(
            config, shape["layers"], tokens, Window(tokens=tokens, full_every=2) if tokens else None
        )
        return shape


GPT_OSS = GptOss()
