"""Weights of a served model that are held in fewer bits: sizes of published checkpoints, and what a decode gains."""

from __future__ import annotations

from typing import Any

import pytest

from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.document.problem import InputError
from simcore.memory.plan import program_of
from simcore.program import Compute
from simcore.simulate import simulate
from simcore.workload.penalties import OF_WEIGHTS, unmodelled_penalties


def design(model: str = "llama3-8b", tensor: int = 1, **its: Any) -> Design:
    workload = {"model": model, "global_batch": 1, "prompt_length": 128, "output_length": 8, "precision": "bf16", **its}
    return design_from(
        {
            "workload": workload,
            "parallelism": {"tensor": tensor},
            "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": tensor},
        }
    )


@pytest.mark.parametrize(
    ("model", "weights", "gigabytes"),
    [
        ("llama3-8b", "int4", 5.73),  # hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4, its files
        ("llama3-70b", "int4", 39.8),  # the same of 70B
        ("gpt-oss-120b", "mxfp4", 65.3),  # arXiv 2508.10925, table 1: 60.8 GiB
        ("gpt-oss-20b", "mxfp4", 13.7),  # the same: 12.8 GiB
    ],
)
def test_weights_take_what_published_checkpoints_do(model: str, weights: str, gigabytes: float) -> None:
    held = simulate(design(model, weight_precision=weights)).memory_bytes.weights
    assert held == pytest.approx(gigabytes * 1e9, rel=0.01)


def test_products_read_their_weights_as_they_are_held() -> None:
    """Each of 512 x 512 numbers, say, moves 2 bytes less what int4 has; nothing else of a token changes."""
    wide, narrow = (program_of(design(**its)).parts[1].forward for its in ({}, {"weight_precision": "int4"}))
    for one, other in zip(wide, narrow, strict=True):
        for before, after in zip(one.operators, other.operators, strict=True):
            if one.name == "layer" and isinstance(before, Compute) and before.kind == "gemm":
                assert isinstance(after, Compute)
                assert before.shape is not None
                batch, _, n, k = before.shape
                assert before.bytes - after.bytes == pytest.approx(batch * n * k * (2 - (4 + 20 / 128) / 8))
                assert before._replace(bytes=0.0) == after._replace(bytes=0.0)
            else:
                assert before == after


def test_of_a_mixture_only_routed_experts_are_narrow() -> None:
    wide, narrow = (
        program_of(design("gpt-oss-20b", **its)).parts[1].forward for its in ({}, {"weight_precision": "mxfp4"})
    )
    pairs = [
        (before, after)
        for one, other in zip(wide, narrow, strict=True)
        for before, after in zip(one.operators, other.operators, strict=True)
    ]
    assert {before.name for before, after in pairs if before != after} == {"expert-in", "expert-out"}  # type: ignore[union-attr]


def test_a_decode_of_few_requests_gains_and_one_of_many_does_not() -> None:
    def seconds(requests: int, **its: Any) -> float:
        found = simulate(design(global_batch=requests, **its)).time_per_output_token_s
        assert found is not None
        return found

    few, many = (seconds(n) / seconds(n, weight_precision="int4") for n in (1, 256))
    assert many < 1.2 < 1.8 < few < 2.0 / ((4 + 20 / 128) / 8)
    assert seconds(8, weight_precision="fp8") < seconds(8)


def test_a_prefill_is_bound_by_its_arithmetic() -> None:
    wide, narrow = (simulate(design(global_batch=32, **its)) for its in ({}, {"weight_precision": "nvfp4"}))
    assert narrow.time_to_first_token_s == pytest.approx(wide.time_to_first_token_s, rel=0.01)


def test_embedding_and_head_keep_16_bits_beside_narrow_products() -> None:
    """Their two matrices of 128,256 x 4,096 numbers, and one byte of each other parameter."""
    held = simulate(design(precision="fp8")).memory_bytes.weights
    assert held == pytest.approx(8.03e9 + 2 * 128256 * 4096, rel=1e-3)


@pytest.mark.parametrize("model", ["llama3-8b", "mixtral-8x7b"])
def test_weights_in_the_precision_of_products_are_what_they_are_unless_given(model: str) -> None:
    given, left_out = (simulate(design(model, precision="fp8", **its)) for its in ({"weight_precision": "fp8"}, {}))
    assert given.iteration_time_s == left_out.iteration_time_s
    assert given.memory_bytes == left_out.memory_bytes


@pytest.mark.parametrize(("precision", "held"), [("fp8", "int8"), ("nvfp4", "int4")])
def test_weights_no_narrower_than_products_are_refused(precision: str, held: str) -> None:
    with pytest.raises(InputError, match=r"workload.weight_precision: expected fewer bits than products compute in"):
        design(precision=precision, weight_precision=held)


def test_what_they_are_known_to_cost_is_said() -> None:
    assert OF_WEIGHTS["int4"] in unmodelled_penalties(design(weight_precision="int4"))
    assert OF_WEIGHTS["int4"] not in unmodelled_penalties(design())
