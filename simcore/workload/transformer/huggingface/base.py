"""What a family of Hugging Face configurations is, and the keys of one file with what was read of them.

A configuration (`config.json`) is data: no code that it names (`auto_map`) is ever run, and no other file is opened. A
family reads its keys by name; a key that no one has read and that is not known to leave sizes alone is reported.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from simcore.document.field import MOST
from simcore.document.form import format_value
from simcore.document.problem import Problem

Shape = dict[str, Any]
"""Keys of a `simcore.workload.transformer.model.Transformer`."""

_INERT = """
    activation_function architectures attn_implementation auto_map bos_token_id cache_implementation
    chunk_size_feed_forward decoder_start_token_id dtype eos_token_id gradient_checkpointing hidden_act
    hidden_activation id2label initializer_factor initializer_range is_decoder is_encoder_decoder
    keys_to_ignore_at_inference label2id layer_norm_eps layer_norm_epsilon model_max_length model_type
    name_or_path norm_eps norm_epsilon original_max_position_embeddings output_attentions output_hidden_states
    output_past pad_token_id partial_rotary_factor pretraining_tp problem_type quantization_config return_dict
    rms_norm_eps rope_parameters rope_scaling rope_theta rotary_emb_base rotary_pct sep_token_id
    task_specific_params tf_legacy_loss tokenizer_class torch_dtype torchscript transformers.js_config
    transformers_version trust_remote_code unk_token_id use_bfloat16 use_cache use_return_dict
"""
INERT = frozenset(_INERT.split())
"""Keys that change no size, in any family. Those that begin with an underscore the library wrote."""

DTYPES = {"float32": 4, "float16": 2, "bfloat16": 2, "float8_e4m3fn": 1, "float64": 8}
"""Bytes of a number, by the name that PyTorch has for its kind."""
_NEEDED: Any = object()


class Configuration:
    """The keys of a configuration; remembers which were read, what is wrong with them, and what is not modelled."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = {key: value for key, value in data.items() if value is not None}
        self._given = frozenset(data)
        self._seen: set[str] = set()
        self.problems: list[Problem] = []
        self.not_modelled: list[str] = []

    def size(self, *keys: str, default: Any = _NEEDED, least: int = 1) -> int:
        """The first of several keys that is there: a whole number of `least` to 10^12.

        A value that is none, or that is missing where there is no `default`, becomes a problem, and counts as `least`.
        """
        self._seen.update(keys)
        key = next((key for key in keys if key in self._data), None)
        if key is None:
            if default is _NEEDED:
                expected = f"a whole number as '{keys[0]}'"
                self.problems.append(Problem((keys[0],), expected, "nothing", "add it, as the published file has it"))
                return max(least, 1)
            return int(default)
        found = self._data[key]
        if isinstance(found, bool) or not isinstance(found, int) or not least <= found <= MOST:
            self.problems.append(Problem((key,), f"a whole number of at least {least}", format_value(found)))
            return max(least, 1)
        return found

    def optional(self, *keys: str, least: int = 1) -> int | None:
        """As `size`; None where there is none."""
        self._seen.update(keys)
        return self.size(*keys, least=least) if any(key in self._data for key in keys) else None

    def flag(self, key: str, default: bool = False) -> bool:
        """A truth value."""
        self._seen.add(key)
        found = self._data.get(key, default)
        if not isinstance(found, bool):
            self.problems.append(Problem((key,), "true or false", format_value(found)))
            return default
        return found

    def text(self, key: str, default: str = "") -> str:
        """A text."""
        self._seen.add(key)
        found = self._data.get(key, default)
        if not isinstance(found, str):
            self.problems.append(Problem((key,), "a text", format_value(found)))
            return default
        return found

    def listed(self, key: str, of: type) -> list[Any] | None:
        """A list of values of one type; None where there is none."""
        self._seen.add(key)
        found = self._data.get(key)
        if found is None:
            return None
        if not isinstance(found, list) or not all(isinstance(value, of) for value in found):
            self.problems.append(Problem((key,), f"a list of values of type {of.__name__}", format_value(found)))
            return None
        return found

    def has(self, key: str) -> bool:
        """Whether a key is there."""
        return key in self._data

    def known(self, keys: str) -> None:
        """Keys, with spaces between, that change no size in this family."""
        self._seen.update(keys.split())

    def omit(self, what: str) -> None:
        """Something of the model that is not modelled."""
        self.not_modelled.append(what)

    def default(self, **values: int) -> None:
        """What holds where the file does not name a key, because the library's own class has it as default."""
        self._data = {key: value for key, value in values.items() if key not in self._given} | self._data

    def window(self) -> int | None:
        """`sliding_window`; a file that does not even say that there is none leaves open what is meant."""
        if "sliding_window" not in self._given:
            self.omit("sliding_window is not said: every layer attends to the whole sequence here")
        return self.optional("sliding_window")

    def dropouts(self, *keys: str) -> bool:
        """Whether there is any dropout, by the keys that are its rates."""
        self._seen.update(keys)
        return any(self._data.get(key) not in (None, 0, 0.0) for key in keys)

    def omit_dropouts(self, *keys: str) -> None:
        """Rates of dropouts, which layers without `bias` do not model."""
        self.dropouts(*keys)
        for key in keys:
            if self.dropouts(key):
                self.omit(f"{key} {self._data[key]}: dropout")

    def unread(self) -> list[str]:
        """Keys that nobody has read and that are not known to change no size."""
        return sorted(
            key for key in self._data if key not in self._seen and key not in INERT and not key.startswith("_")
        )


class ModelFamily(ABC):
    """Reads the configurations of one family of models."""

    @abstractmethod
    def read(self, config: Configuration) -> Shape:
        """The model's shape. What is wrong with the keys goes to `config.problems`, what is left out to `omit`."""


def decoder(config: Configuration, tied: bool = False, head_dim: int | None = None) -> Shape:
    """What most families say by the same keys: widths, heads, layers, vocabulary, positions that rotate.

    `tied` and `head_dim` hold where the file does not say otherwise.
    """
    heads = config.size("num_attention_heads")
    shape: Shape = {
        "hidden": config.size("hidden_size"),
        "layers": config.size("num_hidden_layers"),
        "heads": heads,
        "kv_heads": config.size("num_key_value_heads", default=heads),
        "head_dim": config.optional("head_dim") or head_dim,
        "feed_forward": config.size("intermediate_size"),
        "vocabulary": config.size("vocab_size"),
        "sequence_length": config.size("max_position_embeddings"),
        "gated": True,
        "bias": False,
        "position": "rotary",
        "tied": config.flag("tie_word_embeddings", tied),
    }
    return {key: value for key, value in shape.items() if value is not None}


def with_attention_bias(config: Configuration, shape: Shape, default: bool = False) -> None:
    """Adds the biases of all four products of attention, if `attention_bias` says so."""
    if config.flag("attention_bias", default):
        add_biases(shape, "qkv", "projection")


def add_biases(shape: Shape, *parts: str) -> None:
    """Adds parts that have biases."""
    shape["biases"] = [*shape.get("biases", []), *parts]
