"""A design of any kind that the reference engine cannot afford becomes a smaller one of its kind."""

from __future__ import annotations

from typing import Any

import pytest
from agreement import differences

from simcore.check.check import check
from simcore.check.load import design_from
from simcore.engine.reference import EventBudgetError, estimate_events, reduce_design
from simcore.simulate import simulate

CLUSTER = {"npu": "a100-80gb", "fabric": "dgx-a100", "npus": 64}
WORKLOADS = {
    "table": {"model": "resnet-50", "global_batch": 512},
    "recommender": {"model": "dlrm-mlperf", "global_batch": 4096},
    "serving": {"model": "gpt3-175b", "global_batch": 128, "prompt_length": 512, "output_length": 64},
}


@pytest.mark.parametrize("kind", WORKLOADS)
def test_what_is_too_large_is_reduced_and_then_agrees(kind: str) -> None:
    parallelism: dict[str, Any] = {"tensor": 8, "pipeline": 2} if kind == "serving" else {}
    design = design_from({"workload": WORKLOADS[kind], "cluster": CLUSTER, "parallelism": parallelism})
    smaller, notes = reduce_design(design, check, 30_000)
    assert notes
    assert estimate_events(smaller) <= 30_000
    assert type(smaller.workload) is type(design.workload)
    assert differences(smaller) == []
    if kind == "serving":
        assert notes[0] == "output tokens 64 -> 4"


def test_what_is_far_too_large_is_refused_with_what_would_fit() -> None:
    design = design_from(
        {
            "workload": {**WORKLOADS["serving"], "output_length": 1024, "global_batch": 1024},
            "cluster": {**CLUSTER, "npus": 512},
        }
    )
    with pytest.raises(EventBudgetError, match=r"output tokens 1024 -> "):
        simulate(design, "reference")
