"""Which trial a word means: a number, `knee`, `robust`, `best:METRIC`, or nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from report_studies import infeasible_only, mixed, record, simulated

from dse.evaluate.record import StudyRecord
from dse.report.choice import recommended
from dse.report.decision import describe_decision
from dse.report.pick import pick, picks
from dse.report.runnable import runs_otherwise
from dse.report.summary import summarize
from dse.space.objective import Objective
from dse.whatif.answers import NOTHING, Scenarios, WhatIf
from simcore.document.problem import InputError


def sure(robust: int | None) -> WhatIf:
    return replace(NOTHING, scenarios=Scenarios(200, (), {}, robust, {}))


@pytest.fixture(scope="module")
def study() -> StudyRecord:
    return mixed()


def test_a_number_means_its_trial_feasible_or_not(study: StudyRecord) -> None:
    for state in ("feasible", "infeasible", "cut", "failed"):
        number = next(trial.number for trial in study.trials if trial.state == state)
        assert pick(study, text=str(number)).number == number


def test_the_best_of_an_objective_or_a_metric_is_in_its_own_direction(study: StudyRecord) -> None:
    feasible = study.feasible_trials
    assert pick(study, text="best:cost.total").values["cost.total"] == min(t.values["cost.total"] for t in feasible)
    longest = pick(study, text="best:throughput")
    assert longest.values["iteration_time"] == min(trial.values["iteration_time"] for trial in feasible)


def test_unless_told_the_robust_pick_is_taken_then_the_knee_then_what_the_decision_says(study: StudyRecord) -> None:
    knee = study.knee
    assert knee is not None
    other = next(t.number for t in study.front if t.number != knee.number and not runs_otherwise(t))
    assert pick(study, sure(other)).number == other
    assert pick(study, sure(None)) == pick(study) == pick(study, text="knee") == knee
    two = record([simulated(0, 5.0, 2e7), simulated(1, 4.0, 3e7)])
    assert two.knee is None
    assert pick(two).number == recommended(two, summarize(two))


@pytest.mark.parametrize(("dearer", "built"), [(3.39e7, 0), (3.9e7, 0), (3.1e7, 1)])
def test_of_two_designs_the_robust_one_is_built_and_where_it_is_not_known_the_better_balanced(
    dearer: float, built: int
) -> None:
    two = record([simulated(0, 5.0, 3e7), simulated(1, 4.44, dearer)])
    assert pick(two).number == built
    assert [pick(two, sure(number)).number for number in (0, 1)] == [built, 1]  # a percent of money may pay


def test_from_the_robust_pick_on_money_is_spent_while_a_percent_buys_a_percent_of_time() -> None:
    times, costs = (10.0, 8.0, 7.0, 6.9), (1.0e7, 1.1e7, 1.2e7, 1.5e7)
    study = record([simulated(number, *values) for number, values in enumerate(zip(times, costs, strict=True))])
    assert [pick(study, sure(number)).number for number in range(4)] == [2, 2, 2, 3]
    assert pick(study, sure(0), "robust").number == 0
    said = [describe_decision(study, summarize(study, sure(number))).sentences[1] for number in (0, 2)]
    assert said[0].startswith("Trial 0, the robust pick, is cheaper, but from there on each percent of money buys more")
    assert not said[1].startswith("Trial")


@pytest.mark.parametrize(("regret", "built"), [(0.76, 0), (1.3, 1)])
def test_from_the_knee_of_regrets_on_money_is_spent_while_a_percent_buys_a_percent(regret: float, built: int) -> None:
    name = "cost_per_token.regret"
    rows = ((1.0e7, regret), (2.0e7, 0.0), (0.6e7, 5.0))
    made = [
        replace(simulated(number, 1.0, price), values={name: share, "cost.total": price})
        for number, (price, share) in enumerate(rows)
    ]
    objectives = (Objective(name, "minimize", ""), Objective("cost.total", "minimize", "$"))
    study = replace(record(made), objectives=objectives)
    summary = summarize(study)
    assert summary.knee == 0
    assert recommended(study, summary) == built
    told = " ".join(describe_decision(study, summary).sentences)
    said = "Trial 0, the knee, is cheaper, but from there on each percent of money buys more than a percent of cost per"
    assert (said in told) == (built == 1)


def test_the_words_that_a_study_understands_are_told(study: StudyRecord) -> None:
    knee = study.knee
    assert knee is not None
    told = picks(study, sure(study.front[0].number))
    assert list(told) == ["robust", "knee", "best:iteration_time", "best:cost.total"]
    assert (told["robust"], told["knee"]) == (study.front[0].number, knee.number)
    assert picks(infeasible_only()) == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("999", "the number of a trial of this run, got 999; they run from 0 to 119; for instance knee or best:"),
        ("kne", r"got 'kne'; did you mean 'knee'\?"),
        ("pareto", "expected a trial's number, knee, robust or best:METRIC, got 'pareto'; numbers are in trials.csv"),
        ("best:cost.totl", "did you mean 'cost.total'"),
        ("best:zzzz", "got 'zzzz'; all are listed by: dse catalogue metrics"),
        ("robust", "none: the scenarios of this run were not simulated; say for instance knee"),
    ],
)
def test_a_word_that_means_no_trial_is_refused_with_what_to_say(study: StudyRecord, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        pick(study, text=text)


@pytest.mark.parametrize("text", [None, "knee", "robust", "best:iteration_time"])
def test_where_nothing_is_feasible_the_error_says_so(text: str | None) -> None:
    with pytest.raises(InputError, match=r"expected a feasible trial.*, got none; dse report RUN says why"):
        pick(infeasible_only(), text=text)


def test_the_dearer_design_may_be_the_first_trial() -> None:
    study = record([simulated(0, 8.0, 1.1e7), simulated(1, 10.0, 1.0e7), simulated(2, 7.9, 1.5e7)])
    assert pick(study, sure(1)).number == 0
