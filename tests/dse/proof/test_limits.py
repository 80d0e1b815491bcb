"""What bounds alone rule out."""

from __future__ import annotations

import pytest

from dse.proof.unreachable import is_infeasible
from dse.space.constraint import Constraint
from dse.space.expression import Expression


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("iteration_time <= 1.9", True),
        ("iteration_time <= 2", False),
        ("iteration_time >= 3", False),  # it may be more than its bound
        ("throughput >= 11", True),
        ("throughput <= 5", False),
        ("time_to_train <= 1", False),  # nothing is proven of it
        ("racks <= 4 and iteration_time <= 1", True),
        ("1.9 >= iteration_time", True),
        ("1 <= iteration_time * racks <= 7", True),
        ("iteration_time <= memory.capacity", False),
        ("iteration_time <= 1 / 0", False),
        ("workload.model == 'gpt3'", False),
        ("fits", False),
    ],
)
def test_only_a_bound_beyond_a_limit_rules_out(text: str, broken: bool) -> None:
    bounds = {"iteration_time": 2.0, "throughput": 10.0, "racks": 4.0, "time_to_train": None}
    assert is_infeasible([Constraint(Expression(text))], bounds) == broken
