from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
import report_studies as studies
from matplotlib.figure import Figure

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.evaluate.trials import Trials
from dse.report.plots import draw, plot_bytes
from dse.report.points import Window, best_so_far, count_outside, groups, staircase, window
from dse.report.summary import summarize

STUDIES = {
    "one objective": studies.mixed(40, studies.NAMES[:1]),
    "two objectives": studies.mixed(60),
    "a maximised objective": studies.mixed(40, ("throughput", "cost.total")),
    "three objectives": studies.mixed(40, studies.NAMES[:3]),
    "nothing feasible": studies.infeasible_only(),
    "one point": studies.record([studies.simulated(0, 0.5, 2e7)]),
    "no trials": studies.record([]),
    "hostile names": studies.hostile(),
}


def texts(figure: Figure) -> str:
    from matplotlib.text import Text

    return "\n".join(text.get_text() for text in figure.findobj(Text) if isinstance(text, Text))


@pytest.mark.parametrize("record", STUDIES.values(), ids=STUDIES.keys())
def test_a_plot_is_a_png_and_a_well_formed_svg(record: StudyRecord) -> None:
    rendered = plot_bytes(record, summarize(record))
    assert rendered["png"].startswith(b"\x89PNG")
    assert ET.fromstring(rendered["svg"]).tag.endswith("svg")
    assert b"<dc:date>" not in rendered["svg"]


def test_the_same_study_gives_the_same_bytes() -> None:
    record = studies.mixed(40)
    assert plot_bytes(record, summarize(record)) == plot_bytes(studies.mixed(40), summarize(record))


def test_four_objectives_are_a_matrix_of_six_panels() -> None:
    record = studies.mixed(30, studies.NAMES)
    assert len(draw(record, summarize(record)).axes) == 6


def test_axes_have_units_and_the_knee_and_the_bound_are_named() -> None:
    record = studies.mixed()
    said = texts(draw(record, summarize(record)))
    for part in ("Iteration time [s]", "Total cost [M$]", "knee: ", "proven bound 2.9 s", "Pareto front ("):
        assert part in said


def test_dollars_are_not_mathematics() -> None:
    record = studies.hostile()
    assert "$x$" in texts(draw(record, summarize(record)))


def test_a_study_without_a_feasible_design_says_which_constraint_binds() -> None:
    record = studies.infeasible_only()
    assert "The binding constraint is 'fits'" in texts(draw(record, summarize(record)))


def test_outliers_do_not_squash_the_front_and_are_counted() -> None:
    trials = [studies.simulated(i, 1.0 + i, 3e7 - 1e6 * i) for i in range(5)]
    far = [studies.cut(5, 900.0, 2e7), studies.simulated(6, 2000.0, 5e7)]
    record = studies.record([*trials, *far], bounds={"iteration_time": None, "cost.total": None})
    shown = groups(record, summarize(record))
    windows = [window(objective, shown, None) for objective in record.objectives]
    assert windows[0].high < 10
    assert count_outside(record.objectives, windows, shown) == {"cut": 1, "infeasible": 1}
    assert "Outside this window: 1 infeasible, 1 cut." in texts(draw(record, summarize(record)))


def test_the_whole_front_is_always_inside() -> None:
    record = studies.mixed(200)
    summary = summarize(record)
    shown = groups(record, summary)
    for objective in record.objectives:
        limits = window(objective, shown, summary.bounds[objective.name])
        assert all(limits.holds(trial.values[objective.name]) for trial in summary.front)


def test_a_front_that_spans_decades_is_logarithmic() -> None:
    trials = [studies.simulated(i, 0.001 * 4.0**i, 2e7 / 2**i) for i in range(6)]
    record = studies.record(trials)
    shown = groups(record, summarize(record))
    assert window(record.objectives[0], shown, None).log
    assert window(record.objectives[1], shown, None).log
    near = studies.record(trials[:2])
    assert not window(near.objectives[0], groups(near, summarize(near)), None).log


def test_a_bound_near_the_front_is_inside_and_one_far_off_is_not() -> None:
    record = studies.record([studies.simulated(i, 4.0 + i, 3e7 - 1e6 * i) for i in range(3)])
    shown = groups(record, summarize(record))
    assert window(record.objectives[0], shown, 3.0).holds(3.0)
    assert not window(record.objectives[0], shown, 0.1).holds(0.1)


def test_without_points_the_window_is_the_unit_interval() -> None:
    record = studies.record([])
    assert window(record.objectives[0], groups(record, summarize(record)), None) == Window(0.0, 1.0)


def test_a_staircase_goes_through_every_member_and_never_cuts_a_corner() -> None:
    record = studies.record([studies.simulated(0, 1.0, 3e7), studies.simulated(1, 2.0, 1e7)])
    assert staircase(record.objectives, record.front) == ([1.0, 2.0, 2.0], [3e7, 3e7, 1e7])


def test_the_best_so_far_ignores_infeasible_and_cut_trials() -> None:
    objective = studies.objective("iteration_time")
    trials = [
        studies.simulated(0, 5.0, 1e7),
        studies.simulated(1, 1.0, 9e7),
        studies.cut(2, 0.5, 1e7),
        studies.simulated(3, 6.0, 1e7),
        studies.simulated(4, 3.0, 1e7),
    ]
    assert best_so_far(objective, Trials.of(trials)) == ([0, 4], [5.0, 3.0])


def test_a_trial_without_finite_values_has_no_point() -> None:
    trial = TrialRecord(0, "cut", {"iteration_time": float("nan"), "cost.total": 1e7}, {}, {"fits": 1.0})
    record = studies.record([trial])
    assert not any(groups(record, summarize(record)).values())


@pytest.mark.parametrize("objectives", [1, 2, 3])
def test_the_svg_of_ten_thousand_trials_stays_below_2_mb_and_is_the_same_each_time(objectives: int) -> None:
    names = studies.NAMES[:objectives]
    svg = plot_bytes(record := studies.mixed(10_000, names), summarize(record))["svg"]
    assert len(svg) < 2_000_000
    assert ET.fromstring(svg).tag.endswith("svg")
    assert b"<image" in svg
    assert plot_bytes(record, summarize(record))["svg"] == svg


def test_few_points_are_shapes_and_not_pixels() -> None:
    record = studies.mixed(200)
    assert b"<image" not in plot_bytes(record, summarize(record))["svg"]
