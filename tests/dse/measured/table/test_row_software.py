"""The software stack of a row, and what its cells say of it."""

from __future__ import annotations

from typing import Any

import pytest

from dse.measured.table.software import software_section, stack_of
from simcore.catalog.preset import preset
from simcore.design.npu import Npu

A100: Npu = preset(Npu, "npus", "a100-80gb")
H100: Npu = preset(Npu, "npus", "h100-80gb")
GB200: Npu = preset(Npu, "npus", "gb200")


def test_a_stack_is_named_or_that_of_the_devices_time() -> None:
    assert stack_of({"device": A100}) == ("megatron-lm-2021", True)
    assert stack_of({"device": H100}) == ("megatron-core", True)
    assert stack_of({"device": A100, "software": "deepspeed"}) == ("deepspeed", False)


@pytest.mark.parametrize(
    ("cells", "section"),
    [
        ({"cuda_graph": True}, {"execution": "graph"}),
        ({"cuda_graph": False}, {}),
        ({"device": GB200, "cuda_graph": True}, {}),
        ({"device": GB200, "cuda_graph": False}, {"execution": "eager"}),
        ({"precision": "bf16", "param_gather_dtype": "bf16"}, {}),
        (
            {"precision": "fp8", "param_gather_dtype": "fp8", "fp8_recipe": "hybrid, delayed"},
            {"fp8": {"recipe": "delayed", "gather": True}},
        ),
        ({"precision": "fp8", "param_gather_dtype": "bf16"}, {"fp8": {"gather": False}}),
        ({"precision": "fp8", "fp8_recipe": "as the recipe of the release"}, {}),
        ({"precision": "fp8", "case": "25.11 LLAMA3_70B FP8-CS x64"}, {"fp8": {"recipe": "current"}}),
        ({"precision": "fp8", "fp8_recipe": "mxfp8"}, {"fp8": {"recipe": "block"}}),
    ],
)
def test_cells_say_what_a_stack_does_otherwise(cells: dict[str, Any], section: dict[str, Any]) -> None:
    assert software_section({"device": H100, **cells}) == {"base": "megatron-core", **section}
