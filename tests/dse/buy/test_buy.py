"""Buying a cluster for several workloads: journal, reports, constraints, samplers, scenarios, errors."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import bought
import pytest

import dse
from dse.buy.regret import regrets
from dse.evaluate.aggregate import aggregate
from dse.evaluate.record import StudyRecord
from dse.report import write_reports
from dse.report.built import describe_build
from dse.report.choice import recommended
from dse.report.decision import describe_decision
from dse.report.machines import describe_machines
from dse.report.summary import summarize
from dse.report.workloads import describe_own_best, vanishing
from dse.run.drive import optimize
from dse.run.record import load_record
from dse.run.settings import Settings
from dse.run.verify import verify
from dse.space.objective import Objective
from dse.whatif.ask import answers_about
from dse.whatif.machines import machine_of
from simcore.check.load import design_from
from simcore.document.problem import InputError
from simcore.simulate import simulate

TIME = Objective("iteration_time", "minimize", "s")
RATE = Objective("throughput", "maximize", "tokens/s")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with its reports; not to be written to."""
    place = tmp_path_factory.mktemp("bought") / "run"
    write_reports(bought.run(bought.space(bought.two()), place), place)
    return place


@pytest.fixture(scope="module")
def record(folder: Path) -> StudyRecord:
    return load_record(folder)


def test_a_member_of_the_front_has_a_complete_design_for_each_workload_that_simulates_to_its_values(
    folder: Path,
) -> None:
    pareto = json.loads((folder / "pareto.json").read_text())
    assert pareto["decided"] == ["cluster", "cost", "reliability"]
    assert pareto["tuned_for"] == "iteration_time"
    for member in pareto["front"]:
        assert member["design"] == member["workloads"][0]["design"]
        for workload in member["workloads"]:
            result = simulate(design_from(workload["design"]))
            assert json.loads(json.dumps(result.document())) == workload["metrics"]
            assert workload["values"]["iteration_time"] == result.iteration_time_s
        clusters = {bought.hardware_of(workload["design"]) for workload in member["workloads"]}
        assert len(clusters) == 1
        times = [workload["values"]["iteration_time"] for workload in member["workloads"]]
        assert member["values"]["iteration_time"] == pytest.approx((times[0] + 3 * times[1]) / 4, rel=1e-12)


def test_regret_is_what_its_definition_says(record: StudyRecord) -> None:
    for index, regret in enumerate(regrets(record)):
        points = {
            trial.number: (trial.workloads[index].values["cost.total"], trial.workloads[index].values["iteration_time"])
            for trial in record.trials
        }
        best = min(time for _, time in points.values())
        assert regret.value == best
        assert points[regret.best or 0][1] == best
        for number, (price, time) in points.items():
            affordable = min(t for p, t in points.values() if p <= price)
            assert regret.losses[number].regret == pytest.approx(time / best - 1, rel=1e-9, abs=1e-12)
            assert regret.losses[number].at_price == pytest.approx(time / affordable - 1, rel=1e-9, abs=1e-12)
            assert points[regret.losses[number].best_at_price][1] == affordable


def test_the_workloads_own_best_clusters_are_said(record: StudyRecord) -> None:
    sentences = describe_own_best(record, summarize(record))
    own = {regret.best for regret in regrets(record)}
    assert len(sentences) == len(own)
    joined = "big or small" if len(own) == 1 else "big"
    assert sentences[0].startswith(f"{joined} alone would choose trial ")
    assert len(own) == 1 or "there small loses" in sentences[0]


