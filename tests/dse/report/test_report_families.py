"""Which designs of a front are told as one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import report_studies as studies
from hypothesis import given
from hypothesis import strategies as st

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.families import Family, _labels, families, families_with_built, is_joined, most_families
from dse.report.family_table import pack_phrases, tell_apart
from dse.report.summary import summarize
from dse.report.terminal import screen
from dse.whatif.answers import NOTHING, Scenarios, Sureness


def found(record: StudyRecord, scenarios: Scenarios | None = None) -> tuple[Family, ...]:
    return families(record, summarize(record, replace(NOTHING, scenarios=scenarios)))


def trial(number: int, time: float, cost: float, tensor: int = 8) -> TrialRecord:
    return studies.simulated(number, time, cost, document=studies.design(tensor))


def test_designs_of_a_kind_that_differ_by_less_than_the_model_can_tell_are_one_family() -> None:
    (family,) = found(studies.record([trial(0, 2.0, 3e7), trial(1, 2.04, 2.6e7)]))
    assert family.trials == (0, 1)
    assert (family.low["iteration_time"], family.high["cost.total"]) == (2.0, 3e7)


@pytest.mark.parametrize("other", [trial(1, 2.2, 2.9e7), trial(1, 2.01, 2.9e7, 16), trial(1, 2.01, 2e7)])
def test_another_time_or_kind_or_a_price_far_away_is_another_family(other: TrialRecord) -> None:
    assert [family.trials for family in found(studies.record([trial(0, 2.0, 3e7), other]))] == [(0,), (1,)]


def test_another_npu_stack_or_precision_is_another_family_however_alike_the_times() -> None:
    own, other = trial(0, 2.0, 3e7), trial(1, 2.01, 2.9e7)
    design = dict(other.design or {})
    bought = {**design, "cluster": {**design["cluster"], "npu": "h100-80gb"}}
    narrow = {**design, "workload": {**design["workload"], "precision": "fp8"}}
    for changed in (bought, narrow, {**design, "software": "maxtext"}):
        record = studies.record([own, replace(other, design=changed)])
        assert [family.trials for family in found(record)] == [(0,), (1,)]


def test_times_that_the_scenarios_cannot_order_do_not_part_a_family() -> None:
    record = studies.record([trial(0, 2.0, 3e7), trial(1, 2.2, 2.9e7)])
    sure = Sureness((1.0, 3.0), 1.0, 0.0, 0.0)

    def scenarios(share: float) -> Scenarios:
        better = {"iteration_time": {(0, 1): share, (1, 0): 1 - share}}
        return Scenarios(256, (0, 1), {0: sure, 1: sure}, 0, better)

    assert len(found(record, scenarios(0.7))) == 1
    assert len(found(record, scenarios(0.95))) == 2


def test_what_only_saves_electricity_is_one_row_however_long_it_takes() -> None:
    names = ("iteration_time", "cost.tco")
    saves = [(4.0, 9.99e6), (8.0, 9.98e6), (30.0, 9.97e6)]
    points = [(1.0, 2.00e7), (2.0, 1.00e7), *saves]

    def record_of(*prices: float) -> StudyRecord:
        made = [trial(n, time, price) for n, ((time, _), price) in enumerate(zip(points, prices, strict=True))]
        own = zip(made, points, strict=True)
        return studies.record([replace(one, values=dict(zip(names, point, strict=True))) for one, point in own], names)

    record = record_of(1.8e7, *[9e6] * 4)
    told = [(family.trials, family.idle) for family in found(record)]
    assert told == [((0,), False), ((1,), False), ((2, 3, 4), True)]
    cheaper = record_of(1.8e7, 9e6, 8.9e6, 8.8e6, 8.7e6)  # less is bought
    assert not any(family.idle for family in found(cheaper))
    lines = [line for line, _ in screen(record, summarize(record, NOTHING), 80)]
    assert any(line.startswith("    2 ") and "slower to save power alone" in line for line in lines)


@given(st.lists(st.tuples(st.floats(1, 1e4), st.floats(1e3, 1e8), st.sampled_from([2, 4, 8])), min_size=1, max_size=60))
def test_every_member_is_in_one_family_and_there_are_few(designs: list[tuple[float, float, int]]) -> None:
    record = studies.record([trial(n, *design) for n, design in enumerate(designs)])
    groups = found(record)
    members = sorted(number for family in groups for number in family.trials)
    assert members == sorted(member.number for member in record.front)
    assert len(groups) <= most_families(2)
    assert all(family.chosen in family.trials for family in groups)


def test_families_are_joined_only_where_there_are_too_many() -> None:
    few = studies.record([trial(n, 2.0 * 1.1**n, 3e7 * 0.5**n) for n in range(4)])
    many = studies.record([trial(n, 2.0 * 1.1**n, 3e7 * 0.8**n) for n in range(12)])
    for record, joined in ((few, False), (many, True)):
        summary = summarize(record)
        assert any(is_joined(record, summary, family) for family in families(record, summary)) is joined


def test_what_is_not_worth_its_price_is_one_row_an_end() -> None:
    paying = [trial(n, 2.0 * 1.1**n, 3e7 * 0.9**n) for n in range(8)]
    cheap = [trial(8 + n, 5.0 * 1.5**n, 1.4e7 * 0.999**n) for n in range(8)]
    fast = [trial(16 + n, 1.98 * 0.99**n, 3.2e7 * 1.07**n) for n in range(4)]
    kept = [family.trials for family in found(studies.record(paying + cheap + fast))]
    assert set(kept[0]) == {16, 17, 18, 19}
    assert set(kept[-1]) >= set(range(9, 16))
    assert len(kept) == 8


def test_a_design_to_build_behind_the_front_has_a_row() -> None:
    record = studies.record([trial(0, 2.0, 3e7), trial(1, 4.0, 2e7), trial(2, 2.02, 3.01e7)])
    summary = summarize(record)
    assert all(not family.behind for family in families_with_built(record, summary))
    sure = Scenarios(1, (0, 1, 2), {}, 2, {"iteration_time": {}})
    built = summarize(record, replace(NOTHING, scenarios=sure))
    (own,) = [family for family in families_with_built(record, built) if family.behind]
    assert (own.trials, own.chosen) == ((2,), 2)


def test_no_row_hides_an_npu_however_many_designs_of_another_one_there_are() -> None:
    many = [trial(n, 2.0 * 1.3**n, 3e7 * 0.7**n) for n in range(20)]
    design = dict(many[0].design or {})
    other = {**design, "cluster": {**design["cluster"], "npu": "h100-80gb"}}
    beside = [replace(trial(20 + n, 2.1 * 1.3**n, 2.9e7 * 0.7**n), design=other) for n in range(3)]
    assert all(
        set(family.trials) <= set(range(20)) or set(family.trials) <= set(range(20, 23))
        for family in found(studies.record(many + beside))
    )


def test_the_knee_stands_for_its_family_and_the_robust_pick_before_it() -> None:
    trials = [trial(0, 1.0, 9e7), trial(1, 1.5, 2.02e7), trial(2, 1.51, 2e7), trial(3, 9.0, 1e7)]
    record = studies.record(trials)
    assert record.knee is not None
    assert record.knee.number in {family.chosen for family in found(record)}
    other = 3 - record.knee.number
    robust = Scenarios(1, (0, 1, 2, 3), {}, other, {"iteration_time": {}})
    assert other in {family.chosen for family in found(record, robust)}


def test_a_front_of_thousands_is_grouped() -> None:
    times = [1 + 0.001 * n for n in range(3000)]
    groups = found(studies.record([trial(n, time, 3e7 / time) for n, time in enumerate(times)]))
    assert sum(len(family.trials) for family in groups) == 3000
    assert len(groups) <= most_families(2)


def test_kinds_that_are_far_from_the_best_are_few() -> None:
    trials = [studies.simulated(n, 2.0**n, 2e7, studies.NAMES[:1], document=studies.design(2**n)) for n in range(6)]
    assert [family.chosen for family in found(studies.record(trials, studies.NAMES[:1]))] == [0, 1, 2]


def test_every_design_that_ties_for_the_best_is_in_a_family_however_many_kinds_there_are() -> None:
    trials = [studies.simulated(n, 2.0, 2e7, studies.NAMES[:1], document=studies.design(2**n)) for n in range(12)]
    record = studies.record(trials, studies.NAMES[:1])
    groups = found(record)
    assert len(groups) == most_families(1)
    assert {number for family in groups for number in family.trials} == {trial.number for trial in record.front}


def test_nothing_feasible_has_no_families() -> None:
    assert found(studies.infeasible_only()) == ()


def test_there_are_as_many_families_as_there_is_room_for_where_all_are_equally_far() -> None:
    far = 3.0 * (1.0 - np.eye(12))
    assert len({*_labels(far, 6)[0].tolist()}) == 6
    assert len({*_labels(far, 12)[0].tolist()}) == 12


def test_rows_that_begin_alike_say_what_tells_them_apart_after_their_first_phrase() -> None:
    alike = [("512 x h100", "SW(8)_SW(64)", "450/50 GB/s", ratio) for ratio in ("2:1", "4:1")]
    other = ("512 x h100", "SW(8)_SW(64)", "450/25 GB/s", "2:1")
    alone = ("64 x b200", "SW(8)_SW(8)", "t8")
    told = tell_apart([*alike, other, alone, ()], 28)
    assert told[0][:2] == ("512 x h100", "2:1")
    assert told[1][:2] == ("512 x h100", "4:1")
    assert told[2][:2] == ("512 x h100", "450/25 GB/s")
    assert told[3:] == [alone, ()]
    lines = ["".join(pack_phrases(row, 28, 1)) for row in told]
    assert len({*lines}) == len(lines)


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=6), max_size=6), st.integers(4, 20))
def test_what_tells_rows_apart_loses_no_phrase(rows: list[list[str]], width: int) -> None:
    told = tell_apart(rows, width)
    assert [sorted(row) for row in told] == [sorted(row) for row in rows]
    assert [row[:1] for row in told] == [tuple(row[:1]) for row in rows]
