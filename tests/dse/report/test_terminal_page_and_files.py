"""The terminal, the page and the files of one study: the same decision, the same families, the same numbers."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import report_studies as studies
from asked_studies import answer_what_if
from page_data import column, document, read_data
from rich.console import Console
from test_report_page import Page
from tiny_spaces import tiny

from dse.door.optimize import optimize
from dse.evaluate.record import StudyRecord
from dse.report.importance import importance
from dse.report.summary import summarize
from dse.report.terminal import print_front
from dse.report.units import format_percent, scale
from dse.report.write import report_files
from dse.run.record import load_record
from dse.whatif.answers import WhatIf

WIDE = 4000


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[StudyRecord, WhatIf]:
    folder = tmp_path_factory.mktemp("run")
    machines = {"npu": {"choice": ["a100-80gb", "h100-80gb", "h200"]}}  # the last is dearer than its like, and as quick
    optimize(tiny(cluster=tiny()["cluster"] | machines), trials=24, seed=1, folder=folder)
    record = load_record(folder)
    return record, answer_what_if(record, folder)


def printed(record: StudyRecord, what_if: WhatIf) -> str:
    console = Console(file=io.StringIO(), width=WIDE, color_system=None)
    print_front(record, console, what_if)
    assert isinstance(console.file, io.StringIO)
    return " ".join(console.file.getvalue().split())


def test_the_decision_is_the_same_in_the_terminal_on_the_page_and_in_the_file(
    study: tuple[StudyRecord, WhatIf],
) -> None:
    record, what_if = study
    files = report_files(record, what_if)
    said = json.loads(files["pareto.json"])["decision"]
    page, terminal = Page(files["report.html"].decode()).text, printed(record, what_if)
    assert said["trial"] is not None
    assert len(said["sentences"]) == 5
    assert said["sentences"][2].startswith("Other machines, ")
    assert said["sentences"][-1].startswith("Hypothetical: ")
    for text in (*said["sentences"], *said["assumptions"]):
        assert " ".join(text.split()) in page
        assert " ".join(text.split()) in terminal


def test_families_have_the_same_designs_and_values_everywhere(study: tuple[StudyRecord, WhatIf]) -> None:
    record, what_if = study
    files = report_files(record, what_if)
    found = json.loads(files["pareto.json"])["families"]
    html, terminal = files["report.html"].decode(), printed(record, what_if)
    table = html.partition("<caption>Families of the front</caption>")[2].partition("</table>")[0]
    rows = [Page(row).text for row in re.findall(r"<tr.*?</tr>", table.partition("<tbody>")[2])]
    assert len(rows) == len(found)
    assert read_data(html)["families"] == [family["chosen"] for family in found]
    values = {trial.number: trial.values for trial in record.trials}
    for row, family in zip(rows, found, strict=True):
        assert f"#{family['chosen']}" in row
        for objective in record.objectives:
            unit = scale(objective.unit, [other["high"][objective.name] for other in found], objective.name)
            text = unit.number(values[family["chosen"]][objective.name])
            assert text in row
            assert text in terminal


def test_the_front_is_the_same_to_the_last_digit_on_the_page_and_in_the_file(
    study: tuple[StudyRecord, WhatIf],
) -> None:
    record, what_if = study
    files = report_files(record, what_if)
    front = json.loads(files["pareto.json"])["front"]
    data = read_data(files["report.html"].decode())
    rows = {number: row for row, number in enumerate(column(data, "number"))}
    designs = {member["trial"]: index for index, member in enumerate(data["designs"]["members"])}
    for member in front:
        for name, value in member["values"].items():
            assert column(data, name)[rows[member["trial"]]] == value
        index = designs[member["trial"]]
        assert document(data["designs"]["documents"], index) == member["design"]
        result = document(data["designs"]["results"], index)
        assert {key: result[key] for key in member["metrics"]} == member["metrics"]


def test_sureness_intervals_and_bounds_on_the_page_are_those_of_the_file(study: tuple[StudyRecord, WhatIf]) -> None:
    record, what_if = study
    summary = replace(summarize(record, what_if), importance=importance(record))
    files = report_files(record, what_if)
    stated = json.loads(files["pareto.json"])
    html = files["report.html"].decode()
    data, text = read_data(html), Page(html).text
    scenarios = what_if.scenarios
    assert scenarios is not None
    for member in data["designs"]["members"]:
        sure = scenarios.members.get(member["trial"])
        assert sure is None or member["interval"] == (None if sure.interval is None else list(sure.interval))
        assert sure is None or format_percent(sure.on_front) in text
    assert data["robust"] in (scenarios.robust, None)
    assert data["knee"] == stated["knee"] == summary.knee
    bounds = {found["key"]: found["bound"] for found in data["columns"] if found["role"] == "objective"}
    assert bounds == stated["bounds"]


def test_what_the_terminal_and_the_page_say_differs_where_the_record_does(study: tuple[StudyRecord, WhatIf]) -> None:
    """The comparison can fail: another study's page does not hold this one's decision."""
    record, what_if = study
    said = json.loads(report_files(record, what_if)["pareto.json"])["decision"]["sentences"][1]
    assert said not in Page(report_files(studies.mixed(40))["report.html"].decode()).text


def test_the_files_are_written_where_the_page_says(study: tuple[StudyRecord, WhatIf], tmp_path: Path) -> None:
    from dse.report.write import write_reports

    names = {path.name for path in write_reports(study[0], tmp_path, study[1])}
    assert {"trials.csv", "pareto.json", "report.html"} <= names