def test_the_nearest_cluster_on_each_other_machine_is_said_and_that_nobody_knows_how_sure_that_is(
    record: StudyRecord,
) -> None:
    summary = summarize(record, answers_about(record, bought.space(bought.two()), "fast"))
    built = record.trials.numbered(recommended(record, summary) or 0)
    assert built is not None
    own, other = sorted(("a100-80gb", "v100-32gb"), key=lambda name: name != machine_of(built.design))
    said = describe_machines(record, summary)
    assert f"Other machines, by the nearest: {other} (trial " in said
    assert own not in said
    assert said.endswith(
        "How sure the choice is, was not asked: each workload would have to be tuned again in each scenario."
    )
    number = int(re.findall(r"\(trial (\d+),", said)[0])
    alike = [trial for trial in record.feasible_trials if machine_of(trial.design) == other]
    worse = [max(o.loss(built.values[o.name], trial.values[o.name]) for o in record.objectives) for trial in alike]
    assert alike[worse.index(min(worse))].number == number


def test_trials_csv_has_the_software_and_regret_of_each_workload(folder: Path) -> None:
    rows = list(csv.DictReader(io.StringIO((folder / "trials.csv").read_text())))
    assert len(rows) == 8
    for row in rows:
        assert row["small: parallelism.microbatch"] in ("1", "2")
        assert float(row["big: regret"]) >= float(row["big: regret at price"]) >= 0
        assert float(row["big: iteration_time"]) > 0
        assert row["throughput"] == ""  # each workload has its own


def test_the_page_has_every_design_and_the_regrets(folder: Path) -> None:
    page = (folder / "report.html").read_text()
    assert "Workloads and their regret" in page
    front = json.loads((folder / "pareto.json").read_text())["front"]
    members = re.findall(r'"trial":(\d+),"workload":"(\w+)"', page)
    assert members == [(str(member["trial"]), name) for member in front for name in ("big", "small")]


def test_workers_and_resuming_change_no_byte(folder: Path, tmp_path: Path) -> None:
    given = bought.space(bought.two())
    two_jobs = bought.run(given, tmp_path / "two", jobs=2)
    write_reports(two_jobs, tmp_path / "two")
    bought.run(given, tmp_path / "parts", trials=4)
    settings = Settings("exhaustive", 1000, 0)
    optimize(given, settings, tmp_path / "parts", resume=True)
    write_reports(load_record(tmp_path / "parts"), tmp_path / "parts")
    for name in ("study.yaml", "trials.csv", "pareto.json", "report.html"):
        assert (tmp_path / "two" / name).read_bytes() == (folder / name).read_bytes(), name
        assert (tmp_path / "parts" / name).read_bytes() == (folder / name).read_bytes(), name


def test_verify_plays_every_workload_of_the_front(record: StudyRecord) -> None:
    rows = list(verify(record, 20, 1, links=False))
    assert [row.workload for row in rows] == ["big", "small"] * len(record.front)
    assert {row.difference for row in rows} <= {0.0, None}
    assert any(row.difference == 0 for row in rows)


def test_one_workload_may_stand_at_the_top(record: StudyRecord, tmp_path: Path) -> None:
    entry = bought.two()["workloads"][0]
    document = bought.two(workloads=None, workload=entry["workload"], parallelism=entry["parallelism"])
    alone = bought.run(bought.space(document), tmp_path / "run")
    assert [trial.workloads[0].name for trial in alone.trials] == ["tiny"] * 8
    assert [t.values["iteration_time"] for t in alone.trials] == [
        t.workloads[0].values["iteration_time"] for t in record.trials
    ]
    assert all(loss.at_price == 0 for loss in regrets(alone)[0].losses.values() if loss.regret == 0)


def test_without_decide_the_workloads_share_every_hole(tmp_path: Path) -> None:
    document = bought.two(study={"batch": 3}, parallelism={"degrees": {"product": 8, "of": ["tensor", "data"]}})
    for entry in document["workloads"]:
        entry.pop("parallelism")
    del document["cluster"]["dimensions"][0]["collective"]
    shared = bought.run(bought.space(document), tmp_path / "run")
    assert len(shared.trials) == 8 * 4
    for trial in shared.trials:
        designs = [workload.design for workload in trial.workloads]
        assert designs[0] is not None
        assert designs[1] is not None
        assert designs[0]["parallelism"] == designs[1]["parallelism"]
        assert "parallelism.tensor" in trial.params
        assert trial.workloads[0].params == {}


