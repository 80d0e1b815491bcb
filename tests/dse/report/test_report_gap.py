"""What a report says first where the best is far from its proven bound."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
import report_studies as studies
from rich.console import Console

from dse.evaluate.record import StudyRecord
from dse.report import print_front
from dse.report.gap import describe_gap_in_short, describe_gaps
from dse.report.summary import summarize


def far(best: int, bound: float, leader: int | None) -> StudyRecord:
    """Designs with tensor 8 and `best`; the bound is that of tensor `leader`."""
    trials = [studies.simulated(0, 2.0, 2e7), studies.simulated(1, 1.0, 3e7, document=studies.design(best))]
    leaders = {} if leader is None else {"iteration_time": studies.design(leader)}
    return studies.record(trials, bounds={"iteration_time": bound, "cost.total": 2e7}, leaders=leaders)


def said(record: StudyRecord) -> list[str]:
    return describe_gaps(record, summarize(record))


def test_a_best_within_a_percent_of_its_bound_needs_no_words() -> None:
    assert said(far(4, 0.991, 4)) == []


def test_a_job_that_was_simulated_is_told_with_its_best_trial_and_what_it_waits_for() -> None:
    (text,) = said(far(4, 0.9, 4))
    assert text.startswith(
        "Iteration time: a design that is up to 10 % better is not ruled out. The bound is that of t4"
    )
    assert "simulated with 1 network: 1 s at best (trial 1: compute 60 %, tensor communication 15 %)" in text


def test_a_job_that_was_never_tried_is_said_to_be_open() -> None:
    (text,) = said(far(4, 0.9, 16))
    assert "The bound is that of t16" in text
    assert text.endswith("It was not tried: more trials may reach it.")


def test_a_job_that_a_rule_forbids_is_told_with_the_rule() -> None:
    record = far(4, 0.9, 16)
    cut = replace(studies.cut(2, 0.8, 2e7), design=studies.design(16))
    (text,) = said(replace(record, trials=(*record.trials, cut)))
    assert text.endswith("It was ruled out by memory (1).")


def test_a_bound_of_no_single_design_says_so() -> None:
    (text,) = said(far(4, 0.9, None))
    assert "combines the best of several designs" in text


def in_short(record: StudyRecord) -> str:
    return describe_gap_in_short(record.objectives[0], record, summarize(record))


def test_the_screen_says_in_a_clause_why_there_is_a_gap() -> None:
    assert in_short(far(4, 0.991, 4)) == ""
    assert in_short(far(4, 0.9, None)).startswith("the bound takes the best of several designs")
    assert in_short(far(4, 0.9, 4)).startswith("the bound's job (t4 p16 d16, ZeRO-0) was simulated on 1 network")
    assert in_short(far(4, 0.9, 16)).endswith("was not tried: more trials may reach it")
    record = far(4, 0.9, 16)
    ruled_out = replace(record, trials=(*record.trials, replace(studies.cut(2, 0.8, 2e7), design=studies.design(16))))
    assert in_short(ruled_out) == "the bound's job (t16 p16 d4, ZeRO-0) was ruled out by memory (1)"


@pytest.mark.parametrize("width", [60, 120])
def test_the_screen_tells_the_gap(width: int) -> None:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    print_front(far(4, 0.9, 4), console)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "(gap 10 %): the bound's job (t4 p16 d16, ZeRO-0)" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= width
