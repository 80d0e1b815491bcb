"""GPT-2: learned positions, biases everywhere, one matrix for embedding and output."""

from __future__ import annotations

from simcore.document.problem import Problem
from simcore.workload.transformer.huggingface.base import Configuration, ModelFamily, Shape
from simcore.workload.transformer.model import BIASED_OF_GPT


class Gpt2(ModelFamily):
    """`model_type` gpt2."""

    def read(self, config: Configuration) -> Shape:
        """See `ModelFamily.read`."""
        config.known("n_ctx reorder_and_upcast_attn scale_attn_by_inverse_layer_idx scale_attn_weights")
        config.known("summary_activation summary_first_dropout summary_proj_to_labels summary_type summary_use_proj")
        config.known("embd_pdrop")
        if config.flag("add_cross_attention"):
            config.problems.append(Problem(("add_cross_attention",), "false: a decoder alone", "true"))
        hidden = config.size("n_embd", "hidden_size")
        shape: Shape = {
            "hidden": hidden,
            "layers": config.size("n_layer", "num_hidden_layers"),
            "heads": config.size("n_head", "num_attention_heads"),
            "feed_forward": config.size("n_inner", default=4 * hidden),
            "vocabulary": config.size("vocab_size"),
            "sequence_length": config.size("n_positions", "max_position_embeddings"),
            "gated": False,
            "position": "learned",
            "tied": config.flag("tie_word_embeddings", True),
        }
        if config.dropouts("resid_pdrop", "attn_pdrop"):
            return shape | {"bias": True}
        return shape | {"bias": False, "biases": list(BIASED_OF_GPT)}


GPT2 = Gpt2()