def test_a_sampler_that_tries_all_software_finds_what_the_exact_search_finds(
    record: StudyRecord, tmp_path: Path
) -> None:
    document = bought.two(study={"decide": ["cluster"], "batch": 3, "tune_sampler": "random", "tune_trials": 200})
    document["cluster"]["npu"] = "a100-80gb"
    sampled = bought.run(bought.space(document), tmp_path / "run")
    exact = {repr(t.design and t.decided_document): t.values for t in record.trials}
    assert len(sampled.trials) == 4
    for trial in sampled.trials:
        assert trial.values == exact[repr(trial.decided_document)]


def test_a_genetic_sampler_searches_clusters(tmp_path: Path) -> None:
    found = bought.run(bought.space(bought.two()), tmp_path / "run", sampler="nsga2", trials=6)
    assert len({repr(trial.decided_document) for trial in found.trials}) == 6


def test_a_cluster_that_breaks_a_limit_of_its_own_is_cut_and_nothing_tuned(tmp_path: Path) -> None:
    document = bought.two(constraints=["fits", "cost.total <= 100000"])
    found = bought.run(bought.space(document), tmp_path / "run")
    cut = [trial for trial in found.trials if trial.state == "cut"]
    assert {trial.design["cluster"]["npu"] for trial in cut if trial.design} == {"a100-80gb"}
    assert {trial.cut_by for trial in cut} == {"big: cost.total <= 100000; small: cost.total <= 100000"}
    assert all(trial.metrics is None and trial.violations["cost.total <= 100000"] > 0 for trial in cut)
    assert found.front


def test_a_cluster_on_which_one_workload_fits_with_no_software_is_cut_and_told_with_bounds(tmp_path: Path) -> None:
    document = bought.two()
    npu: dict[str, Any] = {
        "name": "a100-80gb",
        "peak": {"fp16": "312 TFLOP/s"},
        "memory": {"capacity": "77 MB", "bandwidth": "2039 GB/s"},
        "power": {"max": "400 W", "idle": "60 W"},
    }
    memory = {"slack": 1.0, "context": "0 B", "communicator": "0 B"}
    document["software"] = {"base": "megatron-core", "memory": memory}
    document["cluster"]["npu"] = {"choice": ["a100-80gb", npu]}
    document["hypothetical"] = True
    found = bought.run(bought.space(document), tmp_path / "run")
    for trial in found.trials:
        states = [workload.state for workload in trial.workloads]
        assert states in (["feasible", "feasible"], ["cut", "feasible"])
        assert trial.state == ("cut" if "cut" in states else "feasible")
        if trial.state == "cut":
            assert trial.cut_by == "big: fits"
            best = min(t.workloads[0].values["iteration_time"] for t in found.feasible_trials)
            assert 0 < trial.workloads[0].values["iteration_time"] < best
    # Where the big one runs nowhere, the small one still has a regret there.
    assert len(regrets(found)[1].losses) == 8
    assert len(regrets(found)[0].losses) == 4


def test_a_limit_on_results_is_met_by_the_software_that_is_chosen(record: StudyRecord, tmp_path: Path) -> None:
    limit = min(w.metrics["bubble_s"] for t in record.trials for w in t.workloads if w.metrics)
    document = bought.two(constraints=["fits", f"bubble <= {limit}", "parallelism.data <= 4"])
    found = bought.run(bought.space(document), tmp_path / "run")
    assert found.front
    for trial in found.feasible_trials:
        for workload in trial.workloads:
            assert workload.metrics is not None
            assert workload.metrics["bubble_s"] <= limit
            assert workload.design is not None
            assert workload.design["parallelism"]["data"] <= 4


