"""What a design is known to pay in loss or tokens that no metric counts is said beside its result."""

from __future__ import annotations

from typing import Any

import pytest

from simcore.check.load import design_from
from simcore.document.problem import InputError
from simcore.simulate import simulate
from simcore.workload.penalties import OF_SERVED
from simcore.workload.serving.kind import UNMODELLED

CLUSTER = {
    "npu": "b200",
    "dimensions": [{"topology": "switch", "size": 4, "bandwidth": "100 GB/s", "latency": "1 us", "tier": "node"}],
}
MODEL = {"name": "tiny", "hidden": 256, "layers": 8, "heads": 8, "vocabulary": 1000, "sequence_length": 128}


def penalties(**workload: Any) -> tuple[str, ...]:
    section = {"model": MODEL, "global_batch": 32, "gradient_precision": "fp32", **workload}
    return simulate(design_from(trained(**section))).not_modelled


def trained(**section: Any) -> dict[str, Any]:
    return {"workload": section, "cluster": CLUSTER, "software": "maxtext"}  # which trains in all precisions


def test_a_precision_in_which_a_stack_does_not_train_is_refused() -> None:
    document = trained(model=MODEL, global_batch=32, precision="int8") | {"software": "megatron-core"}
    with pytest.raises(
        InputError, match=r"workload\.precision: expected a precision that megatron-core trains in, got int8"
    ):
        design_from(document)


@pytest.mark.parametrize(
    ("precision", "size", "source"),
    [
        ("fp8", "diverged after 200 billion tokens", "2409.12517"),
        ("fp8_block", "up to 0.25 % more loss", "2412.19437"),
        ("nvfp4", "1 to 1.5 % more loss", "2509.25149"),
        ("int8", "0 to 1 % more loss is assumed", "2304.13013"),
    ],
)
def test_a_narrow_precision_says_what_it_is_known_to_cost(precision: str, size: str, source: str) -> None:
    (said,) = penalties(precision=precision)
    assert size in said
    assert source in said


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_sixteen_bits_with_sums_in_32_cost_nothing(precision: str) -> None:
    assert penalties(precision=precision) == ()


def test_sums_of_several_microbatches_in_16_bits_are_named_and_one_microbatch_has_none() -> None:
    (said,) = penalties(precision="bf16", gradient_precision="fp16")
    assert "summed in 16 bits" in said
    assert penalties(precision="bf16", gradient_precision="fp16", global_batch=4) == ()


def test_serving_in_a_narrow_precision_is_no_training() -> None:
    served = {"model": MODEL, "global_batch": 32, "prompt_length": 64, "output_length": 8, "precision": "fp8"}
    said = simulate(design_from({"workload": served, "cluster": CLUSTER})).not_modelled
    assert said == (UNMODELLED["continuous"], OF_SERVED["fp8"])
    wide = simulate(design_from({"workload": {**served, "precision": "bf16"}, "cluster": CLUSTER}))
    assert wide.not_modelled == (UNMODELLED["continuous"],)


def test_the_result_lists_them() -> None:
    section = {"model": MODEL, "global_batch": 4, "precision": "fp8", "gradient_precision": "fp32"}
    document = simulate(design_from({"workload": section, "cluster": CLUSTER})).document()
    assert [text[:3] for text in document["not_modelled"]] == ["fp8"]
