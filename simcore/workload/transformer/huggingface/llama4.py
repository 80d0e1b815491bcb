"""Llama 4, its text model: experts in every or every second layer, three of four layers that attend within chunks.

`intermediate_size` is the width of an expert and of the shared one, `intermediate_size_mlp` that of dense layers. Norms
of queries and keys (`use_qk_norm`) have no parameters.
"""

from __future__ import annotations

from simcore.document.problem import Problem
from simcore.workload.transformer.huggingface.base import (
    Configuration,
    ModelFamily,
    Shape,
    decoder,
    with_attention_bias,
)
from simcore.workload.transformer.huggingface.patterns import expert_layers, window
from simcore.workload.transformer.window import Window


class Llama4(ModelFamily):
    """`model_type` llama4_text."""

    def read(self, config: Configuration) -> Shape:
        """See `ModelFamily.read`."""
        config.default(num_key_value_heads=8)
        shape = decoder(config, head_dim=128)
        with_attention_bias(config, shape)
        config.omit_dropouts("attention_dropout")
        config.known("attn_scale attn_temperature_tuning floor_scale for_llm_compressor output_router_logits rope")
        config.known("router_aux_loss_coef router_jitter_noise use_qk_norm interleave_moe_layer_step")
        layers, width = shape["layers"], shape["feed_forward"]
        shape["feed_forward"] = config.size("intermediate_size_mlp")
        step = config.size("interleave_moe_layer_step", default=1)
        named = config.listed("moe_layers", int)
        having = [i in named if named else (i + 1) % step == 0 for i in range(layers)]
        shape["mixture_of_experts"] = {
            "experts": config.size("num_local_experts"),
            "top_k": config.size("num_experts_per_tok"),
            "feed_forward": width,
            "shared_feed_forward": width,
            **expert_layers(config, "moe_layers", having),
        }
        shape["window"] = self._chunks(config, layers)
        return shape

    def _chunks(self, config: Configuration, layers: int) -> dict[str, object] | None:
        """Layers without rotation (0 in `no_rope_layers`) attend to the whole sequence."""
        tokens = config.optional("attention_chunk_size")
        every = config.size("no_rope_layer_interval", default=4)
        rotated = config.listed("no_rope_layers", int) or [int((i + 1) % every != 0) for i in range(layers)]
        if tokens is None:
            return None
        if every < 2 or rotated != [int((i + 1) % every != 0) for i in range(layers)]:
            expected = f"a layer without rotation in each {every} (not modelled: another order)"
            config.problems.append(Problem(("no_rope_layers",), expected, "another order"))
            return None
        return window(config, layers, tokens, Window(tokens=tokens, full_every=every, chunked=True))


LLAMA4 = Llama4()
