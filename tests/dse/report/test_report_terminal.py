from __future__ import annotations

import io
from dataclasses import replace

import pytest
import report_studies as studies
from rich.console import Console

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report import explain_infeasible, print_front


def printed(record: StudyRecord, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    print_front(record, console)
    text = console.file
    assert isinstance(text, io.StringIO)
    return text.getvalue()


@pytest.mark.parametrize("width", [60, 80, 120, 200])
@pytest.mark.parametrize("record", [studies.mixed(60), studies.mixed(60, studies.NAMES), studies.hostile()])
def test_no_line_is_wider_than_the_terminal(record: StudyRecord, width: int) -> None:
    assert max(len(line) for line in printed(record, width).splitlines()) <= width


def test_every_member_of_the_front_has_its_row_and_the_knee_a_star() -> None:
    record = studies.mixed(60)
    text = printed(record)
    assert record.knee is not None
    assert f"★ {record.knee.number}" in text
    lines = [line.replace("★", " ").split() for line in text.splitlines()]
    assert {trial.number for trial in record.front} <= {int(line[0]) for line in lines if line and line[0].isdigit()}


def test_what_is_common_is_said_above_and_what_differs_in_columns_where_there_is_room() -> None:
    record = studies.record(
        [studies.simulated(0, 2.0, 2e7), studies.simulated(1, 1.0, 3e7, document=studies.design(4))]
    )
    wide = printed(record, 120)
    assert "All: transformer-1t, batch 1024" in wide
    heading = next(line for line in wide.splitlines() if "trial" in line)
    assert heading.split()[-1] == "degrees"
    assert "61.2/80" in wide


def test_a_narrow_terminal_tells_what_differs_in_one_column() -> None:
    assert "differences" in printed(studies.mixed(60), 80)
    assert "300/50 GB/s, t16 p16 d4, ZeRO-" in printed(studies.mixed(120), 80)


def test_the_summary_counts_rules_and_gaps() -> None:
    text = " ".join(printed(studies.mixed()).split())
    assert (
        "120 designs evaluated: 82 feasible, 17 infeasible, 17 cut before simulation (memory 13, batch 4), 4 failed."
        in text
    )
    assert "Iteration time: best 4.065 s, proven bound 2.9 s (gap 29 %)." in text
    assert "Total cost: best 16.14 M$, no proven bound." in text
    assert "Hypervolume 1.558e+08 to the reference point (11.53 s, 38.48 M$)." in text
    assert "2 assumed (npu.a100-80gb, memory)" in text


def test_a_long_front_is_shortened_and_says_so() -> None:
    trials = [studies.simulated(i, 1.0 + i, 3e7 - 1e4 * i) for i in range(200)]
    text = printed(studies.record(trials))
    assert "30 of 200 shown, evenly spread; all of them are in pareto.csv." in " ".join(text.split())
    assert len(text.splitlines()) < 60


def test_names_cannot_colour_or_clear_the_terminal() -> None:
    record = studies.record([studies.simulated(0, 2.0, 2e7)], space="[red]x[/red]\x1b[2J")
    text = printed(record)
    assert "[red]x[/red]" in text
    assert "\x1b" not in text


def test_a_terminal_without_unicode_gets_ascii() -> None:
    raw = io.BytesIO()
    console = Console(file=io.TextIOWrapper(raw, encoding="ascii", write_through=True), width=80, color_system=None)
    print_front(studies.mixed(60), console)
    assert b"* " in raw.getvalue()


def test_printing_leaves_out_what_does_not_apply() -> None:
    result = studies.collective_outcome(1e-3, 1e6)
    values = {"iteration_time": 1e-3, "cost.total": 1e6}
    text = printed(studies.record([TrialRecord(0, "feasible", values, {}, {}, None, result.document())]))
    assert "memory" not in text.split("Prices")[0]
    assert "1.000" in text


def test_a_study_without_a_feasible_design_says_what_binds_and_how_close_it_came() -> None:
    assert explain_infeasible(studies.infeasible_only()).splitlines() == [
        "Nothing is feasible: of 5 designs, 2 broke a constraint on results, 2 were cut before simulation, 1 failed.",
        "The binding constraint is 'fits', broken by 3 of them (then 'cost.total <= 40e6' by 2).",
        "The closest that was simulated is trial 2 (transformer-1t, 1024 x a100-80gb, SW(8)_SW(128), 300/25 GB/s, "
        "t4 p16 d16, ZeRO-0, microbatch 1, recompute none): it misses 'cost.total <= 40e6' by 0.03.",
        "The error: ZeroDivisionError: division by zero",
    ]
    assert "Nothing is feasible" in printed(studies.infeasible_only())


def test_a_memory_overflow_is_told_in_bytes() -> None:
    result = studies.outcome(2.0, 2e7, peak=100 * 2**30)
    values = {"iteration_time": 2.0, "cost.total": 2e7}
    trial = TrialRecord(4, "infeasible", values, {}, {"fits": 0.25}, studies.design(), result.document())
    assert explain_infeasible(studies.record([trial])).endswith(
        "it misses 'fits' by 0.25; it needs 100 GiB of the 80 GiB of memory."
    )


def test_nothing_to_explain_where_something_is_feasible_or_nothing_was_tried() -> None:
    assert explain_infeasible(studies.mixed(30)) == ""
    assert explain_infeasible(studies.record([])) == "No design was evaluated."
    assert "3 failed" in explain_infeasible(studies.record([studies.failed(i) for i in range(3)]))
    assert "No design was evaluated." in printed(studies.record([]))


def test_a_design_that_was_cut_is_closest_only_where_none_was_simulated() -> None:
    names = studies.NAMES[:2]
    cut = replace(studies.cut(0, 1.0, 2.0, names), violations={"fits": 0.1, "power <= 3": 0.0})
    simulated = replace(
        studies.simulated(1, 1.0, 2.0), state="infeasible", violations={"fits": -1.0, "power <= 3": 0.4}
    )
    both = explain_infeasible(studies.record([cut, simulated], names))
    assert "The closest that was simulated is trial 1" in both
    assert "it misses 'power <= 3' by 0.4" in both
    alone = explain_infeasible(studies.record([cut], names))
    assert "The closest is trial 0" in alone
    assert "it misses 'fits' by 0.1; it was cut before simulation, which might break more" in alone
