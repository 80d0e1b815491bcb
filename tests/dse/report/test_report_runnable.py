"""What is told of designs that their stack does not run as they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import report_studies as studies

from dse.evaluate.record import TrialRecord
from dse.report.assumptions import describe_sends
from dse.report.choice import recommended
from dse.report.decision import describe_decision
from dse.report.nearest import nearest
from dse.report.runnable import describe_unrunnable, describe_unscheduled, fits_as_run
from dse.report.spared import describe_spared
from dse.report.summary import summarize
from dse.whatif.answers import Wider
from simcore.check.load import design_from
from simcore.simulate import simulate


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


def test_what_fits_as_it_was_simulated_may_not_as_its_stack_runs_it() -> None:
    def of(capacity: str, **parallelism: Any) -> TrialRecord:
        made = trial(tensor=2, sequence_parallel=True, zero=1, **parallelism)
        npu = {"base": "h100-80gb", "name": "smaller", "memory": {"capacity": capacity}}
        design = made.design or {}
        return replace(made, design={**design, "cluster": {**design["cluster"], "npu": npu}})

    lacking = {"schedule": "dualpipe-v", "interleave": 2}  # reserves 42.8 GB, and with 1f1b 45.2
    assert [fits_as_run(of(capacity, **lacking)) for capacity in ("60 GB", "44 GB")] == [True, False]
    assert fits_as_run(of("44 GB", interleave=2)), "it runs as it was simulated"
    assert fits_as_run(trial(schedule="gpipe", interleave=2, software="maxtext")), "no export knows that stack"


def test_the_nearest_design_that_its_stack_runs_is_named() -> None:
    others = (
        trial(1, 1.3, tensor=8),
        trial(2, 1.1, tensor=8, zero=1),
        trial(3, 1.05, schedule="dualpipe-v", interleave=2, zero=1),
    )
    (line,) = told(*others, schedule="dualpipe-v", interleave=2)
    assert "schedule dualpipe-v (1f1b instead); trial 2 runs so (time +10 %, cost =); dse export RUN 7" in line


@pytest.mark.parametrize(
    ("time", "told"), [(1.04, ["Trial 2 does without fp8 by blocks: time +4.0 %, cost =."]), (2.1, [])]
)
def test_the_nearest_design_without_what_is_not_counted_is_named(time: float, told: list[str]) -> None:
    narrow = trial(7, precision="fp8_block")
    others = [trial(1, 1.01, precision="fp8_block"), trial(2, time)]
    assert list(describe_spared(studies.record([*others, narrow]), narrow)) == told
    assert list(describe_spared(studies.record([narrow, others[1]]), others[1])) == []
    assert narrow.design is not None
    lossy = replace(
        narrow, number=9, design={**narrow.design, "workload": {**narrow.design["workload"], "precision": "nvfp4"}}
    )
    assert list(describe_spared(studies.record([narrow, lossy]), narrow)) == []
    by_tensor = trial(3, 1.001, precision="fp8")
    assert list(describe_spared(studies.record([*others, by_tensor, narrow]), narrow)) == told


@pytest.mark.parametrize(
    ("loss", "told"),
    [
        ({"iteration_time": 0.2, "cost.total": 0.0}, "Trial 7 in bf16: time +20 %, cost =."),
        (None, "Trial 7 in bf16: it does not fit."),
    ],
)
def test_where_no_design_does_without_the_design_itself_is_told_in_16_bits(
    loss: dict[str, float] | None, told: str
) -> None:
    narrow, tensor = trial(7, precision="fp8_block"), trial(3, 1.001, precision="fp8")
    record = studies.record([tensor, narrow])
    assert list(describe_spared(record, narrow, Wider(7, "bf16", loss))) == [told]
    assert list(describe_spared(record, tensor, Wider(7, "bf16", loss))) == []


def test_the_nearer_of_a_trial_and_of_what_was_found_in_16_bits_is_told() -> None:
    narrow, wide = trial(7, precision="fp8_block", tensor=8), trial(2, 1.5, tensor=8)
    elsewhere = replace(
        wide, design={**(wide.design or {}), "cluster": {**(wide.design or {})["cluster"], "npu": "h200"}}
    )
    found = trial(0, tensor=4, zero=1).design
    for time, told in (
        (1.2, "The best found in bf16 (t4 p4 d2, ZeRO-1): time +20 %, cost =."),
        (1.6, "Trial 2 (32 x h200) does without fp8 by blocks: time +50 %, cost =."),
    ):
        wider = Wider(7, "bf16", {"iteration_time": time - 1, "cost.total": 0.0}, found)
        assert list(describe_spared(studies.record([narrow, elsewhere]), narrow, wider)) == [told]


def test_of_designs_that_are_as_near_the_best_in_all_objectives_is_named() -> None:
    own = trial(1)
    others = [
        replace(trial(number, time), values={"iteration_time": time, "cost.total": 128.0})
        for number, time in ((2, 0.96), (3, 0.79), (4, 0.9))
    ]
    found = nearest(studies.record([own, *others]), own, lambda other: other is not own and other.number > 1)
    assert found is not None
    assert found.number == 3


@pytest.mark.parametrize(
    ("interleave", "waited", "stack", "said"),
    [
        (2, 0.05, "megatron-core", True),
        (1, 0.05, "megatron-core", False),
        (2, 0.01, "megatron-core", False),
        (2, 0.05, "pytorch-fsdp", False),
    ],
)
def test_sends_that_a_stack_hides_are_named_where_they_take_time(
    interleave: int, waited: float, stack: str, said: bool
) -> None:
    metrics = {"iteration_time_s": 10.0, "exposed_communication_s": {"pipeline": 10.0 * waited}}
    lines = list(describe_sends(replace(trial(interleave=interleave, software=stack), metrics=metrics)))
    told = (
        "Sends between stages are waited for here, 5.0 % of the time; megatron-core sends beside what interleaved "
        "stages compute: slower uplinks cost it less."
    )
    assert lines == [told] * said


@pytest.mark.parametrize(("time", "built", "by"), [(1.02, 2, "less than 2.5 %"), (1.08, 2, "8.0 %"), (1.12, 1, "")])
def test_a_design_that_its_stack_runs_is_built_where_it_is_nearly_as_good(time: float, built: int, by: str) -> None:
    lacked = trial(1, schedule="dualpipe-v", interleave=2, zero=1)
    trials = [lacked, trial(2, time, tensor=8, zero=1), trial(3, 1.01, schedule="dualpipe-v", interleave=2)]
    record = studies.record([replace(one, metrics=metrics_of(one)) for one in trials])
    assert recommended(record, summarize(record)) == built
    said = describe_decision(record, summarize(record)).sentences
    told = (
        f"Trial 1 of the front is better by {by}, but megatron-core does not run it as it is: schedule "
        "dualpipe-v (1f1b instead)."
    )
    assert (told in said) == (built == 2)


def test_a_policy_that_no_library_has_is_named_with_the_nearest_design_without_it() -> None:
    themis, usual = (
        replace(one, design={**(one.design or {}), "system": {"inter_dimension": policy}})
        for one, policy in ((trial(), "themis"), (trial(2, 1.1), "baseline"))
    )
    record = studies.record([themis, usual])
    assert list(describe_unscheduled(record, themis)) == [
        "inter_dimension themis is a proposal: no library is known to have it; trial 2 does without "
        "(time +10 %, cost =)."
    ]
    assert not list(describe_unscheduled(record, usual))
    assert not list(describe_unscheduled(replace(record, hypothetical="as the space says"), themis))


def metrics_of(one: TrialRecord) -> Any:
    return simulate(design_from(one.design or {})).document()


def test_a_design_that_its_stack_refuses_is_one_that_it_does_not_run() -> None:
    (line,) = told(software="deepspeed", zero=3)
    assert line.startswith("deepspeed does not run this as it is: zero 3 (refused); ")
    assert told(software="deepspeed", zero=1) == []
