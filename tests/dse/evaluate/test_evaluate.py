from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest
from tiny_spaces import always_broken, broken_for_tensor_2, cheap, slow_result, space, tiny

from dse.evaluate.evaluate import Evaluator, Outcome
from dse.evaluate.record import VALID
from dse.space.objective import Direction, Objective
from dse.space.space import Space
from simcore.bounds.design import bound
from simcore.check.load import parse_design
from simcore.design.design import Design
from simcore.metrics import METRICS
from simcore.result import Result

EVERY_OBJECTIVE = tuple(
    Objective(name, "minimize" if metric.better == "less" else "maximize", metric.unit)
    for name, metric in METRICS.items()
    if name not in ("time_to_first_token", "time_per_output_token")  # of a model that is served
)


def documents(given: Space, step: int = 7) -> Iterator[Any]:
    return (filled.document for filled in islice(given.enumerate(), 0, None, step))


def trained() -> Space:
    """A space whose workload says how long it is trained, so that it has every metric."""
    return space(workload={**tiny()["workload"], "training_tokens": 1e9})


def evaluator(given: Space, engine: Any = "fast", objectives: tuple[Objective, ...] | None = None) -> Evaluator:
    return Evaluator(objectives or given.objectives, given.constraints, engine)


def evaluated(given: Space, engine: Any = "fast", step: int = 7) -> list[Outcome]:
    judge = evaluator(given, engine)
    return [judge(document) for document in documents(given, step)]


def test_a_design_that_meets_everything_is_feasible_and_has_its_simulated_values() -> None:
    (outcome, *_) = evaluated(space())
    assert outcome.state == "feasible"
    assert outcome.metrics is not None
    assert outcome.values == {
        "iteration_time": outcome.metrics["iteration_time_s"],
        "cost.total": outcome.metrics["cost"]["total"],
    }
    assert set(outcome.violations) == {VALID, "fits"}
    assert max(outcome.violations.values()) <= 0
    assert outcome.cut_by is None
    assert outcome.error is None


def test_the_same_document_has_the_same_outcome_every_time() -> None:
    given = space()
    assert evaluated(given, step=11) == evaluated(given, step=11)


def test_the_design_of_an_outcome_is_complete_and_has_the_same_key_and_outcome() -> None:
    given = space()
    judge = evaluator(given)
    for document in documents(given, 17):
        outcome = judge(document)
        again = judge(outcome.design)
        assert again == outcome


def never_asked(design: Design) -> Any:
    raise AssertionError("a design that is cut is not simulated")


@pytest.mark.parametrize(
    "rule",
    ["cost.total <= 1", "memory.peak <= 1", "parallelism.tensor >= 100", "npus <= 4", "cluster.dimensions[0].size < 4"],
)
def test_a_rule_on_inputs_cuts_before_simulation_and_is_named(rule: str) -> None:
    for outcome in evaluated(space(constraints=["fits", rule]), engine=never_asked):
        assert outcome.state == "cut"
        assert outcome.cut_by == rule
        assert outcome.metrics is None
        assert outcome.violations[rule] > 0
        assert outcome.violations[VALID] == 0
        assert set(outcome.values) == {"iteration_time", "cost.total"}


def test_the_violation_of_a_cut_grows_with_what_is_missed() -> None:
    given = space(constraints=["cost.total <= 50e3"])
    for outcome in evaluated(given):
        cost = outcome.values["cost.total"]
        assert outcome.violations["cost.total <= 50e3"] == pytest.approx((cost - 50e3) / max(cost, 50e3))


def test_a_design_that_does_not_fit_is_cut_by_its_memory() -> None:
    model = {"name": "wide", "hidden": 16384, "layers": 64, "heads": 64, "vocabulary": 1000, "sequence_length": 128}
    given = space(workload={"model": model, "global_batch": 16})
    for outcome in evaluated(given, engine=never_asked, step=31):
        assert (outcome.state, outcome.cut_by) == ("cut", "fits")
        assert outcome.violations["fits"] > 0


@pytest.mark.parametrize("objective", EVERY_OBJECTIVE, ids=lambda o: o.name)
def test_the_values_of_a_cut_design_are_bounds_that_its_simulation_does_not_beat(objective: Objective) -> None:
    cut = evaluator(space(constraints=["cost.total <= 1"]), objectives=(objective,))
    free = evaluator(space(constraints=[]), objectives=(objective,))
    for document in documents(trained(), 13):
        proven, simulated = cut(document), free(document)
        assert (proven.state, simulated.state) == ("cut", "feasible")
        better, worse = proven.values[objective.name], simulated.values[objective.name]
        assert objective.sign * better <= objective.sign * worse * (1 + 1e-12 * objective.sign)


