from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dse.space.constraint import NO_VALUE, Constraint, add_fits, describe_violation, parse_constraints
from dse.space.expression import Expression
from simcore.document.problem import Problem

DOCUMENT: dict[str, Any] = {
    "parallelism": {"tensor": 8},
    "cluster": {"dimensions": [{"bandwidth": "25 GB/s", "latency": "1.7 us"}]},
    "system": {"inter_dimension": "themis"},
}
METRICS: dict[str, float | None] = {
    "memory.peak": 60.0,
    "memory.reserved": 60.0,
    "memory.capacity": 80.0,
    "cost.total": 100.0,
    "mfu": None,
}


def constraint(text: str) -> Constraint:
    return Constraint(Expression(text))


@pytest.mark.parametrize(
    ("text", "early"),
    [
        ("fits", True),
        ("cost.total <= 3", True),
        ("parallelism.tensor * 2 <= cluster.dimensions[0].size", True),
        ("memory.peak <= 0.9 * memory.capacity", True),
        ("iteration_time <= 3", False),
        ("power <= 2e6 and cost.total <= 4e7", False),
    ],
)
def test_a_constraint_is_early_where_no_name_in_it_needs_a_simulation(text: str, early: bool) -> None:
    assert constraint(text).is_early is early


@pytest.mark.parametrize(
    ("text", "violation"),
    [
        ("fits", 60 / 80 - 1),
        ("memory.peak <= memory.capacity", (60 - 80) / 80),
        ("cost.total <= 50", 0.5),
        ("parallelism.tensor <= 4", 0.5),
        ("cluster.dimensions[0].bandwidth >= 50e9", 0.5),
        ("cluster.dimensions[0].latency <= 1.7e-6", 0.0),
        ("system.inter_dimension == 'themis'", 0.0),
        ("system.inter_dimension == 'baseline'", 1.0),
    ],
)
def test_a_constraint_reads_metrics_and_the_document_in_si_units(text: str, violation: float) -> None:
    assert constraint(text).violation(METRICS, DOCUMENT) == pytest.approx(violation)


def test_what_has_no_memory_fits() -> None:
    assert constraint("fits").violation({"memory.reserved": None, "memory.capacity": 1.0}, {}) < 0


def test_a_metric_that_the_workload_lacks_is_named() -> None:
    with pytest.raises(ValueError, match="expected a metric of this workload, got 'mfu'"):
        constraint("mfu >= 0.3").measure_violation(METRICS, DOCUMENT)


def test_a_condition_without_a_value_is_broken_and_says_why() -> None:
    divided = replace(constraint("cost.total / (parallelism.tensor - 8) <= 3"), place=("constraints", 2))
    assert divided.violation(METRICS, DOCUMENT) == NO_VALUE > 0
    assert divided.explain_no_value(METRICS, DOCUMENT) == (
        "constraints[2]: 'cost.total / (parallelism.tensor - 8) <= 3': expected a divisor other than 0, "
        "got 0 for 'parallelism.tensor - 8' (parallelism.tensor is 8)"
    )
    assert constraint("cost.total / parallelism.tensor <= 3").explain_no_value(METRICS, DOCUMENT) == ""


def test_every_constraint_that_cannot_be_read_is_told_with_its_place() -> None:
    problems: list[Problem] = []
    kept = parse_constraints(["fits", 3, "a +", "cost.totl <= 3", "foo.bar <= 1"], problems)
    assert [problem.path for problem in problems] == [("constraints", i) for i in (1, 2, 3, 4)]
    assert kept[0].name == "fits"
    assert "did you mean 'cost.total'?" in str(problems[2])


@pytest.mark.parametrize(
    ("name", "values", "told"),
    [
        ("cost.total <= 100", {"cost.total": 138.0}, "38 %"),
        ("cost.total < 100", {"cost.total": 1200.0}, "a factor of 12"),
        ("mfu >= 0.5", {"mfu": 0.4}, "20 %"),
        ("cost.total <= 100 and mfu >= 0.5", {"cost.total": 138.0, "mfu": 0.5}, "28 %"),
    ],
)
def test_a_violation_is_told_as_a_share_of_the_limit(name: str, values: dict[str, float], told: str) -> None:
    (limit,) = parse_constraints([name], [])
    assert describe_violation(name, limit.violation(values, {})) == told


@pytest.mark.parametrize(
    ("said", "holds"),
    [
        (None, ["fits"]),
        (["power.rack <= 45 kW"], ["fits", "power.rack <= 45 kW"]),
        (["cost.total <= 1e6", "fits"], ["cost.total <= 1e6", "fits"]),
        (["memory.reserved <= 120 GiB"], ["memory.reserved <= 120 GiB"]),
        ([], []),
    ],
)
def test_a_limit_on_something_else_does_not_let_in_what_does_not_fit(said: list[str] | None, holds: list[str]) -> None:
    data = {"workload": {"model": "gpt3"}} | ({} if said is None else {"constraints": said})
    assert [each.name for each in add_fits(parse_constraints(said or [], []), data)] == holds


def test_what_does_not_say_what_it_holds_need_not_fit() -> None:
    limits = parse_constraints(["racks <= 8"], [])
    recorded = {"workload": {"trace": "traces/run"}}
    for data in (recorded, {"workloads": [{"workload": {"model": "gpt3"}}, recorded]}):
        assert add_fits(limits, {**data, "constraints": ["racks <= 8"]}) == limits
