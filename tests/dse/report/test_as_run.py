"""The design to build as its stack runs it, and in 16 bits: each told with what it loses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import report_studies as studies

from dse.evaluate.evaluate import Evaluator, Outcome
from dse.evaluate.record import TrialRecord
from dse.report.runnable import describe_unrunnable
from dse.space.objective import Objective
from dse.space.space import Space, load_space
from dse.whatif.answers import AsRun
from dse.whatif.as_run import find_as_run
from dse.whatif.climb import Climb, find_starts
from dse.whatif.machines import best_elsewhere, machine_of
from dse.whatif.wider import find_wider
from simcore.check.load import design_from
from simcore.simulate import simulate

OBJECTIVES = (Objective("iteration_time", "minimize", "s"),)


BOTH = (*OBJECTIVES, Objective("memory.peak", "minimize", "B"))


def evaluated(document: Any) -> Outcome:
    return Evaluator(OBJECTIVES, (), "fast")(document)


def with_memory(document: Any) -> Outcome:
    return Evaluator(BOTH, (), "fast")(document)


def trial(npu: str = "h100-80gb", precision: str = "fp8", **parallelism: Any) -> TrialRecord:
    document = {
        "workload": {"model": "megatron-22b", "global_batch": 64, "precision": precision},
        "parallelism": {"tensor": 2, "pipeline": 4, "zero": 1, "sequence_parallel": True, **parallelism},
        "cluster": {"npu": npu, "fabric": "dgx-h100", "npus": 32},
    }
    design = design_from(document).document()
    return TrialRecord(7, "feasible", {"iteration_time": time(design)}, {}, {}, design=design)


def space_of(precision: Any, tensor: Any = 2) -> Space:
    """The space of these designs."""
    return load_space(
        {
            "workload": {"model": "megatron-22b", "global_batch": 64, "precision": precision},
            "parallelism": {"tensor": tensor, "pipeline": 4, "zero": 1, "sequence_parallel": True},
            "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 32},
            "objectives": {"minimize": ["iteration_time"]},
            "constraints": [],
        }
    )


def time(document: Any) -> float:
    return simulate(design_from(document)).iteration_time_s


def changed(found: TrialRecord, section: str, **keys: Any) -> dict[str, Any]:
    assert found.design is not None
    return {**found.design, section: {**found.design[section], **keys}}


def test_a_schedule_that_its_stack_lacks_is_replaced_by_the_one_that_runs() -> None:
    own = trial(schedule="dualpipe-v", interleave=2)
    record = studies.record([own], objectives=OBJECTIVES)
    found = find_as_run(record, own, evaluated)
    usual = time(changed(own, "parallelism", schedule="1f1b"))
    assert found == AsRun(7, {"iteration_time": pytest.approx(usual / own.values["iteration_time"] - 1)})
    (line,) = describe_unrunnable(record, own, found)
    assert "schedule dualpipe-v (1f1b instead); as it runs it, it has time " in line


def test_that_the_design_as_it_runs_breaks_a_rule_is_told() -> None:
    own = trial(schedule="dualpipe-v", interleave=2)
    record = studies.record([own], objectives=OBJECTIVES)
    (line,) = describe_unrunnable(record, own, AsRun(7, None, "interleaving"))
    assert "; as it runs it, it breaks 'interleaving'; dse export" in line


def test_nothing_is_told_of_a_design_that_runs_as_it_is() -> None:
    own = trial()
    assert find_as_run(studies.record([own], objectives=OBJECTIVES), own, evaluated) is None


def test_in_16_bits_a_design_is_what_the_simulator_says() -> None:
    own = trial()
    record = studies.record([own], objectives=OBJECTIVES)
    wide = time(changed(own, "workload", precision="bf16"))
    its = space_of("fp8")
    found = find_wider(record, its, own, evaluated, (), 160)
    assert found is not None
    assert found.loss == {"iteration_time": pytest.approx(wide / own.values["iteration_time"] - 1)}
    assert (found.trial, found.precision, (found.design or {})["parallelism"]["tensor"]) == (7, "bf16", 2)
    assert wide > own.values["iteration_time"]
    assert find_wider(record, its, trial(precision="bf16"), evaluated, (), 160) is None


def test_in_16_bits_a_space_that_has_them_has_better_designs_than_the_one_to_build() -> None:
    its = space_of({"choice": ["bf16", "fp8"]}, {"powers_of_two": [1, 8]})
    own = replace(trial(tensor=8), params={"workload.precision": "fp8", "parallelism.tensor": 8})
    record = studies.record([own], objectives=OBJECTIVES)
    found = find_wider(record, its, own, evaluated, (), 160)
    assert found is not None
    times = {tensor: time(trial(precision="bf16", tensor=tensor).design) for tensor in (1, 2, 4, 8)}
    best = min(times, key=lambda tensor: times[tensor])
    assert best != 8
    assert (found.design or {})["parallelism"]["tensor"] == best
    assert found.loss == {"iteration_time": pytest.approx(times[best] / own.values["iteration_time"] - 1)}


def test_in_16_bits_the_design_least_behind_the_one_to_build_is_looked_for_not_the_knees_neighbour() -> None:
    its = space_of({"choice": ["bf16", "fp8"]}, {"powers_of_two": [1, 8]})
    made = trial(tensor=2)
    values = with_memory(made.design).values
    own = replace(made, values=values, params={"workload.precision": "fp8", "parallelism.tensor": 2})
    lean = replace(own, number=8, values={"iteration_time": 50 * own.values["iteration_time"], "memory.peak": 1e6})
    record = studies.record([own, lean], objectives=BOTH)
    found = find_wider(record, its, own, with_memory, (), 160)
    assert found is not None
    assert found.loss is not None
    wide = with_memory(changed(own, "workload", precision="bf16")).values
    own_form = max(wide[name] / own.values[name] - 1 for name in wide)
    assert max(found.loss.values()) <= own_form + 1e-12


@pytest.mark.parametrize(("loss", "kept"), [(0.02, False), (0.03, True)])
def test_the_best_design_on_a_machine_is_told_as_its_stack_runs_it_unless_that_costs_much(
    loss: float, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = replace(trial(), values={"iteration_time": 1.0})
    elsewhere = replace(trial("h200", schedule="dualpipe-v", interleave=2), values={"iteration_time": 2.0})

    def simulate_as(document: Any) -> Outcome:
        assert document["parallelism"]["schedule"] != "dualpipe-v"
        return replace(evaluated(document), values={"iteration_time": 2.0 * (1 + loss)})

    record = studies.record([own], objectives=OBJECTIVES)
    monkeypatch.setattr(Climb, "run", lambda self, starts, best=None: ((0, 1.0), elsewhere))
    (found,) = best_elsewhere(record, space_of("fp8"), simulate_as, 80, [elsewhere]).best
    assert ((found.design or {})["parallelism"]["schedule"] == "dualpipe-v") is kept
    assert found.values["iteration_time"] == pytest.approx(2.0 if kept else 2.0 * (1 + loss))


def test_in_16_bits_the_machine_that_is_bought_comes_before_a_quicker_one() -> None:
    machines = [
        {"npu": npu, "fabric": fabric, "npus": 32} for npu, fabric in (("h100-80gb", "dgx-h100"), ("b200", "dgx-b200"))
    ]
    its = load_space(
        {
            "workload": {"model": "megatron-22b", "global_batch": 64, "precision": {"choice": ["bf16", "fp8"]}},
            "parallelism": {"tensor": 2, "pipeline": 4, "zero": 1, "sequence_parallel": True},
            "cluster": {"choice": machines},
            "objectives": {"minimize": ["iteration_time"]},
            "constraints": [],
        }
    )
    own = replace(trial(), params={"workload.precision": "fp8", "cluster": 0})
    record = studies.record([own], objectives=OBJECTIVES)
    found = find_wider(record, its, own, evaluated, find_starts(record, its), 160)
    assert found is not None
    assert found.design is not None
    assert machine_of(found.design) == "h100-80gb"
    wide = time(trial(precision="bf16").design)
    assert found.loss == {"iteration_time": pytest.approx(wide / own.values["iteration_time"] - 1)}
