from __future__ import annotations

import json
import math
from typing import Any, NoReturn

import pytest
import report_studies as studies

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.evaluate.spread import spread_indices
from dse.report.front import pareto_json
from dse.report.summary import summarize


def refuse(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} is not JSON")


def document(record: StudyRecord) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(pareto_json(record, summarize(record)), parse_constant=refuse)
    return read


def test_the_contract_keys_come_first() -> None:
    keys = ["space", "objectives", "front", "hypervolume", "reference_point", "bounds", "evaluated", "infeasible"]
    assert list(document(studies.mixed()))[:8] == keys


def test_a_member_has_trial_values_params_design_metrics() -> None:
    trial = studies.simulated(3, 2.0, 2e7)
    (member,) = document(studies.record([trial]))["front"]
    assert member["trial"] == 3
    assert member["values"] == {"iteration_time": 2.0, "cost.total": 2e7}
    assert member["params"] == trial.params
    assert member["design"] == trial.design
    assert member["metrics"] == trial.metrics


def test_counts_are_of_all_distinct_trials() -> None:
    read = document(studies.infeasible_only())
    assert (read["evaluated"], read["infeasible"], read["failed"]) == (5, 4, 1)
    assert read["cut"] == {"memory": 2}
    assert (read["front"], read["hypervolume"], read["reference_point"], read["knee"]) == ([], 0.0, [], None)


def test_reference_point_and_hypervolume_are_those_of_a_hand_made_front() -> None:
    trials = [studies.simulated(0, 1.0, 2e7), studies.simulated(1, 2.0, 1e7)]
    read = document(studies.record(trials))
    assert read["reference_point"] == pytest.approx([2.2, 2.2e7])
    assert read["hypervolume"] == pytest.approx(1.2 * 0.2e7 + 0.2 * 1e7)


def test_the_reference_point_of_a_maximised_objective_is_in_its_own_direction() -> None:
    names = ("throughput", "cost.total")
    trials = [studies.simulated(0, 1.0, 2e7, names), studies.simulated(1, 2.0, 1e7, names)]
    reference = document(studies.record(trials, names))["reference_point"]
    assert reference == pytest.approx([0.9 * 1024 * 2048 / 2.0, 2.2e7])


def test_the_gap_is_the_share_by_which_the_best_could_still_improve() -> None:
    read = document(
        studies.record([studies.simulated(0, 4.0, 2e7)], bounds={"iteration_time": 3.0, "cost.total": None})
    )
    assert read["bounds"] == {"iteration_time": 3.0, "cost.total": None}
    assert read["gap"] == {"iteration_time": 0.25, "cost.total": None}


def test_what_json_cannot_say_is_null() -> None:
    metrics = studies.outcome(2.0, 2e7).document() | {"mfu": math.nan, "power_w": math.inf}
    trial = TrialRecord(0, "feasible", {"iteration_time": 2.0, "cost.total": 2e7}, {"x": math.nan}, {}, None, metrics)
    (member,) = document(studies.record([trial], bounds={"iteration_time": math.inf, "cost.total": None}))["front"]
    assert (member["metrics"]["mfu"], member["metrics"]["power_w"]) == (None, None)
    assert (member["params"], member["design"]) == ({"x": None}, None)


def test_members_of_equal_value_are_all_on_the_front() -> None:
    read = document(studies.record([studies.simulated(0, 2.0, 2e7), studies.simulated(1, 2.0, 2e7)]))
    assert [member["trial"] for member in read["front"]] == [0, 1]


def test_a_long_front_is_shown_by_members_spread_over_all_of_it() -> None:
    assert spread_indices(5, 10) == [0, 1, 2, 3, 4]
    assert spread_indices(100, 4, frozenset({50})) == [0, 33, 50, 66, 99]
    assert spread_indices(0, 4) == []