def test_the_bounds_of_a_design_hold_for_every_metric_that_it_names() -> None:
    free = evaluator(space(constraints=[]), objectives=EVERY_OBJECTIVE)
    for document in documents(trained(), 13):
        design, _ = parse_design(document)
        assert design is not None
        values = free(document).values
        for objective in EVERY_OBJECTIVE:
            proven = bound(design).get(objective.name)
            if proven is not None:
                assert objective.sign * proven <= objective.sign * values[objective.name] + 1e-12 * abs(proven)


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_a_design_that_is_none_is_cut_and_says_why(direction: Direction) -> None:
    objectives = (Objective("iteration_time", "minimize", "s"), Objective("throughput", direction, "tokens/s"))
    given = space(parallelism={"tensor": {"choice": [8, 3]}, "pipeline": 1})
    for document in documents(given, 1):
        if document["parallelism"]["tensor"] == 8:
            continue
        outcome = evaluator(given, never_asked, objectives)(document)
        assert outcome.state == "cut"
        assert outcome.violations[VALID] > 0
        assert outcome.cut_by
        assert "expected" in (outcome.error or "")
        assert outcome.values["iteration_time"] > 0


def test_a_rule_on_results_leaves_the_simulated_values_and_the_violation() -> None:
    given = space(constraints=["fits", "bubble <= 0.1"])
    found = evaluated(given, slow_result)
    assert {outcome.state for outcome in found} == {"feasible", "infeasible"}
    for outcome in found:
        pipeline = outcome.design["parallelism"]["pipeline"]
        assert outcome.state == ("feasible" if pipeline == 1 else "infeasible")
        assert outcome.cut_by is None
        assert outcome.metrics is not None
        assert (outcome.violations["bubble <= 0.1"] > 0) == (pipeline > 1)
        assert outcome.values["iteration_time"] == outcome.metrics["iteration_time_s"]


def test_every_outcome_has_a_violation_for_every_constraint() -> None:
    given = space(constraints=["fits", "parallelism.tensor <= 2", "bubble <= 0.1"])
    names = {VALID, "fits", "parallelism.tensor <= 2", "bubble <= 0.1"}
    outcomes = evaluated(given, slow_result, 3) + evaluated(given, always_broken, 3)
    assert {outcome.state for outcome in outcomes} == {"feasible", "infeasible", "cut", "failed"}
    assert all(set(outcome.violations) == names for outcome in outcomes)


def test_an_engine_that_raises_makes_a_failed_outcome_that_says_what_was_raised() -> None:
    found = evaluated(space(), broken_for_tensor_2, 1)
    for outcome in found:
        failed = outcome.design["parallelism"]["tensor"] == 2
        assert outcome.state == ("failed" if failed else "feasible")
        assert ("RuntimeError: the engine has no answer for tensor 2" in (outcome.error or "")) == failed
        assert (outcome.values == {}) == failed


@pytest.mark.parametrize("raised", [SystemExit(5), ValueError("half a letter: \ud800"), OSError("b\udcff")])
def test_an_engine_that_ends_the_process_or_says_what_no_file_takes_fails_its_design(raised: BaseException) -> None:
    def ends(design: Design) -> Result:
        raise raised

    for outcome in evaluated(space(), ends):
        assert outcome.state == "failed"
        assert type(raised).__name__ in (outcome.error or "").encode().decode()


@pytest.mark.parametrize("changes", [{"engine": None}, {"mfu": "much"}, {"fits": 1}])
def test_a_result_with_values_of_other_types_fails_its_design_so_that_its_journal_can_be_read(changes: Any) -> None:
    for outcome in evaluated(space(), lambda design: replace(cheap(design), **changes)):
        assert outcome.state == "failed"
        assert "values of other types" in (outcome.error or "")


def test_an_interruption_is_no_failure_of_a_design() -> None:
    def interrupted(design: Design) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluated(space(), interrupted)


def test_a_single_collective_has_no_memory_and_fits() -> None:
    given = space(tiny(workload={"collective": "all_reduce", "size": "1 MiB"}, parallelism=None))
    for outcome in evaluated(given, step=1):
        assert outcome.state == "feasible"
        assert outcome.metrics is not None
        assert outcome.metrics["memory_bytes"] is None


def test_an_engine_from_outside_takes_the_place_of_the_simulator() -> None:
    (outcome, *_) = evaluated(space(), cheap)
    assert outcome.metrics is not None
    assert outcome.metrics["engine"] == "cheap"


@pytest.mark.parametrize("seconds", [float("nan"), float("inf")])
def test_an_objective_without_a_finite_value_fails_its_design(seconds: float) -> None:
    given = space(objectives={"minimize": ["iteration_time"]})

    def endless(design: Design) -> Result:
        return replace(cheap(design), iteration_time_s=seconds)

    found = [outcome for outcome in evaluated(given, endless) if outcome.state != "cut"]
    assert found
    assert all(outcome.state == "failed" and "no finite number" in (outcome.error or "") for outcome in found)
