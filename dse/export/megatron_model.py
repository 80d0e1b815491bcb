"""The shape of a model in the arguments of Megatron-LM, and back."""

from __future__ import annotations

import re
from typing import Any

from dse.export.command_line import Arguments
from simcore.workload.transformer.model import MixtureOfExperts, Transformer
from simcore.workload.transformer.window import Window

_LATENT = {
    "--q-lora-rank": "q_lora_rank",
    "--kv-lora-rank": "kv_lora_rank",
    "--qk-head-dim": "qk_nope_head_dim",
    "--qk-pos-emb-head-dim": "qk_rope_head_dim",
    "--v-head-dim": "v_head_dim",
}
_EXPERTS = {
    "--num-experts": "experts",
    "--moe-router-topk": "top_k",
    "--moe-ffn-hidden-size": "feed_forward",
    "--moe-shared-expert-intermediate-size": "shared_feed_forward",
    "--moe-router-num-groups": "groups",
    "--moe-router-group-topk": "top_groups",
}
_SIZES = {
    "--num-layers": "layers",
    "--hidden-size": "hidden",
    "--ffn-hidden-size": "feed_forward",
    "--num-attention-heads": "heads",
    "--vocab-size": "vocabulary",
    "--max-position-embeddings": "sequence_length",
}
_POSITIONS = {"learned": "learned_absolute", "rotary": "rope"}
_PATTERN = re.compile(r"\(\[0\]\*(\d+)\+\(\[0\]\*(\d+)\+\[1\]\)\*(\d+)\+\[0\]\*(\d+)\)")


def give_model(model: Transformer, said: Arguments, sequence: int) -> None:
    """Add the arguments that say the shape of `model`; Megatron-LM wants positions for all tokens of a `sequence`."""
    settled = {"feed_forward": model.ffn, "sequence_length": max(model.sequence_length, sequence)}
    for flag, key in _SIZES.items():
        said.give(flag, settled.get(key) or getattr(model, key))
    said.give("--position-embedding-type", _POSITIONS[model.position])
    said.switch("--swiglu", model.gated)
    said.switch("--disable-bias-linear", not model.bias)
    said.switch("--add-qkv-bias", "qkv" in model.biases and not model.bias)
    said.switch("--qk-layernorm", model.qk_norm == "head")
    said.switch("--untie-embeddings-and-output-weights", not model.shares_embedding)
    if model.attention_sinks:
        said.give("--softmax-type", "learnable")
    if model.window is not None:
        _give_window(said, model.window)
    if model.latent_attention is not None:
        said.give("--multi-latent-attention")
        _give(said, _LATENT, model.latent_attention)
    else:
        said.give("--kv-channels", model.qk_head_dim)
        if model.key_heads != model.heads:
            said.give("--group-query-attention")
            said.give("--num-query-groups", model.key_heads)
    if model.mixture_of_experts is not None:
        _give_experts(said, model, model.mixture_of_experts)
    if model.multi_token_prediction:
        said.give("--mtp-num-layers", model.multi_token_prediction)


def read_model(said: Arguments) -> dict[str, Any]:
    """The model that the arguments say, as a design document has it."""
    model: dict[str, Any] = {key: said.number(flag) for flag, key in _SIZES.items()}
    position = said.word("--position-embedding-type")
    model["position"] = next(ours for ours, theirs in _POSITIONS.items() if theirs == position)
    model["gated"] = "--swiglu" in said
    model["bias"] = "--disable-bias-linear" not in said
    model["biases"] = ["qkv"] if "--add-qkv-bias" in said else []
    model["qk_norm"] = "head" if "--qk-layernorm" in said else "none"
    model["tied"] = "--untie-embeddings-and-output-weights" not in said
    model["attention_sinks"] = "--softmax-type" in said
    if (window := said.word("--window-size")) is not None:
        every = said.number("--window-attn-skip-freq")
        model["window"] = {"tokens": int(window.split(",")[0]) + 1} | ({} if every is None else {"full_every": every})
    if "--multi-latent-attention" in said:
        model["latent_attention"] = _read(said, _LATENT)
    else:
        model["head_dim"] = said.number("--kv-channels")
        model["kv_heads"] = said.number("--num-query-groups") or model["heads"]
    if "--num-experts" in said:
        model["mixture_of_experts"] = _read(said, _EXPERTS) | _read_experts(said)
    model["multi_token_prediction"] = said.number("--mtp-num-layers") or 0
    return model


def _give(said: Arguments, flags: dict[str, str], section: Any) -> None:
    for flag, key in flags.items():
        if getattr(section, key):
            said.give(flag, getattr(section, key))


def _read(said: Arguments, flags: dict[str, str]) -> dict[str, Any]:
    return {key: said.number(flag) for flag, key in flags.items() if flag in said}


def _give_window(said: Arguments, window: Window) -> None:
    """Add a sliding window: tokens before one and after it, and how often a layer has none."""
    said.give("--window-size", f"{window.tokens - 1},0")
    if window.full_every is not None:
        said.give("--window-attn-skip-freq", window.full_every)


def _give_experts(said: Arguments, model: Transformer, moe: MixtureOfExperts) -> None:
    _give(said, _EXPERTS, moe)
    after = model.layers - model.dense_layers
    rest = after - model.expert_layers * moe.every
    said.give(
        "--moe-layer-freq", f"([0]*{model.dense_layers}+([0]*{moe.every - 1}+[1])*{model.expert_layers}+[0]*{rest})"
    )
    said.give("--moe-grouped-gemm")
    if moe.capacity_factor != 1.0:
        said.give("--moe-expert-capacity-factor", moe.capacity_factor)


def _read_experts(said: Arguments) -> dict[str, Any]:
    found = _PATTERN.fullmatch(said["--moe-layer-freq"][0])
    assert found is not None, "a pattern that this module writes"
    capacity = said.word("--moe-expert-capacity-factor")
    pattern = {"dense_layers": int(found[1]), "every": int(found[2]) + 1}
    return pattern | ({} if capacity is None else {"capacity_factor": float(capacity)})