def test_software_may_be_tuned_for_another_metric(tmp_path: Path) -> None:
    document = bought.two(study={"decide": ["cluster"], "tune": "energy"})
    document["objectives"] = {"minimize": ["iteration_time", "energy", "cost.total"]}
    by_energy = bought.run(bought.space(document), tmp_path / "energy")
    document["study"]["tune"] = "iteration_time"
    by_time = bought.run(bought.space(document), tmp_path / "time")
    for first, second in zip(by_energy.trials, by_time.trials, strict=True):
        assert first.values["energy"] <= second.values["energy"]
        assert first.values["iteration_time"] >= second.values["iteration_time"]


@pytest.mark.parametrize("tuner", ["auto", "random"])
def test_software_is_tuned_for_what_is_no_objective(tmp_path: Path, tuner: str) -> None:
    """Of a cluster alone no software changes anything: it is the fastest, and no value is said but the objectives'."""
    study = {"decide": ["cluster"], "tune_sampler": tuner, "tune_trials": 60}
    document = bought.two(study=study)
    document["objectives"] = {"minimize": ["cost.total", "power.peak"]}
    by_cluster = bought.run(bought.space(document), tmp_path / "cluster")
    document["objectives"] = {"minimize": ["iteration_time", "cost.total", "power.peak"]}
    by_time = bought.run(bought.space(document), tmp_path / "time")
    fastest = {repr(trial.params): trial for trial in by_time.trials}
    for trial in by_cluster.trials:
        for job, other in zip(trial.workloads, fastest[repr(trial.params)].workloads, strict=True):
            assert [*job.values] == ["cost.total", "power.peak"]
            if tuner == "auto":
                assert job.metrics is not None
                assert other.metrics is not None
                assert job.metrics["iteration_time_s"] == other.metrics["iteration_time_s"]


def test_weighted_and_worst_values() -> None:
    values = [{"iteration_time": 4.0, "throughput": 10.0}, {"iteration_time": 1.0, "throughput": 40.0}]
    both = (TIME, RATE)
    assert aggregate("weighted", both, [1, 1], values) == {"iteration_time": 2.5, "throughput": 25.0}
    assert aggregate("weighted", both, [1, 3], values) == {"iteration_time": 1.75, "throughput": 32.5}
    assert aggregate("worst", both, [2, 2], values) == {"iteration_time": 4.0, "throughput": 10.0}
    assert aggregate("worst", both, [1, 7], values) == {"iteration_time": 1.75, "throughput": 40 / 1.75}
    cost = Objective("cost.total", "minimize", "$")
    assert aggregate("worst", (cost,), [1, 7], [{"cost.total": 5.0}, {"cost.total": 5.0}]) == {"cost.total": 5.0}


