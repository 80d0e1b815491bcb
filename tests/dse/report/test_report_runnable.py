"""What is told of designs that their stack does not run as they are."""

from __future__ import annotations

from typing import Any

from dse.evaluate.record import TrialRecord
from dse.report.runnable import describe_unrunnable
from simcore.check.load import design_from


def told(model: str = "megatron-22b", software: str = "megatron-core", **parallelism: Any) -> list[str]:
    document = {
        "workload": {"model": model, "global_batch": 64, "precision": "bf16"},
        "parallelism": {"pipeline": 4, **parallelism},
        "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 32},
        "software": software,
    }
    design = design_from(document).document()
    return list(describe_unrunnable(TrialRecord(7, "feasible", {}, {}, {}, design=design)))


def test_a_usual_design_is_run_as_it_is() -> None:
    assert told(tensor=8, zero=1) == []


def test_a_schedule_that_its_stack_lacks_is_named_with_what_runs_instead() -> None:
    (line,) = told(schedule="dualpipe-v", interleave=2)
    assert line == (
        "megatron-core does not run this as it is: schedule dualpipe-v (1f1b instead); "
        "dse export RUN 7 --for megatron says more."
    )
    assert told(schedule="dualpipe-v", interleave=2, software="maxtext") == [], "no export knows that stack"
