from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.space.expression import Expression
from dse.space.interval import ANY, Interval, bound_of, interval, interval_lookup
from dse.space.objective import Objective
from simcore.document.problem import Path, format_path

ENDS = {"a": (0.5, 3.0), "b": (0.0, 2.0), "c": (-4.0, -1.0), "d": (-2.0, 5.0)}


def arithmetic() -> st.SearchStrategy[str]:
    leaves = st.sampled_from([*ENDS, "2", "0.25"])
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds("({} {} {})".format, inner, st.sampled_from("+-*/"), inner),
            st.builds("-({})".format, inner),
            st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), inner, inner),
        ),
        max_leaves=8,
    )


@given(arithmetic(), st.fixed_dictionaries({name: st.floats(*ends) for name, ends in ENDS.items()}))
def test_an_expression_lies_in_its_interval_whatever_its_names_are(text: str, values: dict[str, float]) -> None:
    expression = Expression(text)
    low, high = interval(expression.tree, lambda path: ENDS[format_path(path)])
    try:
        value = expression.value(lambda path: values[format_path(path)])
    except ValueError:
        return  # it divides by 0
    assert low <= value <= high


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a * b", (0.0, 6.0)),
        ("c * a", (-12.0, -0.5)),
        ("1 / a", (1 / 3, 2.0)),
        ("a / b", (0.25, math.inf)),
        ("1 / d", ANY),
        ("a // 2", ANY),
        ("max(a, c)", (0.5, 3.0)),
        ("-a + 1", (-2.0, 0.5)),
    ],
)
def test_ends_follow_from_the_ends_of_the_names(text: str, expected: Interval) -> None:
    assert interval(Expression(text).tree, lambda path: ENDS[format_path(path)]) == expected


@pytest.mark.parametrize(
    ("text", "direction", "expected"),
    [
        ("iteration_time * cost.total", "minimize", 12.0),
        ("power + cost.total", "minimize", 4.0),
        ("throughput / cost.total", "maximize", 2.5),
        ("throughput * iteration_time", "minimize", 0.0),
        ("throughput * iteration_time", "maximize", None),
        ("cost.total - throughput", "minimize", -6.0),
        ("parallelism.tensor * cost.total", "minimize", None),
        ("mfu + throughput", "maximize", None),
    ],
)
def test_an_objective_is_bounded_where_the_bounds_of_its_metrics_are_on_the_right_side(
    text: str, direction: str, expected: float | None
) -> None:
    proven = {"iteration_time": 3.0, "cost.total": 4.0, "throughput": 10.0, "power": None, "mfu": None}
    objective = Objective(text, "minimize" if direction == "minimize" else "maximize", "")
    assert bound_of(objective, interval_lookup(proven)) == expected


def test_values_of_a_design_are_exact() -> None:
    def look(path: Path) -> str:
        return {"cluster.bandwidth": "50 GB/s"}[format_path(path)]

    objective = Objective("cost.total / cluster.bandwidth", "minimize", "")
    assert bound_of(objective, interval_lookup({"cost.total": 1e11}, look)) == 2.0