@pytest.mark.parametrize(
    ("change", "path", "said"),
    [
        ({"workload": {"collective": "all_reduce", "size": "1 GB"}}, "workload", "either 'workload' or 'workloads'"),
        ({"workloads": []}, "workloads", "a list of workloads"),
        ({"study": {"decide": ["clusters"]}}, "study.decide[0]", "cluster"),
        ({"study": {"decide": ["system"]}}, "study.decide", "the cluster among what is decided"),
        ({"study": {"decide": ["cluster", "parallelism"]}}, "workloads[0].parallelism", "not decided for all"),
        ({"study": {"decide": ["cluster"], "tune": "iteration_tme"}}, "study.tune", "iteration_time"),
        ({"study": {"decide": ["cluster"], "tune_sampler": "magic"}}, "study.tune_sampler", "one of"),
        ({"study": {"decide": ["cluster"], "aggregate": "median"}}, "study.aggregate", "weighted"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(change: dict[str, Any], path: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        bought.space(bought.two(**change))
    assert any(path in str(problem) and said in str(problem) for problem in caught.value.problems), str(caught.value)


@pytest.mark.parametrize(
    ("key", "value", "path", "said"),
    [
        ("weight", 0, "workloads[1].weight", "a number above 0"),
        ("name", "big", "workloads[1].name", "each name once"),
        ("wieght", 2, "workloads[1].wieght", "weight"),
        ("workload", {"model": "gpt3-175"}, "workloads[1].workload", "gpt3-175b"),
        ("parallelism", {"zero": 7}, "workloads[1].parallelism.zero", "3"),
        ("parallelism", {"tensor": {"choice": []}}, "workloads[1].parallelism.tensor", "at least one alternative"),
    ],
)
def test_what_is_wrong_in_a_workload_is_said_with_its_place(key: str, value: Any, path: str, said: str) -> None:
    document = bought.two()
    document["workloads"][1][key] = value
    with pytest.raises(InputError) as caught:
        bought.space(document)
    assert any(path in str(problem) and said in str(problem) for problem in caught.value.problems), str(caught.value)


def test_ray_tune_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a space without workloads for ray-tune"):
        optimize(
            bought.space(bought.two()), Settings("random", 3, 0, executor="ray-tune"), tmp_path / "run", resume=False
        )
    assert not (tmp_path / "run").exists()


def test_software_is_tuned_for_an_expression_and_reported_by_it(tmp_path: Path) -> None:
    text = "iteration_time * energy"
    document = bought.two(objectives={"minimize": [text, "cost.total"]})
    exact, sampled = (
        bought.run(bought.space({**document, "study": study}), tmp_path / study["tune_sampler"])
        for study in (
            {"decide": ["cluster"], "tune_sampler": "exact"},
            {"decide": ["cluster"], "tune_sampler": "exhaustive"},
        )
    )
    assert len(exact.trials) == 8
    for trial, other in zip(exact.trials, sampled.trials, strict=True):
        for workload in trial.workloads:
            metrics = workload.metrics or {}
            assert workload.values[text] == metrics["iteration_time_s"] * metrics["energy_j"]
        assert trial.values == other.values  # bounds of the expression cut nothing that is better
    write_reports(exact, tmp_path / "exact")
    assert json.loads((tmp_path / "exact" / "pareto.json").read_text())["tuned_for"] == text


def test_headings_of_numbers_stand_over_them(folder: Path) -> None:
    section = (folder / "report.html").read_text().split("Workloads and their regret")[1].split("</section>")[0]
    first = section.split("<tbody>")[1].split("</tr>")[0]
    head = section.split("<thead>")[1].split("</thead>")[0]
    assert head.count(" class='n'>") == first.count(" class='n'>") == 4


def test_of_several_workloads_each_has_its_design() -> None:
    several = dse.optimize(bought.space(bought.two()), trials=3, sampler="random")
    names = [workload.name for workload in several.best("cost.total").workloads]
    designs = [several.design(several.best("cost.total"), name) for name in names]
    assert several.design(several.best("cost.total")) == designs[0] != designs[1]
    with pytest.raises(dse.InputError, match=f"one of {', '.join(names)}, got 'other'"):
        several.design(several.best("cost.total"), "other")


def test_the_first_sentence_says_how_each_workload_uses_the_cluster(record: StudyRecord) -> None:
    trial = record.front[0]
    uses = []
    for name, part in trial.parts:
        p = (part.design or {})["parallelism"]
        cut = " x ".join(f"{key} {p[key]}" for key in ("tensor", "pipeline", "data") if p.get(key, 1) != 1)
        stage = f", ZeRO-{p['zero']}" if p.get("zero") else ""
        uses.append(f"{name} with {cut}{stage}, microbatch {p['microbatch']}")
    assert len(uses) == 2
    assert describe_build(trial).endswith(f"; {uses[0]}; {uses[1]}.")


def test_a_workload_that_is_lost_in_the_mean_is_named(record: StudyRecord) -> None:
    trial = record.front[0]
    assert record.purchase is not None
    assert vanishing(record, trial) == []
    light = replace(record, purchase=replace(record.purchase, weights=(1.0, 1e-4)))
    assert vanishing(light, trial) == ["small"]
    told = " ".join(describe_decision(light, summarize(light)).sentences)
    assert "of which small is less than 1 %: study.aggregate: regret weighs all alike" in told
