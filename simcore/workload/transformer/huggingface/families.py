"""The families whose configurations are read, by `model_type`, and well-known ones that are not, with the reason."""

from __future__ import annotations

from simcore.family import Family
from simcore.workload.transformer.huggingface.base import ModelFamily

_HERE = "simcore.workload.transformer.huggingface"
FAMILIES: Family[ModelFamily] = Family(
    "simcore.huggingface",
    ModelFamily,
    {
        "llama": f"{_HERE}.llama:LLAMA",
        "llama4_text": f"{_HERE}.llama4:LLAMA4",
        "mistral": f"{_HERE}.mistral:MISTRAL",
        "mixtral": f"{_HERE}.mistral:MIXTRAL",
        "qwen2": f"{_HERE}.qwen:QWEN2",
        "qwen2_moe": f"{_HERE}.qwen:QWEN2_MOE",
        "qwen3": f"{_HERE}.qwen:QWEN3",
        "qwen3_moe": f"{_HERE}.qwen:QWEN3_MOE",
        "deepseek_v2": f"{_HERE}.deepseek:V2",
        "deepseek_v3": f"{_HERE}.deepseek:V3",
        "kimi_k2": f"{_HERE}.deepseek:V3",
        "gemma": f"{_HERE}.gemma:GEMMA",
        "gemma2": f"{_HERE}.gemma:GEMMA2",
        "gemma3_text": f"{_HERE}.gemma:GEMMA3",
        "gpt2": f"{_HERE}.gpt2:GPT2",
        "gpt_neox": f"{_HERE}.gpt_neox:GPT_NEOX",
        "phi": f"{_HERE}.phi:PHI",
        "phi3": f"{_HERE}.phi:PHI3",
        "gpt_oss": f"{_HERE}.gpt_oss:GPT_OSS",
        "nemotron": f"{_HERE}.nemotron:NEMOTRON",
    },
)
"""Readers by the configurations' `model_type`."""

_STATE_SPACE = "state-space (Mamba) layers"
_LINEAR = "linear attention"
_DIFFER = "layers of which each has a shape of its own"
_ENCODER = "encoders"
NOT_MODELLED: dict[str, str] = {
    **dict.fromkeys(("nemotron_h", "jamba", "bamba", "mamba", "mamba2", "falcon_h1", "zamba2"), _STATE_SPACE),
    **dict.fromkeys(("falcon_mamba", "granitemoehybrid", "recurrent_gemma"), _STATE_SPACE),
    **dict.fromkeys(("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text", "minimax", "rwkv", "kimi_linear"), _LINEAR),
    **dict.fromkeys(("nemotron-nas", "deci", "openelm", "gemma3n_text", "gemma4_text"), _DIFFER),
    **dict.fromkeys(("bert", "roberta", "t5", "bart", "whisper"), _ENCODER),
    "deepseek_v32": "attention to tokens that an indexer picks",
}
"""Why configurations of these are refused."""
