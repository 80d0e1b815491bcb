"""Nemotron-4 and Minitron: squared ReLU without a gate, norms with biases; hybrids (Nemotron-H) are not modelled."""

from __future__ import annotations

from simcore.workload.transformer.huggingface.base import (
    Configuration,
    ModelFamily,
    Shape,
    add_biases,
    decoder,
    with_attention_bias,
)


class Nemotron(ModelFamily):
    """`model_type` nemotron."""

    def read(self, config: Configuration) -> Shape:
        """See `ModelFamily.read`."""
        shape = decoder(config, head_dim=config.optional("kv_channels"))
        shape["gated"] = False
        add_biases(shape, "norms")
        with_attention_bias(config, shape)
        if config.flag("mlp_bias"):
            add_biases(shape, "mlp")
        config.omit_dropouts("attention_dropout", "hidden_dropout")
        config.known("rope_percent rope_percentage")
        return shape


NEMOTRON = Nemotron()
