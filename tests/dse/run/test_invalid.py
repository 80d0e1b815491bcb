"""Why no design of a space may be simulated."""

from __future__ import annotations

import pytest
from tiny_spaces import space, tiny

from dse.report.infeasible import describe_closest
from dse.run.invalid import DRAWN, closest_design, drawn_reasons, explained
from dse.space.space import Space
from simcore.document.problem import InputError


def with_tensor(choices: list[int]) -> Space:
    """Degrees that multiply to the eight NPUs with tensor 8 and data 1 alone."""
    return space(tiny(parallelism={"tensor": {"choice": choices}, "data": {"choice": [1, 3]}}))


def test_all_designs_of_a_small_space_are_asked() -> None:
    small = with_tensor([8, 3, 5])
    reasons = drawn_reasons(small)
    assert len(reasons) == small.count() * 5 / 6
    assert all(is_none for _, _, is_none in reasons)
    said = explained(reasons, "designs of the space")
    assert said.startswith(f"Of {len(reasons)} designs of the space that may not be simulated:")


def test_of_a_large_space_some_are_drawn() -> None:
    assert 0.95 * DRAWN < len(drawn_reasons(with_tensor([8, *range(3, 3 + 2 * DRAWN, 2)]))) <= DRAWN


def test_a_limit_that_is_missed_by_nothing_is_said_to_leave_its_own_value_out() -> None:
    given = space({**tiny(), "constraints": ["fits", "parallelism.tensor < 1"]})
    said = {text for rule, text, _ in drawn_reasons(given) if rule == "parallelism.tensor < 1"}
    assert "at the limit, which it leaves out" in said
    assert all(text.startswith("missed by ") for text in said - {"at the limit, which it leaves out"})


def test_a_constraint_on_what_training_takes_asks_for_its_tokens() -> None:
    with pytest.raises(InputError, match=r"constraints\[1\].*'time_to_train'; give the workload training_tokens"):
        space({**tiny(), "constraints": ["fits", "time_to_train <= 30 d"]})


def test_of_designs_that_only_a_simulation_rules_out_the_closest_is_named() -> None:
    given = space({**tiny(), "constraints": ["fits", "iteration_time <= 1 ns"]})
    assert not drawn_reasons(given)
    found = closest_design(given, "fast")
    assert found is not None
    simulated, closest = found
    assert 1 < simulated <= given.count()
    assert closest.metrics is not None
    told = describe_closest(simulated, closest.design, closest.violations)
    assert told.startswith(f"Of {simulated} designs that may be simulated the closest (")
    factor = closest.metrics["iteration_time_s"] / 1e-9
    assert told.endswith(f") misses 'iteration_time <= 1 ns' by a factor of {factor:.2g}.")


def test_where_no_design_may_be_simulated_none_is_the_closest() -> None:
    assert closest_design(space({**tiny(), "constraints": ["parallelism.tensor < 1"]}), "fast") is None
