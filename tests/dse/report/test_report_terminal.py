from __future__ import annotations

import io
import itertools
import json
from dataclasses import replace

import pytest
import report_studies as studies
from rich.console import Console

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report import explain_infeasible, print_front
from dse.report.families import families
from dse.report.summary import summarize
from dse.report.terminal import HEIGHT
from dse.report.write import report_files
from simcore.check.load import design_from
from simcore.memory.expanded import capacity
from simcore.memory.plan import memory_needed


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


def rows(text: str) -> dict[int, list[str]]:
    """The numbers in the rows of the table, by trial."""
    lines = text.splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("─"))
    table = itertools.takewhile(lambda line: not line.startswith("A row"), lines[start + 1 :])
    cells = [line.translate(str.maketrans("★◆●", "   ")).split() for line in table if line[:6].strip()]
    return {int(row[0]): row[1:] for row in cells}


@pytest.mark.parametrize("names", [studies.NAMES[:1], studies.NAMES[:2], studies.NAMES[:3], studies.NAMES])
@pytest.mark.parametrize("count", [1, 8, 120, 600])
def test_the_answer_is_one_screen(names: tuple[str, ...], count: int) -> None:
    bounds = dict.fromkeys(names, 1e-3)
    assert len(printed(studies.mixed(count, names, bounds=bounds)).splitlines()) <= HEIGHT


def test_every_family_has_a_row_and_that_of_the_knee_a_star() -> None:
    record = studies.mixed(60)
    summary, text = summarize(record), printed(record)
    found = families(record, summary)
    assert list(rows(text)) == [family.chosen for family in found]
    assert record.knee is not None
    assert f"★ {record.knee.number}" in text


def test_numbers_on_the_terminal_are_those_of_the_files() -> None:
    record = studies.mixed(120)
    told, text = json.loads(report_files(record)["pareto.json"]), printed(record)
    read = rows(text)
    for family in told["families"]:
        for place, (name, unit) in enumerate((("iteration_time", 1.0), ("cost.total", 1e6))):
            ends = [float(end) for end in read[family["chosen"]][place].split("–")]
            assert ends[0] == pytest.approx(family["low"][name] / unit, rel=1e-3)
            assert ends[-1] == pytest.approx(family["high"][name] / unit, rel=1e-3)
        assert int(read[family["chosen"]][2]) == len(family["trials"])
    said = " ".join(text.split())
    assert all(sentence in said for sentence in (*told["decision"]["sentences"], *told["decision"]["assumptions"]))
    assert sorted(number for family in told["families"] for number in family["trials"]) == sorted(
        member["trial"] for member in told["front"]
    )


def test_a_wide_terminal_has_a_row_on_one_line_and_says_more() -> None:
    narrow, wide = printed(studies.mixed(120), 80), printed(studies.mixed(120), 200)
    assert any(line.endswith("fifo+themis") for line in wide.splitlines())
    assert len(wide.splitlines()) < len(narrow.splitlines())


def test_many_objectives_have_the_values_of_their_designs_and_what_these_are_beside_them() -> None:
    record = studies.mixed(60, studies.NAMES)
    text = printed(record)
    read, found = rows(text), families(record, summarize(record))
    assert list(read) == [family.chosen for family in found]
    for trial in record.feasible_trials.numbered_among(read):
        assert float(read[trial.number][0]) == pytest.approx(trial.values["iteration_time"], rel=1e-3)
        assert read[trial.number][len(studies.NAMES)].startswith("t")
    assert "what it is" in text
    most = max(len(family.trials) for family in found)
    assert f"A row: up to {most} of the most alike designs" in " ".join(text.split())


def test_a_narrow_terminal_has_what_a_design_is_below_its_numbers() -> None:
    lines = printed(studies.mixed(60, studies.NAMES), 60).splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("─"))
    assert lines[start + 2].startswith("        t")


def test_the_screen_tells_counts_bounds_and_abbreviations() -> None:
    text = " ".join(printed(studies.mixed(), 200).split())
    assert (
        "120 designs evaluated: 82 feasible, 17 infeasible, 17 cut before simulation (memory 13, batch 4), 4 failed."
        in text
    )
    assert "Iteration time: best 4.065 s, proven bound 2.9 s (gap 29 %): the bound takes the best of several" in text
    assert "Total cost: best 16.14 M$, no proven bound." in text
    assert text.endswith("t, p, d: tensor, pipeline, data parallel; SW: switch")


def test_one_objective_shows_the_best_of_each_kind_and_how_much_worse_it_is() -> None:
    times = {0: (8, 2.0), 1: (8, 2.04), 2: (4, 2.2), 3: (8, 2.5)}
    trials = [
        studies.simulated(n, time, 2e7, studies.NAMES[:1], document=studies.design(tensor))
        for n, (tensor, time) in times.items()
    ]
    text = printed(studies.record(trials, studies.NAMES[:1]))
    assert rows(text)[0][:3] == ["2.000", "best", "2"]
    assert rows(text)[2][:4] == ["2.200", "+10", "%", "1"]
    assert set(rows(text)) == {0, 2}
    assert "● 0 " in text  # to be built, with no pick to mark it
    assert "● to build." in text


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
    assert "memory" not in text
    assert "1.000" in text


