from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import report_studies as studies
from test_report_tables import rows

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.front import pareto_document
from dse.report.summary import Summary, summarize
from dse.report.tables import csv_text, pareto_table
from dse.report.ties import SURE, ties
from dse.space.objective import Objective
from dse.whatif.answers import NOTHING, Assumption, Scenarios, Sureness

NAMES = studies.NAMES[:2]


def compared(shares: Mapping[str, Mapping[tuple[int, int], float]], members: tuple[int, ...] = (0, 1, 2)) -> Scenarios:
    """Scenarios in which the first of each pair is better so often, and the second in the others."""
    better = {name: {**pairs, **{(b, a): 1.0 - p for (a, b), p in pairs.items()}} for name, pairs in shares.items()}
    sure = {number: Sureness((0.8, 1.3), 0.5 + number / 10, 0.01, 0.02) for number in members}
    assumed = (Assumption("price of NPUs", 1, ("a100-80gb",), 0.7, 1.3, "assumed", "30 % in nine of ten cases"),)
    return Scenarios(256, (*members, 9), sure, members[0], better, assumptions=assumed)


def front(count: int = 3) -> list[TrialRecord]:
    return [studies.simulated(number, 10.0 + number, 3e7 - number * 1e6) for number in range(count)]


def goals(*names: str) -> list[Objective]:
    return [studies.objective(name) for name in names]


TIMES = {(0, 1): 0.6, (0, 2): 0.97, (1, 2): SURE}
COSTS = dict.fromkeys(TIMES, 0.0)


def summarized(record: StudyRecord, scenarios: Scenarios) -> Summary:
    return summarize(record, replace(NOTHING, scenarios=scenarios))


def test_members_are_tied_where_neither_is_faster_in_nine_of_ten_scenarios_whatever_they_cost() -> None:
    found = ties(goals(*NAMES), front(), compared({"iteration_time": TIMES, "cost.total": COSTS}))
    assert found == {0: (1,), 1: (0,), 2: ()}


def test_designs_that_are_equal_in_all_scenarios_are_tied() -> None:
    scenarios = compared({"iteration_time": {}}, (0, 1))
    equal = replace(scenarios, better={"iteration_time": {(0, 1): 0.0, (1, 0): 0.0}})
    assert ties(goals("iteration_time"), front(2), equal) == {0: (1,), 1: (0,)}


def test_every_objective_that_goes_with_the_time_must_tie() -> None:
    both = compared({"iteration_time": TIMES, "throughput": {**TIMES, (0, 1): 0.95}})
    assert ties(goals("iteration_time", "throughput"), front(), both) == {0: (), 1: (), 2: ()}


def test_an_expression_of_the_time_ties_by_its_own_values() -> None:
    name = "iteration_time * cost.total"
    product = [Objective(name, "minimize", ""), Objective("npus / 2", "minimize", "")]
    found = ties(product, front(), compared({name: TIMES, "npus / 2": COSTS}))
    assert found == {0: (1,), 1: (0,), 2: ()}


def test_without_scenarios_nothing_is_known_unless_all_objectives_are_exact() -> None:
    assert ties(goals(*NAMES), front(), None) is None
    assert summarize(studies.record(front())).ties is None
    assert ties(goals("cost.total"), front(2), None) == {0: (), 1: ()}


def test_a_member_that_was_too_many_is_tied_with_none() -> None:
    found = ties(goals("iteration_time"), front(), compared({"iteration_time": {(0, 1): 0.5}}, (0, 1)))
    assert found == {0: (1,), 1: (0,), 2: ()}


def test_the_table_and_the_document_tell_how_sure_designs_are() -> None:
    record = studies.record(front())
    scenarios = compared({"iteration_time": TIMES, "cost.total": COSTS})
    summary = summarized(record, scenarios)
    table = rows(csv_text(pareto_table(record, summary)))
    assert [row["ties"] for row in table] == ["1", "0", ""]
    assert [row["on front"] for row in table] == ["0.5", "0.6", "0.7"]
    assert {(row["regret"], row["regret p90"], row["time low"], row["time high"]) for row in table} == {
        ("0.01", "0.02", "0.8", "1.3")
    }
    document = pareto_document(record, summary)
    assert [member["ties"] for member in document["front"]] == [[1], [0], []]
    assert [member["on_front"] for member in document["front"]] == [0.5, 0.6, 0.7]
    assert {tuple(member["interval"]) for member in document["front"]} == {(0.8, 1.3)}
    assert document["robust"] == 0
    assert (document["scenarios"]["count"], document["scenarios"]["contenders"]) == (256, [0, 1, 2, 9])
    assert document["scenarios"]["parameters"][0]["basis"] == "assumed"


def test_a_study_without_scenarios_has_the_keys_and_says_why() -> None:
    record = studies.record(front())
    document = pareto_document(record, summarize(record, replace(NOTHING, no_scenarios="not with this engine")))
    assert document["scenarios"] == {
        "count": 0,
        "contenders": [],
        "left_out": 0,
        "machines": [],
        "built": {},
        "barred": {},
        "unasked": [],
        "stacks": [],
        "parameters": [],
        "note": "not with this engine",
    }
    assert document["robust"] is None
    assert {key: document["front"][0][key] for key in ("interval", "on_front", "regret", "regret_p90", "ties")} == {
        "interval": None,
        "on_front": None,
        "regret": None,
        "regret_p90": None,
        "ties": None,
    }
