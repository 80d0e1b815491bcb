from __future__ import annotations

import csv
import io

import pandas as pd
import pytest
import report_studies as studies

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.summary import summarize
from dse.report.tables import csv_text, make_frame, pareto_table, parquet_bytes, trials_table
from simcore.metrics import METRICS


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def trials_csv(record: StudyRecord) -> list[dict[str, str]]:
    return rows(csv_text(trials_table(record)))


def test_every_trial_has_one_row_in_order() -> None:
    record = studies.mixed(60)
    assert [int(row["number"]) for row in trials_csv(record)] == list(range(60))


def test_columns_are_number_state_objectives_metrics_violations_reasons_params() -> None:
    table = trials_table(studies.record([studies.simulated(0, 2.0, 2e7)]))
    others = [name for name in METRICS if name not in ("iteration_time", "cost.total", "iteration_time.p90")]
    expected = ["number", "state", "iteration_time", "cost.total", *others]
    expected += ["violation", "violation: fits", "violation: cost.total <= 40e6", "cut_by", "error"]
    assert list(table.columns) == [*expected, "parallelism.tensor", "system.chunks"]


def test_params_stand_in_the_order_of_first_appearance() -> None:
    first = studies.simulated(0, 2.0, 2e7, params={"b": 1})
    second = studies.simulated(1, 2.0, 2e7, params={"a": 1, "b": 2})
    assert trials_table(studies.record([first, second])).columns[-2:] == ("b", "a")


def test_a_cut_trial_has_no_objective_values_but_its_rule_and_violation() -> None:
    (row,) = trials_csv(studies.record([studies.cut(0, 1.5, 1e7)]))
    assert (row["iteration_time"], row["cost.total"], row["mfu"]) == ("", "", "")
    assert (row["state"], row["cut_by"], row["violation"]) == ("cut", "memory", "0.8")


def test_a_failed_trial_says_what_failed() -> None:
    (row,) = trials_csv(studies.record([studies.failed(0, "bad, 'very' \"bad\"\nindeed")]))
    assert row["error"] == "bad, 'very' \"bad\"\nindeed"
    assert row["iteration_time"] == ""


def test_an_infeasible_trial_keeps_its_simulated_values() -> None:
    (row,) = trials_csv(studies.record([studies.simulated(0, 2.0, 5e7)]))
    assert (row["state"], row["cost.total"], row["violation"]) == ("infeasible", "50000000.0", "0.25")


def test_floats_read_back_to_the_same_float() -> None:
    record = studies.record([studies.simulated(0, 0.1 + 0.2, 1e7 / 3)])
    (row,) = trials_csv(record)
    assert float(row["iteration_time"]) == 0.1 + 0.2
    assert float(row["cost.total"]) == 1e7 / 3


def test_pandas_reads_the_csv_as_numbers() -> None:
    read = pd.read_csv(io.StringIO(csv_text(trials_table(studies.mixed(40)))))
    assert len(read) == 40
    assert {str(read[name].dtype) for name in ("iteration_time", "memory.peak", "violation")} == {"float64"}
    assert str(read["parallelism.tensor"].dtype) == "int64"


def test_metrics_that_do_not_apply_are_empty() -> None:
    result = studies.collective_outcome(1e-3, 1e6)
    values = {"iteration_time": 1e-3, "cost.total": 1e6}
    trial = TrialRecord(0, "feasible", values, {}, {}, studies.design(), result.document())
    (row,) = trials_csv(studies.record([trial]))
    assert (row["mfu"], row["memory.peak"], row["exposed_communication"]) == ("", "", "0.001")


def test_lists_and_subtrees_among_parameters_are_json() -> None:
    params = {"a": [1, 2], "b": {"x": True}, "c": None, "d": False}
    (row,) = trials_csv(studies.record([studies.simulated(0, 2.0, 2e7, params=params)]))
    assert (row["a"], row["b"], row["c"], row["d"]) == ("[1,2]", '{"x":true}', "null", "false")


def test_line_ends_are_newlines_only_even_inside_a_name() -> None:
    text = csv_text(trials_table(studies.record([studies.failed(0, "a\r\nb\rc")])))
    assert "\r" not in text


def test_hostile_names_survive_the_round_trip_and_collide_with_no_column() -> None:
    table = trials_csv(studies.hostile())
    assert table[0][studies.HOSTILE] == studies.HOSTILE
    assert (table[0]["number"], table[0]["params.number"]) == ("0", "3")


def test_pareto_csv_has_the_front_with_rank_and_knee() -> None:
    record = studies.mixed()
    summary = summarize(record)
    table = rows(csv_text(pareto_table(record, summary)))
    assert [int(row["number"]) for row in table] == [trial.number for trial in record.front]
    assert [int(row["rank"]) for row in table] == list(range(1, len(record.front) + 1))
    assert [int(row["number"]) for row in table if row["knee"] == "true"] == [summary.knee]


def test_an_empty_front_gives_a_heading_only() -> None:
    record = studies.infeasible_only()
    assert csv_text(pareto_table(record, summarize(record))).count("\n") == 1


@pytest.mark.parametrize("record", [studies.mixed(40), studies.hostile(), studies.record([])])
def test_parquet_holds_what_the_csv_holds(record: StudyRecord) -> None:
    table = trials_table(record)
    read = pd.read_parquet(io.BytesIO(parquet_bytes(table)))
    pd.testing.assert_frame_equal(read, make_frame(table))
    assert list(read.columns) == list(table.columns)
    assert len(read) == len(record.trials)


def test_parquet_types_are_those_of_the_values() -> None:
    types = {name: str(kind) for name, kind in make_frame(trials_table(studies.mixed(40))).dtypes.items()}
    assert types["number"] == "Int64"
    assert types["iteration_time"] == types["memory.peak"] == "Float64"
    assert types["parallelism.tensor"] == "Int64"
    assert types["state"] == types["system.inter_dimension"] == "string"
