"""What bounds alone rule out."""

from __future__ import annotations

import pytest

from dse.constraint import Constraint
from dse.expression import Expression
from dse.limits import breaks


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("time_to_train <= 60 * 86400", [(("time_to_train",), 5184000.0, True)]),
        ("0.4 < mfu", [(("mfu",), 0.4, False)]),
        ("1 <= npus <= 8 and power < 5", [(("npus",), 1, False), (("npus",), 8, True), (("power",), 5, True)]),
        ("memory.peak <= memory.capacity", []),
        ("cost.total * 2 <= 5", []),
        ("npus == 8", []),
        ("cost.total <= 1 / 0", []),
        ("workload.model == 'gpt3'", []),
        ("fits", []),
    ],
)
def test_a_limit_is_a_path_against_a_number(text: str, limits: list[object]) -> None:
    assert list(Expression(text).limits) == limits


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
    ],
)
def test_only_a_bound_beyond_a_limit_rules_out(text: str, broken: bool) -> None:
    bounds = {"iteration_time": 2.0, "throughput": 10.0, "racks": 4.0, "time_to_train": None}
    assert breaks([Constraint(Expression(text))], bounds) == broken
