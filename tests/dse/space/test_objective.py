from __future__ import annotations

from pathlib import Path

import pytest
from tiny_spaces import search, space

from dse.evaluate.evaluate import Outcome
from dse.evaluate.pareto import front_mask
from dse.proof.bound import space_bounds
from dse.proof.certificate import proven_bounds
from dse.search import resolve_sampler
from dse.space.objective import Direction, Objective, direction_notices, losses, speed_notices


def test_a_maximised_objective_changes_its_sign_and_a_minimised_one_does_not() -> None:
    objectives = (Objective("iteration_time", "minimize", "s"), Objective("mfu", "maximize", ""))
    matrix = losses(objectives, [{"iteration_time": 2.0, "mfu": 0.4}, {"mfu": 0.5, "iteration_time": 3.0}])
    assert matrix.tolist() == [[2.0, -0.4], [3.0, -0.5]]


def test_no_values_are_a_matrix_without_rows() -> None:
    assert losses((Objective("mfu", "maximize", ""),), []).shape == (0, 1)


DOCUMENT = {"parallelism": {"tensor": 4}, "cluster": {"npu": {"name": "a"}, "dimensions": [{"bandwidth": "50 GB/s"}]}}
FOUND: dict[str, float | None] = {"iteration_time": 2.0, "cost.total": 30.0, "bubble": 0.0, "mfu": None}


def test_a_metric_is_itself_and_an_expression_is_calculated_in_si_units() -> None:
    assert Objective("cost.total", "minimize", "$").value(FOUND, DOCUMENT) == 30.0
    assert Objective("mfu", "maximize", "").value(FOUND, DOCUMENT) is None
    both = Objective("iteration_time * cost.total + parallelism.tensor", "minimize", "")
    assert both.value(FOUND, DOCUMENT) == 64.0
    assert both.names == ("iteration_time", "cost.total", "parallelism.tensor")
    assert Objective("cluster.dimensions[0].bandwidth / 1e9", "maximize", "").value(FOUND, DOCUMENT) == 50.0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cost.total / bubble", "expected a divisor other than 0"),
        ("mfu * 2", "got 'mfu', which it lacks"),
        ("cluster.npu.name", "expected a finite number, got 'a'"),
        ("cost.total * 1e308 * 1e10", "expected a finite number, got inf"),
        ("parallelism.tensors", "expected a path of the document"),
    ],
)
def test_an_expression_without_a_finite_value_says_why(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Objective(text, "minimize", "").value(FOUND, DOCUMENT)


PRODUCT = {"minimize": ["iteration_time * cost.total", "cost.total"], "maximize": ["throughput / power"]}


@pytest.mark.parametrize("sampler", ["guided", "nsga2"])
def test_the_front_of_expressions_is_that_of_a_search_through_everything(tmp_path: Path, sampler: str) -> None:
    given = space(objectives=PRODUCT)
    _, every = search(given, tmp_path / "all", "exhaustive", 400, engine="fast")
    _, found = search(given, tmp_path / sampler, sampler, 400, engine="fast")

    def front(outcomes: list[Outcome]) -> set[tuple[float, ...]]:
        matrix = losses(given.objectives, [o.values for o in outcomes if o.state == "feasible"])
        return {tuple(row) for row in matrix[front_mask(matrix)]}

    assert front(found) == front(every)


def test_no_design_is_better_than_the_bound_of_an_expression(tmp_path: Path) -> None:
    given = space(objectives=PRODUCT, constraints=[])
    proven = proven_bounds(given, "auto")
    assert proven["iteration_time * cost.total"] == pytest.approx(proven["cost.total"] * bounded("iteration_time"))
    _, outcomes = search(given, tmp_path, "exhaustive", 400, engine="fast")
    for objective in given.objectives:
        bound = proven[objective.name]
        assert bound is not None
        for outcome in outcomes:
            assert objective.sign * bound <= objective.sign * outcome.values[objective.name] * (1 + 1e-12)


def bounded(metric: str) -> float:
    found = space_bounds(space(objectives={"minimize": [metric]}, constraints=[]))[metric]
    assert found is not None
    return found


def test_auto_searches_expressions_and_exact_proves_their_front(tmp_path: Path) -> None:
    given = space(objectives=PRODUCT)
    assert resolve_sampler("auto", given, "fast") == "guided"
    assert resolve_sampler("auto", space(), "fast") == "exact"
    fronts = []
    for sampler in ("exhaustive", "exact"):
        _, outcomes = search(given, tmp_path / sampler, sampler, 400, engine="fast")
        feasible = [outcome for outcome in outcomes if outcome.state == "feasible"]
        kept = front_mask(losses(given.objectives, [outcome.values for outcome in feasible]))
        fronts.append({outcome.key for outcome, on in zip(feasible, kept, strict=True) if on})
    assert fronts[0] == fronts[1]


def test_an_objective_that_divides_by_a_result_of_zero_fails_with_its_reason(tmp_path: Path) -> None:
    _, outcomes = search(space(objectives={"minimize": ["cost.total / bubble"]}), tmp_path, "random", 3)
    assert {outcome.state for outcome in outcomes} == {"failed"}
    assert all((o.error or "").startswith("objectives: 'cost.total / bubble': expected a div") for o in outcomes)


@pytest.mark.parametrize(
    ("name", "direction", "told"),
    [
        (
            "throughput",
            "minimize",
            ["objectives: throughput is minimized, though more of it is better: say 'maximize'"],
        ),
        (
            "cost.total",
            "maximize",
            ["objectives: cost.total is maximized, though less of it is better: say 'minimize'"],
        ),
        ("throughput", "maximize", []),
        ("memory.capacity", "maximize", []),
        ("throughput / cost.total", "minimize", []),
    ],
)
def test_a_direction_in_which_a_metric_gets_worse_is_told(name: str, direction: Direction, told: list[str]) -> None:
    found = list(direction_notices([Objective(name, direction, "")]))
    assert [sentence.split(" unless")[0] for sentence in found] == told


@pytest.mark.parametrize(
    ("names", "limited", "told"),
    [
        (["cost.tco"], ["fits"], True),
        (["cost.total", "cost.network"], [], True),
        (["cost.total + cost.electricity"], [], True),
        (["cost.tco"], ["iteration_time"], False),
        (["cost.tco"], ["throughput"], False),
        (["cost.tco", "iteration_time"], [], False),
        (["cost_per_token"], [], False),
        (["memory.peak"], [], False),
    ],
)
def test_money_alone_is_told_to_ask_for_no_speed(names: list[str], limited: list[str], told: bool) -> None:
    found = list(speed_notices([Objective(name, "minimize", "$") for name in names], limited))
    assert [sentence.startswith("objectives: nothing asks for speed") for sentence in found] == [True] * told
