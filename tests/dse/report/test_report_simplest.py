"""Of designs with equal values the simplest stands first, and the others are said to be equal."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import pytest
import report_studies as studies
from rich.console import Console

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.evaluate.simplest import MOST
from dse.report.families import families
from dse.report.front import pareto_json
from dse.report.pick import pick
from dse.report.summary import summarize
from dse.report.terminal import print_front

PLAIN = {
    "workload": {"model": "llama3-8b", "global_batch": 64, "sequence_length": 1024},
    "parallelism": {"tensor": 8, "data": 8},
    "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 64},
}


def trial(number: int, time: float = 2.0, cost: float = 3e7, **changes: dict[str, Any]) -> TrialRecord:
    document = {**PLAIN, **{name: {**PLAIN.get(name, {}), **keys} for name, keys in changes.items()}}
    return studies.simulated(number, time, cost, document=document)


def order(*trials: TrialRecord) -> list[int]:
    return [found.number for found in studies.record(list(trials)).front]


def test_the_fewest_leaves_that_differ_from_defaults_stand_first() -> None:
    two = trial(0, system={"chunks": 16, "inter_dimension": "themis"})
    one = trial(1, system={"chunks": 16})
    assert order(two, one, trial(2)) == [2, 1, 0]


def test_a_default_that_is_spelled_out_is_none_the_more_complicated() -> None:
    spelled = trial(0, parallelism={"pipeline": 1, "data": 8, "schedule": "1f1b"}, system={"chunks": 64})
    other = trial(1, system={"intra_dimension": "fifo"})
    assert order(other, spelled) == [0, 1]
    assert order(trial(2), spelled) == [0, 2]  # equally simple: by number


def test_a_default_that_follows_from_other_keys_is_a_default() -> None:
    """Microbatches and gathers are spelled out in a complete document."""
    whole = trial(0, parallelism={"zero": 3, "gather": "twice", "accumulate": "sharded"})
    other = trial(1, parallelism={"zero": 3, "gather": "microbatch"})
    assert order(other, whole) == [0, 1]


def test_designs_that_differ_in_value_keep_the_order_of_values() -> None:
    assert order(trial(0, 2.0, 3e7, system={"chunks": 16}), trial(1, 2.1, 2.9e7)) == [0, 1]


def test_a_trial_without_a_design_and_what_is_beyond_the_most_stand_last() -> None:
    unknown = replace(trial(0), design=None)
    assert order(unknown, trial(1, system={"chunks": 16}), trial(2)) == [2, 1, 0]
    many = [trial(number, system={"chunks": 16}) for number in range(MOST)]
    assert order(*many, trial(MOST)) == list(range(MOST + 1))


@pytest.fixture
def record() -> StudyRecord:
    themis = {"inter_dimension": "themis"}
    return studies.record(
        [trial(0, system=themis), trial(1), trial(2, 3.0, 2e7), trial(3, system={**themis, "chunks": 16})]
    )


def test_equal_members_are_named_in_the_files(record: StudyRecord) -> None:
    front = json.loads(pareto_json(record, summarize(record)))["front"]
    assert {member["trial"]: member["equal"] for member in front} == {1: [0, 3], 0: [1, 3], 3: [1, 0], 2: []}


def test_the_simplest_is_shown_and_picked(record: StudyRecord) -> None:
    assert [family.chosen for family in families(record, summarize(record))] == [1, 2]
    assert pick(record, text="best:iteration_time").number == 1
    alone = studies.record([replace(t, values={"iteration_time": 2.0}) for t in record.trials], ("iteration_time",))
    assert [family.chosen for family in families(alone, summarize(alone))] == [1]


def test_the_screen_says_which_designs_equal_the_one_to_build() -> None:
    found = studies.record([trial(0, system={"chunks": 16}), trial(1)])
    console = Console(file=io.StringIO(), width=80, color_system=None)
    print_front(found, console)
    assert isinstance(console.file, io.StringIO)
    assert "Equal to trial 1 in every objective: 0." in console.file.getvalue()
