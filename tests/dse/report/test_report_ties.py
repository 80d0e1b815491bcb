from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import report_studies as studies
from hypothesis import given
from hypothesis import strategies as st

from dse.evaluate.record import TrialRecord
from dse.report.summary import summarize
from dse.report.ties import ties
from dse.space.objective import Objective
from simcore.metrics import moves

NAMES = studies.NAMES[:2]


def predicted(number: int, time: float, cost: float, names: tuple[str, ...] = NAMES, low: float = 0.9) -> TrialRecord:
    """A design whose time lies between `low` and 1.2 times its prediction."""
    trial = studies.simulated(number, time, cost, names)
    assert trial.metrics is not None
    return replace(trial, metrics={**trial.metrics, "iteration_time_interval_s": [low * time, 1.2 * time]})


def found(*front: TrialRecord, names: tuple[str, ...] = NAMES) -> Any:
    return ties([studies.objective(name) for name in names], front)


def test_designs_whose_times_may_be_the_same_are_tied_both_ways_whatever_they_cost() -> None:
    assert found(predicted(0, 10.0, 3e7), predicted(1, 11.0, 2e7)) == {0: (1,), 1: (0,)}


def test_times_further_apart_than_their_intervals_are_told_apart() -> None:
    # 12.0 at most for the first, 12.6 at least for the second.
    assert found(predicted(0, 10.0, 3e7), predicted(1, 14.0, 2e7)) == {0: (), 1: ()}


def test_designs_of_equal_values_are_tied_with_each_other() -> None:
    assert found(predicted(0, 10.0, 3e7), predicted(1, 10.0, 3e7)) == {0: (1,), 1: (0,)}


def test_every_objective_that_goes_with_the_time_must_overlap() -> None:
    names = ("iteration_time", "throughput")
    fast, slow = predicted(0, 10.0, 2e7, names), predicted(1, 11.0, 2e7, names)
    assert found(fast, slow, names=names)[0] == (1,)
    far = predicted(2, 14.0, 2e7, names)
    assert found(fast, far, names=names)[0] == ()


def test_an_expression_of_the_time_overlaps_where_the_times_do() -> None:
    goals = [Objective("iteration_time * cost.total", "minimize", ""), Objective("npus / 2", "minimize", "")]
    front = [predicted(number, time, 2e7) for number, time in enumerate((10.0, 11.0, 14.0))]
    assert ties(goals, front) == {0: (1,), 1: (0, 2), 2: (1,)}
    assert ties(goals[1:], front) == {0: (), 1: (), 2: ()}


def test_without_an_interval_nothing_is_known_unless_all_objectives_are_exact() -> None:
    first, second = studies.simulated(0, 10.0, 3e7), predicted(1, 11.0, 2e7)
    assert found(first, second) is None
    assert summarize(studies.record([first, second])).ties is None
    assert found(first, second, names=("cost.total",)) == {0: (), 1: ()}


@given(st.data())
def test_tied_is_that_some_times_within_the_intervals_make_two_designs_equal(data: st.DataObject) -> None:
    names = data.draw(st.sampled_from([NAMES, studies.NAMES, ("throughput", "cost.total"), ("energy", "throughput")]))
    value = st.floats(1.0, 2.0)
    front = [
        predicted(n, data.draw(value), data.draw(value) * 1e7, names, data.draw(st.floats(0.5, 1.0))) for n in range(4)
    ]
    told = found(*front, names=names)
    timed = [studies.objective(name) for name in names if moves(name, "time")]

    def values(trial: TrialRecord, end: int) -> list[float]:
        """Of a design whose time is at one end of its interval: what may be lost."""
        assert trial.metrics is not None
        stretch = trial.metrics["iteration_time_interval_s"][end] / trial.metrics["iteration_time_s"]
        return [o.sign * trial.values[o.name] * stretch ** moves(o.name, "time") for o in timed]

    for one in front:
        assert one.number not in told[one.number]
        for other in front:
            if one is other:
                continue
            assert (other.number in told[one.number]) == (one.number in told[other.number])
            best, worst = (
                zip(values(one, 0), values(other, 1), strict=True),
                zip(values(other, 0), values(one, 1), strict=True),
            )
            room = [b / w if b > 0 else w / b for b, w in (*best, *worst)]  # a hair of it: ends are rounded products
            if all(share < 1 - 1e-9 for share in room) or any(share > 1 + 1e-9 for share in room):
                assert (other.number in told[one.number]) == all(share < 1 for share in room)


@pytest.mark.parametrize("width", [80, 100])
def test_the_terminal_the_csv_and_the_page_tell_the_ties(width: int) -> None:
    from test_report_page import read
    from test_report_tables import rows
    from test_report_terminal import printed

    from dse.report.front import pareto_document
    from dse.report.tables import csv_text, pareto_table

    record = studies.record([predicted(0, 10.0, 3e7), predicted(1, 11.0, 2e7), predicted(2, 20.0, 1e7)])
    lines = printed(record, width).splitlines()
    heading = next(line for line in lines if "trial" in line or "ties" in line)
    assert "ties" in heading
    assert "Ties (2 of 3 designs)" in " ".join(lines)
    table = rows(csv_text(pareto_table(record, summarize(record))))
    assert [row["ties"] for row in table] == ["1", "0", ""]
    assert [member["ties"] for member in pareto_document(record, summarize(record))["front"]] == [[1], [0], []]
    assert "Ties (2 of 3 designs)" in read(record).text
