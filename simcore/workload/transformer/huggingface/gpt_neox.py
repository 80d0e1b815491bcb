"""GPT-NeoX and Pythia: biases everywhere, positions that rotate, an output matrix of its own."""

from __future__ import annotations

from simcore.workload.transformer.huggingface.base import Configuration, ModelFamily, Shape, decoder
from simcore.workload.transformer.model import BIASED_OF_GPT

PARALLEL = "attention and feed-forward side by side: one runs after the other here"


class GptNeoX(ModelFamily):
    """`model_type` gpt_neox."""

    def read(self, config: Configuration) -> Shape:
        """See `ModelFamily.read`."""
        shape = decoder(config)
        own = set(BIASED_OF_GPT)
        if not config.flag("attention_bias", True):
            own -= {"qkv", "projection"}
        config.known("classifier_dropout")
        config.omit_dropouts("attention_dropout", "hidden_dropout")
        config.omit_dropouts("attention_probs_dropout_prob", "hidden_dropout_prob")  # names of the first files
        if config.flag("use_parallel_residual", True):
            config.omit(f"use_parallel_residual: {PARALLEL}")
        return shape | {"gated": False, "biases": sorted(own)}


GPT_NEOX = GptNeoX()