def test_a_study_without_a_feasible_design_says_what_binds_and_how_close_it_came() -> None:
    assert explain_infeasible(studies.infeasible_only()).splitlines() == [
        "Nothing is feasible: of 5 designs, 2 broke a constraint on results, 2 were cut before simulation, 1 failed.",
        "The binding constraint is 'fits', broken by 3 of them (then 'cost.total <= 40e6' by 2).",
        "The closest that was simulated is trial 2 (transformer-1t, 1024 x a100-80gb, SW(8)_SW(128), 300/25 GB/s, "
        "t4 p16 d16, ZeRO-0, microbatch 1, recompute none): it misses 'cost.total <= 40e6' by 3.1 %.",
        "The error: ZeroDivisionError: division by zero",
    ]
    assert "Nothing is feasible" in printed(studies.infeasible_only())


def test_the_closest_design_is_told_to_recompute_less_where_it_has_memory() -> None:
    made = studies.simulated(0, 2.0, 2e7)
    reserved = {"reserved": 0.25 * (made.metrics or {})["memory_capacity_bytes"]}
    design = {**(made.design or {}), "parallelism": {**(made.design or {})["parallelism"], "recompute": "full"}}
    metrics = {**(made.metrics or {}), "memory_bytes": {**(made.metrics or {})["memory_bytes"], **reserved}}
    slow = replace(
        made,
        state="infeasible",
        design=design,
        metrics=metrics,
        violations={"valid": 0.0, "time_to_train <= 90 d": 0.1},
    )
    told = explain_infeasible(studies.record([slow]))
    assert "It recomputes all layers with its memory 25 % full: with 'recompute: solve' as few do as have to." in told
    whole = replace(slow, design=made.design)
    assert "recompute: solve" not in explain_infeasible(studies.record([whole]))


def test_what_breaks_a_rule_is_told_by_the_rule() -> None:
    broken = [replace(studies.cut(n, 1.0, 1e7, rule=rule), violations={"valid": 1.0}) for n, rule in enumerate("aba")]
    told = explain_infeasible(studies.record(broken))
    assert "The binding constraint is 'a', broken by 2 of them (then 'b' by 1)." in told
    assert "it misses the rule 'a'; it was cut before simulation" in told
    assert "valid" not in told


def test_a_memory_overflow_is_told_in_bytes() -> None:
    document = {
        "workload": {"model": "llama3-8b", "global_batch": 16, "sequence_length": 4096, "precision": "bf16"},
        "parallelism": {"data": 8, "sequence_parallel": False},
        "cluster": {"npu": "a100-80gb", "fabric": "dgx-a100", "npus": 8},
    }
    design = design_from(document)
    memory = memory_needed(design)
    assert memory is not None
    over = memory.reserved - capacity(design)
    trial = TrialRecord(4, "cut", {}, {}, {"fits": over / capacity(design)}, design.document(), cut_by="fits")
    told = explain_infeasible(studies.record([trial]))
    assert f"it misses 'fits' by {over / 2**30:.4g} GiB an NPU: it needs {memory.reserved / 2**30:.4g} GiB of" in told
    assert "; what would do: " in told


def test_nothing_to_explain_where_something_is_feasible_or_nothing_was_tried() -> None:
    assert explain_infeasible(studies.mixed(30)) == ""
    assert explain_infeasible(studies.record([])) == "No design was evaluated."
    proof = {"points": 128, "cut": {"fits": 47, "cost.total <= 22 M$": 81}, "complete": True}
    assert explain_infeasible(replace(studies.record([]), proof=proof)) == (
        "Nothing is feasible, which is proven: of 128 combinations none is left. Each was ruled out by the first of "
        "these that it breaks: 'cost.total <= 22 M$' 81, 'fits' 47."
    )
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
    assert "it misses 'power <= 3' by 67 %" in both
    alone = explain_infeasible(studies.record([cut], names))
    assert "The closest is trial 0" in alone
    assert "it misses 'fits' by " in alone
    assert " GiB an NPU: it needs " in alone
    assert "; it was cut before simulation, which might break more" in alone


def test_rows_say_what_they_are_where_no_lines_are_left_below_them(monkeypatch: pytest.MonkeyPatch) -> None:
    record = studies.mixed(60)
    width = next(width for width in range(90, 40, -1) if "what it is" not in printed(record, width))
    assert any(line.startswith(" " * 8 + "t") for line in printed(record, width).splitlines())
    monkeypatch.setattr("dse.report.terminal.HEIGHT", 1)
    assert "  what it is\n" in printed(record, width)
    assert all(any(cell.startswith("t") for cell in cells) for cells in rows(printed(record, width)).values())
