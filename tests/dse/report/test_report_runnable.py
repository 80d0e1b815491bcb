"""What is told of designs that their stack does not run as they are."""

from __future__ import annotations

from typing import Any

import pytest
import report_studies as studies

from dse.evaluate.record import TrialRecord
from dse.report.assumptions import describe_spared
from dse.report.runnable import describe_unrunnable
from simcore.check.load import design_from


def trial(
    number: int = 7,
    time: float = 1.0,
    model: str = "megatron-22b",
    software: str = "megatron-core",
    precision: str = "bf16",
    **parallelism: Any,
) -> TrialRecord:
    document = {
        "workload": {"model": model, "global_batch": 64, "precision": precision},
        "parallelism": {"pipeline": 4, **parallelism},
        "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 32},
        "software": software,
    }
    values = {"iteration_time": time, "cost.total": 100.0}
    return TrialRecord(number, "feasible", values, {}, {}, design=design_from(document).document())


def told(*others: TrialRecord, **changes: Any) -> list[str]:
    asked = trial(**changes)
    return list(describe_unrunnable(studies.record([*others, asked]), asked))


def test_a_usual_design_is_run_as_it_is() -> None:
    assert told(tensor=8, zero=1) == []


def test_a_schedule_that_its_stack_lacks_is_named_with_what_runs_instead() -> None:
    (line,) = told(schedule="dualpipe-v", interleave=2)
    assert line == (
        "megatron-core does not run this as it is: schedule dualpipe-v (1f1b instead); "
        "dse export RUN 7 --for megatron says more."
    )
    assert told(schedule="gpipe", interleave=2, software="maxtext") == [], "no export knows that stack"


def test_the_nearest_design_that_its_stack_runs_is_named() -> None:
    others = (
        trial(1, 1.3, tensor=8),
        trial(2, 1.1, tensor=8, zero=1),
        trial(3, 1.05, schedule="dualpipe-v", interleave=2, zero=1),
    )
    (line,) = told(*others, schedule="dualpipe-v", interleave=2)
    assert "schedule dualpipe-v (1f1b instead); trial 2 runs so (time +10 %, cost =); dse export RUN 7" in line


@pytest.mark.parametrize(
    ("time", "told"), [(1.04, ["Without a loss like that: trial 2, time +4.0 %, cost =."]), (1.6, [])]
)
def test_the_nearest_design_without_what_is_not_counted_is_named(time: float, told: list[str]) -> None:
    narrow = trial(7, precision="fp8_block")
    others = [trial(1, 1.01, precision="fp8_block"), trial(2, time)]
    assert list(describe_spared(studies.record([*others, narrow]), narrow)) == told
    assert list(describe_spared(studies.record([narrow, others[1]]), others[1])) == []
