"""Gemma 1 to 3: tied embeddings of a large vocabulary; from Gemma 2 on norms after each half and windows.

Of Gemma 2 every second layer attends to the whole sequence, of Gemma 3 every sixth; Gemma 3 norms queries and keys.
Files of Gemma 3 leave out what transformers' own class has as default: 8 heads, 4 of keys and values, 256 wide.
"""

from __future__ import annotations

from simcore.workload.transformer.huggingface.base import (
    Configuration,
    ModelFamily,
    Shape,
    decoder,
    with_attention_bias,
)
from simcore.workload.transformer.huggingface.patterns import window
from simcore.workload.transformer.window import Window


class Gemma(ModelFamily):
    """`model_type` gemma."""

    _key_heads = 16

    def read(self, config: Configuration) -> Shape:
        """See `ModelFamily.read`."""
        config.default(num_key_value_heads=self._key_heads)
        shape = decoder(config, tied=True, head_dim=256)
        with_attention_bias(config, shape)
        config.omit_dropouts("attention_dropout")
        return shape


class Gemma2(Gemma):
    """`model_type` gemma2."""

    _key_heads = 4
    _full_every = 2

    def read(self, config: Configuration) -> Shape:
        """See `ModelFamily.read`."""
        shape = super().read(config)
        shape["layer_norms"] = 4
        config.known("query_pre_attn_scalar attn_logit_softcapping final_logit_softcapping sliding_window_size")
        for key in ("attn_logit_softcapping", "final_logit_softcapping"):
            if config.has(key):
                config.omit(f"{key}: the time of its tanh")
        tokens = config.window()
        every = config.size("sliding_window_pattern", default=self._full_every, least=2)
        shape["window"] = window(
            config, shape["layers"], tokens, Window(tokens=tokens, full_every=every) if tokens else None
        )
        return shape


class Gemma3(Gemma2):
    """`model_type` gemma3_text."""

    _full_every = 6

    def read(self, config: Configuration) -> Shape:
        """See `ModelFamily.read`."""
        config.default(num_attention_heads=8, vocab_size=262_208)
        config.default(max_position_embeddings=131_072)
        shape = super().read(config)
        shape["qk_norm"] = "head"
        config.known("rope_local_base_freq use_bidirectional_attention")
        return shape


GEMMA, GEMMA2, GEMMA3 = Gemma(), Gemma2(), Gemma3()
