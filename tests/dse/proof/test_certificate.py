from __future__ import annotations

from pathlib import Path

import pytest
from tiny_spaces import search, space

from dse.proof.certificate import check_reachable
from dse.run.drive import optimize
from dse.run.settings import Settings
from simcore.document.problem import InputError


@pytest.mark.parametrize(
    ("text", "proven"),
    [
        ("cost.total <= 10", "cost.total is proven to be at least"),
        ("10 >= cost.total", "cost.total is proven to be at least"),
        ("power >= 0 and 2 * cost.total < 20", "2 * cost.total is proven to be at least"),
        ("iteration_time <= 1e-9", "iteration_time is proven to be at least"),
        ("iteration_time <= 1 ns", "iteration_time is proven to be at least"),
        ("mfu > 0.999", "mfu is proven to be at most"),
        ("npus == 4", "npus is proven to be at least 8"),
        ("throughput / cost.total >= 1e12", "throughput / cost.total is proven to be at most"),
        ("1 < npus < 2", "npus is proven to be at least 8"),
    ],
)
def test_a_constraint_that_the_bounds_exclude_is_refused_with_place_bound_and_number(
    tmp_path: Path, text: str, proven: str
) -> None:
    given = space(constraints=["fits", text])
    with pytest.raises(InputError) as told:
        optimize(given, Settings("auto", 10, 0), tmp_path / "run", resume=False)
    (problem,) = told.value.problems
    assert problem.path == ("constraints", 1)
    assert problem.line is not None
    assert proven in problem.expected
    plain = {"iteration_time <= 1e-9": " in s", "cost.total <= 10": " in $", "10 >= cost.total": " in $"}
    assert problem.found == f"'{text}'{plain.get(text, '')}"
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "text",
    [
        "not (cost.total <= 10)",
        "max(cost.total <= 10, npus >= 1) == 1",
        "cost.total != 10",
        "parallelism.tensor >= 1",
        "cost.total >= 10",
        "throughput >= 0",
    ],
)
def test_what_is_not_proven_impossible_is_searched(text: str) -> None:
    check_reachable(space(constraints=[text]), "fast")


@pytest.mark.parametrize("metric", ["cost.total", "iteration_time", "memory.peak"])
def test_the_least_value_of_a_space_is_reachable(tmp_path: Path, metric: str) -> None:
    _, outcomes = search(space(objectives={"minimize": [metric]}), tmp_path, "exhaustive", 400, engine="fast")
    least = min(outcome.values[metric] for outcome in outcomes if outcome.state == "feasible")
    check_reachable(space(constraints=["fits", f"{metric} <= {least!r}"]), "fast")


def test_of_another_engine_only_the_cluster_is_proven() -> None:
    check_reachable(space(constraints=["iteration_time <= 1e-9"]), "reference_links")
    with pytest.raises(InputError, match=r"cost\.total is proven"):
        check_reachable(space(constraints=["cost.total <= 10"]), "reference_links")
