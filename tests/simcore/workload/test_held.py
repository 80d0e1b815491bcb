"""Bytes of parameters that are trained in narrow products: what is held, and what sharding gathers."""

from __future__ import annotations

from typing import Any

import pytest

from simcore import load_design, simulate
from simcore.result import Result

PARAMETERS = 8_030_261_248 / 8  # of Llama 3 8B, on one of eight NPUs of a tensor group; norms are a few more


def trained(precision: str, zero: int, *, gather: bool) -> Result:
    document: dict[str, Any] = {
        "workload": {"model": "llama3-8b", "global_batch": 64, "sequence_length": 2048, "precision": precision},
        "parallelism": {"tensor": 8, "zero": zero},
        "software": {"base": "megatron-core", "fp8": {"gather": gather}},
        "cluster": {"npu": "b200", "fabric": "dgx-b200", "npus": 64},
    }
    return simulate(load_design(document))


def weights(result: Result) -> float:
    assert result.memory_bytes is not None
    return result.memory_bytes.weights / PARAMETERS


@pytest.mark.parametrize(
    ("precision", "zero", "gather", "each"),
    [
        ("bf16", 1, True, 2),
        ("fp8", 1, True, 2),  # by rows and by columns
        ("fp8", 1, False, 4),  # and 16 bits beside them
        ("fp8", 0, True, 4),  # what is not sharded is not gathered
        ("nvfp4", 1, True, 2 + 2 * 0.5625),
    ],
)
def test_narrow_weights_are_held_by_rows_and_columns_and_in_16_bits_unless_they_are_gathered_narrow(
    precision: str, zero: int, gather: bool, each: float
) -> None:
    assert weights(trained(precision, zero, gather=gather)) == pytest.approx(each, rel=0.01)


def test_what_is_gathered_in_16_bits_is_twice_what_is_gathered_in_8() -> None:
    """Between nodes go the gradients, 2 bytes each, and the parameters."""
    sent = {
        (precision, gather): trained(precision, 1, gather=gather).network[1].bytes_per_npu
        for precision, gather in (("bf16", True), ("fp8", True), ("fp8", False), ("nvfp4", True))
    }
    share = PARAMETERS * 7 / 8
    assert sent["fp8", False] - sent["fp8", True] == pytest.approx(share, rel=0.02)
    assert sent["fp8", False] == pytest.approx(sent["bf16", True], rel=1e-9)
    assert sent["nvfp4", True] == sent["bf16", True]


@pytest.mark.parametrize(
    ("software", "gradients", "zero", "each"),
    [
        ("deepspeed", "fp32", 1, 6),  # those of a backward pass stay beside those that they are added to
        ("deepspeed", "fp32", 0, 6),
        ("deepspeed", "fp32", 2, 4 / 8),  # sharded over eight
        ("deepspeed", "fp16", 1, 2),  # added up in place
        ("megatron-core", "fp32", 1, 4),
    ],
)
def test_gradients_stay_beside_wider_ones_where_the_stack_keeps_them(
    software: str, gradients: str, zero: int, each: float
) -> None:
    workload = {"model": "llama3-8b", "global_batch": 64, "sequence_length": 2048, "precision": "bf16"}
    document: dict[str, Any] = {
        "workload": {**workload, "gradient_precision": gradients},
        "parallelism": {"tensor": 8, "zero": zero},
        "software": software,
        "cluster": {"npu": "a100-80gb", "fabric": "dgx-a100", "npus": 64},
    }
    held = simulate(load_design(document)).memory_bytes
    assert held is not None
    assert held.gradients / PARAMETERS == pytest.approx(each, rel=0.01)
