from __future__ import annotations

from dse.objective import Objective, losses


def test_a_maximised_objective_changes_its_sign_and_a_minimised_one_does_not() -> None:
    objectives = (Objective("iteration_time", "minimize", "s"), Objective("mfu", "maximize", ""))
    matrix = losses(objectives, [{"iteration_time": 2.0, "mfu": 0.4}, {"mfu": 0.5, "iteration_time": 3.0}])
    assert matrix.tolist() == [[2.0, -0.4], [3.0, -0.5]]


def test_no_values_are_a_matrix_without_rows() -> None:
    assert losses((Objective("mfu", "maximize", ""),), []).shape == (0, 1)
