"""Llama 1 to 3.3, and what has their shape: gated blocks, RMSNorm, grouped queries, optional biases."""

from __future__ import annotations

from simcore.workload.transformer.huggingface.base import (
    Configuration,
    ModelFamily,
    Shape,
    add_biases,
    decoder,
    with_attention_bias,
)


class Llama(ModelFamily):
    """`model_type` llama."""

    def read(self, config: Configuration) -> Shape:
        """See `ModelFamily.read`."""
        shape = decoder(config)
        with_attention_bias(config, shape)
        if config.flag("mlp_bias"):
            add_biases(shape, "mlp")
        config.omit_dropouts("attention_dropout")
        return shape


LLAMA = Llama()
