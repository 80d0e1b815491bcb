"""A cluster bought in phases: money of today and work against the same by hand; sizes, errors, reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import bought
import pytest

from dse.buy.phases import Growth, growths
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.phases import describe_plans, plan_rows
from dse.report.summary import summarize
from dse.report.values import trial_metrics
from dse.run.record import load_record
from simcore.document.problem import InputError

YEAR = 365 * 86400.0
GROW = [{"year": 0, "npus": 8}, {"year": 1, "npus": 16, "price": 0.8}]
PRICES = {"base": "libra", "discount": 0.1, "residual": 0.1, "support": 0.05, "utilization": 0.9}


def growing(**changes: Any) -> dict[str, Any]:
    """One workload on clusters of 8 and of 16 NPUs, which may grow."""
    entry = bought.two()["workloads"][0]
    parallelism = {"degrees": {"product": "npus", "of": ["tensor", "pipeline", "data"]}}
    document = bought.two(
        workloads=None, workload=entry["workload"], parallelism=parallelism, cost=PRICES, phases=GROW, hypothetical=True
    )
    document["cluster"]["npu"] = "v100-32gb"
    document["cluster"]["dimensions"][1]["size"] = {"choice": [2, 4]}
    document["study"] = {"decide": ["cluster"]}
    return {key: value for key, value in (document | changes).items() if value is not None}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("phases") / "run"
    bought.reported(growing(), place)
    return place


@pytest.fixture(scope="module")
def record(folder: Path) -> StudyRecord:
    return load_record(folder)


def metric(trial: TrialRecord, name: str) -> float:
    value = trial_metrics(trial.parts[0][1])[name]
    assert value is not None
    return value


def planned(record: StudyRecord, phases: int) -> list[Growth]:
    return [growth for growth in growths(record) if len(growth.phases) == phases]


def test_a_plan_joins_clusters_that_are_alike_but_for_their_size(record: StudyRecord) -> None:
    found = planned(record, 2)
    assert len(found) == 4  # two bandwidths of each dimension
    for growth in found:
        small, large = (record.trials[run.trial].design for run in growth.phases)
        assert small is not None
        assert large is not None
        inner, outer = zip(small["cluster"]["dimensions"], large["cluster"]["dimensions"], strict=True)
        assert inner[0] == inner[1]
        assert outer[0]["bandwidth"] == outer[1]["bandwidth"]
        assert (outer[0]["size"], outer[1]["size"]) == (2, 4)


def test_what_is_bought_at_once_costs_what_it_costs_to_own(record: StudyRecord) -> None:
    found = planned(record, 1)
    assert sorted(growth.phases[0].phase.npus for growth in found) == [8] * 4 + [16] * 4
    for growth in found:
        trial = record.trials[growth.phases[0].trial]
        assert growth.money == pytest.approx(metric(trial, "cost.tco"), rel=1e-9)
        assert growth.cost_per_token == pytest.approx(metric(trial, "cost_per_token"), rel=1e-9)


def test_the_money_of_a_plan_is_that_of_its_definition(record: StudyRecord) -> None:
    for growth in planned(record, 2):
        small, large = (record.trials[run.trial] for run in growth.phases)
        first, second = (
            metric(small, "cost.capital"),
            0.8 * (metric(large, "cost.capital") - metric(small, "cost.capital")),
        )
        end = 1.1**-4
        capital = first * (1 - 0.1 * end) + second * (1 / 1.1 - (0.1 + 0.9 / 4) * end)
        running = metric(small, "cost.yearly") / 1.1 + metric(large, "cost.yearly") * sum(1.1**-y for y in (2, 3, 4))
        assert growth.money == pytest.approx(capital + running, rel=1e-9)
        assert [run.bought for run in growth.phases] == pytest.approx([first, second])


def test_the_work_of_a_plan_is_that_of_its_clusters_in_their_years(record: StudyRecord) -> None:
    for growth in planned(record, 2):
        small, large = (record.trials[run.trial] for run in growth.phases)
        expected = 0.9 * YEAR * (1 / metric(small, "iteration_time") + 3 / metric(large, "iteration_time"))
        assert growth.iterations == pytest.approx(expected, rel=1e-9)
        assert growth.tokens == pytest.approx(expected * 16 * 128, rel=1e-9)
        first, later = 1 / 1.1, sum(1.1**-year for year in (2, 3, 4))
        today = 0.9 * YEAR * (first / metric(small, "iteration_time") + later / metric(large, "iteration_time"))
        assert growth.work_today == pytest.approx(today, rel=1e-9)
        assert growth.cost_per_token == pytest.approx(growth.money / (today * 16 * 128), rel=1e-9)


def test_each_phase_is_used_as_does_the_most_work_and_what_is_paid_is_told_apart(tmp_path: Path) -> None:
    bandwidths = {"choice": ["1 GB/s", "1 TB/s"]}
    parallelism = {"tensor": {"choice": [8, 1]}}
    document = growing(
        parallelism=parallelism,
        reliability={"base": "llama3", "checkpoint": {"bandwidth": bandwidths}},
        study={"decide": ["cluster", "parallelism", "reliability"]},
    )
    record = bought.run(bought.space(document), tmp_path / "run")

    def paid(trial: TrialRecord) -> tuple[str, str]:
        design = trial.design or {}
        return bought.hardware_of(design), design["reliability"]["checkpoint"]["bandwidth"]

    stored = set()
    for growth in planned(record, 2):
        trials = [record.trials[run.trial] for run in growth.phases]
        stored.add(tuple(paid(trial)[1] for trial in trials))
        for own in trials:
            times = [metric(t, "iteration_time") for t in record.feasible_trials if paid(t) == paid(own)]
            assert len(times) == 2
            assert metric(own, "iteration_time") == min(times)
    assert stored == {("1 GB/s", "1 GB/s"), ("1 TB/s", "1 TB/s")}


def test_no_plan_of_the_front_is_beaten_in_money_and_work(record: StudyRecord) -> None:
    found = growths(record)
    for growth in found:
        beaten = any(
            other.money <= growth.money
            and other.work_today >= growth.work_today
            and other != growth
            and (other.money, other.work_today) != (growth.money, growth.work_today)
            for other in found
        )
        assert growth.on_front != beaten


def test_work_counts_the_years_of_a_future(tmp_path: Path) -> None:
    large = {"name": "large", "weight": 3, "years": [2, 4], "change": {"workload.global_batch": 64}}
    document = growing(futures=[{"name": "planned", "weight": 1}, large])
    record = bought.run(bought.space(document), tmp_path / "run")
    for growth in planned(record, 2):
        times = [[w.values["iteration_time"] for w in record.trials[run.trial].workloads] for run in growth.phases]
        (base, _), (later, changed) = times
        years = [1 / base, 0.25 * 3 / later + 0.75 * (1 / later + 2 / changed)]
        assert growth.iterations == pytest.approx(0.9 * YEAR * sum(years), rel=1e-9)


def test_reports_tell_the_plans(folder: Path, record: StudyRecord) -> None:
    pareto = json.loads((folder / "pareto.json").read_text())
    assert len(pareto["phases"]) == 12
    assert [growth["money"] for growth in pareto["phases"]] == sorted(growth["money"] for growth in pareto["phases"])
    grown = next(growth for growth in pareto["phases"] if len(growth["phases"]) == 2)
    assert grown["plan"] == "8 NPUs, 16 from year 1"
    assert [phase["until"] for phase in grown["phases"]] == [1, 4]
    page = (folder / "report.html").read_text()
    assert "Buying at once, or in phases" in page
    (said,) = describe_plans(record)
    assert said.startswith("In phases, the most for its money: ")
    assert sum(f"; {way}: " in said for way in ("at once", "growing", "never grown")) == 2
    assert len(plan_rows(record)) == sum(growth.on_front for growth in growths(record))
    assert summarize(record).front


def test_a_plan_with_a_size_that_is_not_feasible_is_told_as_left_out(tmp_path: Path) -> None:
    dear = bought.run(bought.space(growing(constraints=["fits", "cost.npu >= 100 k$"])), tmp_path / "run")
    (said,) = describe_plans(dear)
    assert said.startswith("In phases, the most for its money: 16 NPUs (trial ")
    assert said.endswith(
        "; left out: '8 NPUs' and '8 NPUs, 16 from year 1' (with 8 NPUs nothing runs every workload within the limits)."
    )


def test_several_plans_are_compared_with_buying_what_they_end_with(tmp_path: Path) -> None:
    later = [{"year": 0, "npus": 8}, {"year": 3, "npus": 16}]
    plans = bought.space(growing(phases=[GROW, later])).plans
    assert [[(phase.year, phase.npus) for phase in plan] for plan in plans] == [
        [(0, 16)],
        [(0, 8)],
        [(0, 8), (1, 16)],
        [(0, 8), (3, 16)],
    ]


@pytest.mark.parametrize(
    ("phases", "path", "said"),
    [
        ([], "phases", "a list of phases"),
        ({"year": 0}, "phases", "a list of phases"),
        ([{"year": 1, "npus": 8}], "phases[0].year", "0, the first phase"),
        ([{"year": 0, "npus": 16}, {"year": 1, "npus": 8}], "phases[1].npus", "more NPUs than 16"),
        ([{"year": 0, "npus": 8}, {"year": 0, "npus": 16}], "phases[1].year", "a later year than 0"),
        ([{"year": 0, "npus": 8}, {"year": 5, "npus": 16}], "phases[1].year", "the lifetime of 4"),
        ([{"year": 0, "npus": 32}], "phases", "a size of the space's clusters (8, 16 NPUs)"),
        ([{"year": 0, "npus": 8, "prize": 1}], "phases[0].prize", "did you mean 'price'"),
        ([{"year": 0, "npus": 8, "price": 0}], "phases[0].price", "above 0"),
        ([{"year": 0, "npus": 8.5}], "phases[0].npus", "a whole number"),
        ([{"year": float("nan"), "npus": 8}], "phases[0].year", "the year from today"),
        ([GROW, [{"year": 0, "npus": -1}]], "phases[1][0].npus", "a whole number"),
    ],
)
def test_what_is_wrong_in_a_plan_is_said_with_its_place(phases: Any, path: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        bought.space(growing(phases=phases))
    told = [str(problem) for problem in caught.value.problems]
    assert any(path in text and said in text for text in told), told


def test_phases_need_a_cluster_that_is_decided() -> None:
    with pytest.raises(InputError, match="a space that decides on a cluster"):
        bought.space(growing(study={}))
