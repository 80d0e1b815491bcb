"""What reports say beyond the front: units of what is counted, importance, room for headings."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import report_studies as studies
from page_data import data_of
from test_report_terminal import printed

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.counted import convert_units
from dse.report.importance import importance
from dse.report.page import report_html
from dse.report.summary import summarize
from dse.report.write import report_files


def counted(record: StudyRecord, what: str) -> StudyRecord:
    def said(trial: TrialRecord) -> TrialRecord:
        return replace(trial, metrics={**trial.metrics, "throughput_counts": what}) if trial.metrics else trial

    return replace(record, trials=tuple(map(said, record.trials)))


def test_a_study_that_counts_samples_says_so_everywhere() -> None:
    names = ("throughput", "cost.total")
    record = counted(studies.mixed(40, names), "samples")
    text = printed(record, 100)
    assert "samples/s" in text
    files = report_files(record)
    assert json.loads(files["pareto.json"])["objectives"][0]["unit"] == "samples/s"
    own = convert_units(record)
    for said in (text, report_html(own, summarize(own)).split("<script")[0]):
        assert "token" not in said
    units = {found.get("unit", "") for found in data_of(own)["columns"]}
    assert {"samples/s", "samples/s/$"} <= {unit.removeprefix("k ") for unit in units}
    assert not any("token" in unit for unit in units)


def test_a_study_that_counts_tokens_or_both_keeps_its_units() -> None:
    record = counted(studies.mixed(40, ("throughput", "cost.total")), "tokens")
    assert convert_units(record) is record
    mixed = replace(record, trials=(*counted(record, "samples").trials[:20], *record.trials[20:]))
    assert convert_units(mixed) is mixed


def test_importance_overall_of_the_front_and_on_it_find_the_parameter_that_decides_each() -> None:
    """Speed alone decides the time, price alone the cost, waste how far a design is from the front."""
    draw = np.random.default_rng(0)
    trials = []
    for number in range(400):
        speed, waste, idle = (int(draw.integers(0, 4)) for _ in range(3))
        time = 10.0 - 2.0 * speed + 3.0 * waste
        cost = 1e7 * (1.0 + speed + 1.5 * waste)
        params: dict[str, Any] = {"speed": speed, "waste": waste, "idle": idle}
        trials.append(studies.simulated(number, time, cost, params=params))
    found = importance(studies.record(trials))
    assert next(iter(found.of_front)) == "waste"
    assert [next(iter(found.near_front[name])) for name in ("iteration_time", "cost.total")] == ["speed", "speed"]
    for shares_of in (*found.overall.values(), found.of_front, *found.near_front.values()):
        assert sum(shares_of.values()) == pytest.approx(1.0, abs=1e-4)
        assert shares_of.get("idle", 0.0) < 0.5 * max(shares_of.values())


def test_long_headings_are_broken_so_that_columns_are_as_narrow_as_their_numbers() -> None:
    names = ("exposed_communication", "cost.total")
    trials = [studies.simulated(n, 1.0 + n, 3e7 - 1e6 * n, names) for n in range(4)]
    lines = printed(studies.record(trials, names), 80).splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("trial"))
    assert "exposed" in " ".join(lines[start - 2 : start])
    assert "exposed communication" not in lines[start]


def test_what_a_proof_has_cut_is_not_passed_off_as_compared_with() -> None:
    record = studies.mixed(60)
    proof = {"points": 5000, "cut": {"bound": 4900}, "repeats": 0, "simulated": 60, "open": 0, "complete": True}
    proved = replace(record, proof={**proof, "solved_shares": False, "bounds": {}})
    summary = replace(summarize(proved), importance=importance(proved))
    told = f"Among the {summary.feasible} feasible designs that were simulated, of 5,000 combinations"
    page = report_html(proved, summary)
    assert page.count(told) == 2  # both tables of importance
    assert "Which parameters mattered among the simulated" in page
    assert json.loads(report_files(proved)["pareto.json"])["compared"] == {
        "feasible": summary.feasible,
        "combinations": 5000,
    }
    free = report_html(record, replace(summarize(record), importance=importance(record)))
    assert told[1:] not in free
    assert "Which parameters mattered overall" in free
