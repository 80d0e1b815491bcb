"""Phi-1.5 and 2, whose layers have one norm and biases everywhere, and Phi-3 to 4, which have Llama's shape."""

from __future__ import annotations

from simcore.workload.transformer.huggingface.base import (
    Configuration,
    ModelFamily,
    Shape,
    add_biases,
    decoder,
    with_attention_bias,
)
from simcore.workload.transformer.huggingface.gpt_neox import PARALLEL
from simcore.workload.transformer.huggingface.patterns import window
from simcore.workload.transformer.model import BIASED_OF_GPT
from simcore.workload.transformer.window import Window

_DROPOUTS = ("attention_dropout", "embd_pdrop", "resid_pdrop")


class Phi(ModelFamily):
    """`model_type` phi."""

    def read(self, config: Configuration) -> Shape:
        """See `ModelFamily.read`."""
        shape = decoder(config)
        config.omit_dropouts(*_DROPOUTS)
        config.omit(PARALLEL)
        if config.flag("qk_layernorm"):
            config.omit("qk_layernorm: norms of queries and keys")
        return shape | {"gated": False, "layer_norms": 1, "biases": [*BIASED_OF_GPT, "head"]}


class Phi3(ModelFamily):
    """`model_type` phi3."""

    def read(self, config: Configuration) -> Shape:
        """See `ModelFamily.read`."""
        shape = decoder(config)
        with_attention_bias(config, shape)
        config.omit_dropouts(*_DROPOUTS)
        if config.flag("mlp_bias"):
            config.omit("mlp_bias: biases of the feed-forward block")
        if config.flag("lm_head_bias"):
            add_biases(shape, "head")
        config.known("full_attn_mod interpolate_factor")
        tokens = config.optional("sliding_window")
        shape["window"] = window(config, shape["layers"], tokens, Window(tokens=tokens) if tokens else None)
        return shape


PHI, PHI3 = Phi(), Phi3()
