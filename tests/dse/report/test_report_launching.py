"""What is told of machines on which one stack launches kernels in different ways."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import report_studies as studies

from dse.evaluate.record import TrialRecord
from dse.report.decision import describe_decision
from dse.report.launching import describe_launching
from dse.report.summary import summarize
from simcore.check.load import design_from
from simcore.simulate import simulate

FABRICS = {"h100-80gb": "dgx-h100", "b200": "dgx-b200", "gb200": "gb200-nvl72"}


def document(npu: str, model: str = "qwen3-30b-a3b", software: Any = "megatron-core", zero: int = 1) -> dict[str, Any]:
    return {
        "workload": {"model": model, "global_batch": 256, "sequence_length": 4096, "precision": "bf16"},
        "parallelism": {"data": 64, "expert": 4 if "a3b" in model else 1, "zero": zero, "microbatch": 1},
        "cluster": {"npu": npu, "fabric": FABRICS[npu], "npus": 64},
        "software": software,
    }


def trial(number: int, npu: str, cost: float, **changes: Any) -> TrialRecord:
    design = design_from(document(npu, **changes))
    result = simulate(design)
    values = {"iteration_time": result.iteration_time_s, "cost.total": cost}
    return TrialRecord(
        number, "feasible", values, {}, {"valid": 0.0}, design=design.document(), metrics=result.document()
    )


def told(*npus: str, **changes: Any) -> list[str]:
    """Of the first machine, beside the others; each is cheaper than the one before and slower or not."""
    trials = [trial(number, npu, 1e7 - number * 1e6, **changes) for number, npu in enumerate(npus)]
    record = studies.record(trials)
    return list(describe_launching(record, summarize(record), trials[0]))


def test_a_recipe_that_launches_otherwise_is_told_with_what_it_comes_to() -> None:
    (line,) = told("gb200", "h100-80gb")
    eager = document("gb200", software={"base": "megatron-core", "execution": "eager", "exchange": "deepep"})
    seconds, alike = (simulate(design_from(one)).iteration_time_s for one in (document("gb200"), eager))
    assert line.startswith("Recipes of megatron-core launch as graphs on gb200 and kernel by kernel on h100-80gb: ")
    assert f"trial 0 would take {alike:.4g} s, {100 * (alike / seconds - 1):.2g} % more; " in line
    assert line.endswith("software: {base: megatron-core, execution: eager, exchange: deepep} compares them alike.")


def test_where_groups_share_links_it_comes_to_as_large_a_share() -> None:
    record = studies.record([trial(0, "gb200", 1e7), trial(1, "h100-80gb", 9e6)])
    first = record.trials[0]
    shared = replace(first, metrics={**(first.metrics or {}), "engine": "flow"})
    alike, slow = (
        list(describe_launching(record, summarize(record), each))
        for each in (shared, replace(shared, metrics={**(first.metrics or {}), "engine": "packets"}))
    )
    assert alike == list(describe_launching(record, summarize(record), first))
    assert not slow


def test_the_line_is_among_what_a_decision_rests_on() -> None:
    record = studies.record([trial(0, "gb200", 1e7), trial(1, "h100-80gb", 9e6)])
    assert any(line.startswith("Recipes of ") for line in describe_decision(record, summarize(record)).assumptions)


@pytest.mark.parametrize(
    ("npus", "changes"),
    [
        (("h100-80gb", "b200"), {}),  # both kernel by kernel
        (("gb200",), {}),
        (("gb200", "h100-80gb"), {"software": {"base": "megatron-core", "execution": "eager", "exchange": "deepep"}}),
        (("gb200", "h100-80gb"), {"software": "pytorch-fsdp", "zero": 3}),
        (("gb200", "h100-80gb"), {"model": "llama3-70b"}),  # whose kernels are long
    ],
)
def test_nothing_is_told_where_all_launch_alike_or_it_makes_no_difference(
    npus: tuple[str, ...], changes: dict[str, Any]
) -> None:
    assert told(*npus, **changes) == []


def test_a_design_that_breaks_rules_or_has_no_time_is_passed_over() -> None:
    first, second = trial(0, "gb200", 1e7), trial(1, "h100-80gb", 9e6)
    assert first.design is not None
    broken = replace(first, design={**first.design, "parallelism": {**first.design["parallelism"], "data": 63}})
    timeless = replace(first, metrics={**(first.metrics or {}), "iteration_time_s": 0.0})
    for bad in (broken, timeless, replace(first, metrics=None), replace(first, design=None)):
        record = studies.record([first, second])
        assert list(describe_launching(record, summarize(record), bad)) == []


def test_a_machine_that_runs_another_stack_has_no_recipe_of_this_one() -> None:
    ours, theirs = trial(0, "gb200", 1e7), trial(1, "h100-80gb", 9e6)
    assert theirs.design is not None
    other = replace(theirs, design={**theirs.design, "software": "maxtext"})
    record = studies.record([ours, other])
    assert list(describe_launching(record, summarize(record), ours)) == []
