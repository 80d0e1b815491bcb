"""Policies of rematerialisation as recomputation."""

from __future__ import annotations

import pytest

from dse.measured.table.cells import LACKING, MODULES
from dse.measured.table.remat import read_remat
from simcore.document.problem import Problem

BUT_PROJECTIONS = "core_attn+layernorm+mlp+moe"


@pytest.mark.parametrize(
    ("policy", "recompute"),
    [
        ("", "none"),
        ("full", "full"),
        ("minimal", "selective"),
        ("minimal_with_context", "none"),
        ("save_dot_except_mlp", "core_attn+layernorm+mlp"),
        ("save_dot_except_mlpwi", "selective"),
        ("save_dot_except_logits_ffn1", "selective"),
        ("save_qkv_proj (MaxText policy; fp8 and bf16 alike)", BUT_PROJECTIONS),
        ("SAVE_QKV_OUT_PROJ", BUT_PROJECTIONS),
        ("custom: decoder_layer_input=offload out_proj=offload query_proj=offload key_proj=offload", BUT_PROJECTIONS),
        ("custom: decoder_layer_input=offload out_proj=offload", "full"),
        ("custom: mlpwo=offload", "full"),
    ],
)
def test_a_policy_is_the_nearest_recomputation(policy: str, recompute: str) -> None:
    assert read_remat(policy) == recompute


def test_modules_are_those_of_cells() -> None:
    assert set(BUT_PROJECTIONS.split("+")) <= set(MODULES)


def test_an_unknown_policy_cannot_be_expressed() -> None:
    found = read_remat("my own")
    assert isinstance(found, Problem)
    assert found.rule == LACKING
