"""Several futures: expanded into weighted workloads, each tuned once on a cluster; regrets, reports, errors."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bought
import pytest
from rich.console import Console

from dse.buy.regret import REGRET, future_regrets, worst_regret
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report import write_reports
from dse.report.decision import describe_decision
from dse.report.futures import describe_robust_choice, least_regretted
from dse.report.plots import plot_of
from dse.report.plots.style import render
from dse.report.show import gather_facts, print_shown, shown_document
from dse.report.summary import summarize
from dse.run.document import open_space
from dse.run.drive import optimize
from dse.run.record import load_record
from dse.run.settings import Settings
from dse.space.space import Space
from dse.whatif.subject import subject_of
from simcore.document.problem import InputError

CHAT = {
    "name": "chat",
    "weight": 4,
    "workload": {
        "model": {"name": "tiny", "hidden": 256, "layers": 8, "heads": 8, "vocabulary": 1000, "sequence_length": 128},
        "global_batch": 16,
        "prompt_length": 64,
        "output_length": 8,
    },
    "parallelism": {"degrees": {"product": 8, "of": ["tensor", "data"]}},
}
FUTURES: list[dict[str, Any]] = [
    {"name": "as planned", "weight": 5},
    {"name": "large batch", "weight": 3, "change": {"workload.global_batch": 128}, "years": [1, 4]},
    {"name": "serving", "weight": 2, "workloads": [{"name": "big", "weight": 1}, CHAT]},
]


def futures(**changes: Any) -> dict[str, Any]:
    """The document of `bought.TWO` with `FUTURES`, and top-level keys replaced."""
    return bought.two(**({"futures": FUTURES} | changes))


def regretting() -> dict[str, Any]:
    return futures(study={"decide": ["cluster"], "batch": 3, "aggregate": "regret"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of the expected value, with its reports; not to be written to."""
    place = tmp_path_factory.mktemp("futures") / "run"
    bought.reported(futures(), place)
    return place


@pytest.fixture(scope="module")
def record(folder: Path) -> StudyRecord:
    return load_record(folder)


@pytest.fixture(scope="module")
def regretted(tmp_path_factory: pytest.TempPathFactory) -> StudyRecord:
    """The same clusters by worst regret."""
    return bought.run(bought.space(regretting()), tmp_path_factory.mktemp("regretted") / "run")


def times(trial: TrialRecord) -> dict[str, float]:
    return {workload.name: workload.values["iteration_time"] for workload in trial.workloads}


def values(trial: TrialRecord) -> dict[str, float]:
    """The mean iteration time in each future, by the definition in the documents."""
    t = times(trial)
    planned = (t["big"] + 3 * t["small"]) / 4
    changed = (t["big, large batch"] + 3 * t["small, large batch"]) / 4
    return {
        "as planned": planned,
        "large batch": 0.25 * planned + 0.75 * changed,
        "serving": (t["big"] + 4 * t["chat"]) / 5,
    }


def test_a_workload_that_several_futures_share_is_one() -> None:
    space = bought.space(futures())
    assert [job.name for job in space.jobs] == ["big", "small", "big, large batch", "small, large batch", "chat"]
    planned, changed, serving = space.futures
    assert (planned.weight, changed.weight, serving.weight) == (0.5, 0.3, 0.2)
    assert planned.shares == (0.25, 0.75, 0, 0, 0)
    assert changed.shares == pytest.approx((0.0625, 0.1875, 0.1875, 0.5625, 0))
    assert serving.shares == (0.2, 0, 0, 0, 0.8)
    assert sum(job.weight for job in space.jobs) == pytest.approx(1)
    assert space.jobs[0].weight == pytest.approx(0.5 * 0.25 + 0.3 * 0.0625 + 0.2 * 0.2)


def test_what_a_future_changes_is_changed_in_its_designs_alone(record: StudyRecord) -> None:
    for trial in record.trials:
        batches = {w.name: w.design["workload"]["global_batch"] for w in trial.workloads if w.design}
        assert batches == {"big": 16, "small": 64, "big, large batch": 128, "small, large batch": 128, "chat": 16}
        assert len({bought.hardware_of(w.design) for w in trial.workloads if w.design}) == 1


def test_a_cluster_has_the_expected_value_over_its_futures(record: StudyRecord) -> None:
    for trial in record.trials:
        v = values(trial)
        expected = 0.5 * v["as planned"] + 0.3 * v["large batch"] + 0.2 * v["serving"]
        assert trial.values["iteration_time"] == pytest.approx(expected, rel=1e-12)


def test_each_workload_of_a_future_has_the_software_that_it_would_have_alone(record: StudyRecord) -> None:
    document = bought.two()
    document["workloads"][0]["workload"]["global_batch"] = 128
    best = bought.brute_force(document)
    for trial in record.trials:
        assert trial.design is not None
        changed = next(w for w in trial.workloads if w.name == "big, large batch")
        assert changed.values == best[bought.hardware_of(trial.design)][0].values


def test_the_regret_of_a_future_is_against_its_own_best_cluster(record: StudyRecord) -> None:
    by_trial = {trial.number: values(trial) for trial in record.trials}
    prices = {trial.number: trial.values["cost.total"] for trial in record.trials}
    for regret in future_regrets(record):
        best = min(v[regret.name] for v in by_trial.values())
        assert regret.value == pytest.approx(best, rel=1e-12)
        for number, v in by_trial.items():
            affordable = min(w[regret.name] for other, w in by_trial.items() if prices[other] <= prices[number])
            assert regret.losses[number].value == pytest.approx(v[regret.name], rel=1e-12)
            assert regret.losses[number].regret == pytest.approx(v[regret.name] / best - 1, rel=1e-9, abs=1e-12)
            assert regret.losses[number].at_price == pytest.approx(v[regret.name] / affordable - 1, rel=1e-9, abs=1e-12)


def test_with_regret_the_objective_is_the_worst_regret_of_any_future(
    record: StudyRecord, regretted: StudyRecord
) -> None:
    assert [o.name for o in regretted.objectives] == [f"iteration_time{REGRET}", "cost.total"]
    best = {name: min(values(trial)[name] for trial in record.trials) for name in values(record.trials[0])}
    assert len(regretted.trials) == len(record.trials)
    for trial in regretted.trials:
        worst = max(value / best[name] - 1 for name, value in values(trial).items())
        assert trial.values[f"iteration_time{REGRET}"] == pytest.approx(worst, rel=1e-9, abs=1e-12)
    least = min(trial.values[f"iteration_time{REGRET}"] for trial in regretted.trials)
    assert least == min(member.values[f"iteration_time{REGRET}"] for member in regretted.front)
    assert regretted.bounds[f"iteration_time{REGRET}"] is None
    assert regretted.bounds["cost.total"] == min(trial.values["cost.total"] for trial in regretted.trials)


def test_the_proven_bound_of_the_expected_value_and_of_the_worst_holds(record: StudyRecord, tmp_path: Path) -> None:
    document = futures(study={"decide": ["cluster"], "batch": 3, "aggregate": "worst"})
    worst = bought.run(bought.space(document), tmp_path / "run")
    for study in (record, worst):
        bound = study.bounds["iteration_time"]
        assert bound is not None
        assert 0 < bound <= min(trial.values["iteration_time"] for trial in study.trials)
    for trial in worst.trials:
        assert trial.values["iteration_time"] == pytest.approx(max(values(trial).values()), rel=1e-12)


def test_without_futures_regret_is_that_of_the_workloads(tmp_path: Path) -> None:
    document = bought.two(study={"decide": ["cluster"], "aggregate": "regret"})
    found = bought.run(bought.space(document), tmp_path / "run")
    best = {name: min(times(trial)[name] for trial in found.trials) for name in ("big", "small")}
    for trial in found.trials:
        worst = max(value / best[name] - 1 for name, value in times(trial).items())
        assert trial.values[f"iteration_time{REGRET}"] == pytest.approx(worst, rel=1e-9, abs=1e-12)


def test_a_future_may_change_prices_and_these_alone(tmp_path: Path) -> None:
    dear = {"name": "dear", "change": {"cost.npu.v100-32gb": "9000 $", "cost.electricity": "1 $/kWh"}}
    document = futures(futures=[{"name": "now"}, dear])
    document["objectives"] = {"minimize": ["cost_per_token", "cost.total"]}
    found = bought.run(bought.space(document), tmp_path / "run")
    for trial in found.trials:
        by_name = {workload.name: workload for workload in trial.workloads}
        assert list(by_name) == ["big", "small", "big, dear", "small, dear"]
        now, later = by_name["small"], by_name["small, dear"]
        assert now.design is not None
        more = 8 * 1000.0 if now.design["cluster"]["npu"] == "v100-32gb" else 0.0
        assert later.values["cost.total"] - now.values["cost.total"] == pytest.approx(more, abs=1e-6)
        assert trial.values["cost.total"] == pytest.approx(now.values["cost.total"] + more / 2, rel=1e-12)
        assert later.values["cost_per_token"] > now.values["cost_per_token"]


def test_one_workload_may_stand_at_the_top(tmp_path: Path) -> None:
    entry = bought.two()["workloads"][0]
    batch = {"name": "more", "change": {"workload.global_batch": 32}}
    document = futures(
        workloads=None, workload=entry["workload"], parallelism=entry["parallelism"], futures=[{"name": "now"}, batch]
    )
    assert [job.name for job in bought.space(document).jobs] == ["tiny", "tiny, more"]


def test_futures_may_bring_all_their_workloads() -> None:
    listed = [{"name": "one", "workloads": [CHAT]}, {"name": "two", "workloads": bought.two()["workloads"]}]
    space = bought.space(futures(workloads=None, futures=listed))
    assert [job.name for job in space.jobs] == ["chat", "big", "small"]
    assert space.count() == 8


def test_a_future_may_change_one_of_its_workloads() -> None:
    one = {"name": "two", "workloads": [{"name": "big", "change": {"workload.global_batch": 32}}, {"name": "small"}]}
    space = bought.space(futures(futures=[{"name": "one"}, one]))
    assert [job.name for job in space.jobs] == ["big", "small", "big, two"]
    assert space.futures[1].shares == (0.0, 0.75, 0.25)


def test_a_change_may_have_holes_and_name_the_catalogue(tmp_path: Path) -> None:
    batch = {"workload.global_batch": 64, "parallelism.microbatch": {"choice": [1, 2]}}
    document = futures(futures=[{"name": "now"}, {"name": "later", "change": batch}], objectives=None)
    space = bought.space(document)
    assert [space.space_of_job(job).count() for job in space.jobs] == [8 * 40, 8 * 16, 8 * 80]
    named = [
        {"name": "now"},
        {"name": "other", "workloads": [{"name": "big", "change": {"workload.model": "gpt3-175b"}}]},
    ]
    spelled = futures(futures=named)
    optimize(bought.space(spelled), Settings("exhaustive", 1, 0), tmp_path / "run", resume=False)
    again, study = open_space(str(tmp_path / "run" / "study.yaml"))
    assert study is not None
    change = study["space"]["futures"][1]["workloads"][0]["change"]["workload.model"]
    assert change["layers"] == 96  # the study means the same whatever the catalogue says later
    assert [job.name for job in again.jobs] == [job.name for job in bought.space(spelled).jobs]


def test_a_study_is_repeated_byte_for_byte(folder: Path, tmp_path: Path) -> None:
    again, _ = open_space(str(folder / "study.yaml"))
    write_reports(bought.run(again, tmp_path / "again", jobs=2), tmp_path / "again")
    for name in ("study.yaml", "trials.csv", "pareto.json", "report.html"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes(), name


def test_pareto_json_has_the_futures_and_the_regret_of_each_member(folder: Path, record: StudyRecord) -> None:
    pareto = json.loads((folder / "pareto.json").read_text())
    assert [(f["name"], f["weight"]) for f in pareto["futures"]] == [
        ("as planned", 0.5),
        ("large batch", 0.3),
        ("serving", 0.2),
    ]
    assert pareto["futures"][1]["years"] == [1, 4]
    assert pareto["futures"][2]["shares"] == {"big": 0.2, "chat": 0.8}
    robust = min((max(f["regret"]["own_best"] for f in m["futures"]), m["trial"]) for m in pareto["front"])
    assert pareto["least_regretted"]["worst_regret"] == pytest.approx(robust[0])
    for member in pareto["front"]:
        trial = record.trials[member["trial"]]
        assert {f["name"]: f["value"] for f in member["futures"]} == pytest.approx(values(trial))
        assert member["worst_regret"] == max(f["regret"]["own_best"] for f in member["futures"])


def test_trials_csv_has_a_column_for_each_future(folder: Path, record: StudyRecord) -> None:
    rows = list(csv.DictReader(io.StringIO((folder / "trials.csv").read_text())))
    assert len(rows) == 8
    for row, trial in zip(rows, record.trials, strict=True):
        assert float(row["future serving: value"]) == pytest.approx(values(trial)["serving"])
        lost = [float(row[f"future {name}: regret"]) for name in ("as planned", "large batch", "serving")]
        assert float(row["worst regret"]) == max(lost)


def test_the_page_has_a_section_of_futures(folder: Path) -> None:
    section = (folder / "report.html").read_text().split("Futures and their regret")[-1].split("</section>")[0]
    front = json.loads((folder / "pareto.json").read_text())["front"]
    assert section.count("<tr>") == 1 + len(front)
    assert "serving (20 %): 20 % big, 80 % chat" in section
    assert "its change holds from year 1 to 4" in section


def test_one_cluster_is_shown_with_its_value_in_each_future(record: StudyRecord) -> None:
    shown = gather_facts(record, summarize(record), record.front[0])
    document = shown_document(record, shown)
    assert [future["name"] for future in document["futures"]] == ["as planned", "large batch", "serving"]
    console = Console(width=80, record=True, file=io.StringIO())
    print_shown(record, shown, console)
    text = console.export_text()
    assert "future (iteration time)" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_the_decision_says_how_much_its_cluster_can_be_regretted(record: StudyRecord) -> None:
    summary = summarize(record)
    decision = describe_decision(record, summary)
    (said,) = [s for s in decision.sentences if "best cluster of any future" in s or "of every future" in s]
    assert decision.trial is not None
    robust = least_regretted(record, summary)
    assert robust is not None
    if robust[0].number != decision.trial:
        assert f"build trial {robust[0].number}" in said
    for trial in record.front:
        found = worst_regret(summary.futures, trial.number)
        assert found is not None
        text = describe_robust_choice(record, summary, trial)
        assert ("never more than" in text.split(". The")[0]) == (found[0] >= 0.0005)


def test_a_picture_has_the_regret_of_each_cluster_in_each_future(folder: Path, record: StudyRecord) -> None:
    picture = plot_of("regret", [subject_of(str(folder), bounds=False)])
    assert render(picture.figure, "png").startswith(b"\x89PNG")
    assert render(picture.figure, "svg").count(b"<svg") == 1
    found = picture.numbers
    assert json.loads(json.dumps(found, allow_nan=False))
    assert found["kind"] == "future"
    assert found["names"] == ("as planned", "large batch", "serving")
    told = {regret.name: regret.losses for regret in future_regrets(record)}
    for cluster in found["clusters"]:
        assert cluster["regrets"] == tuple(told[name][cluster["trial"]].regret for name in found["names"])
        assert cluster["worst"] == max(cluster["regrets"])


def _set(key: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        document["futures"][1] = {**document["futures"][1], key: value}

    return change


@pytest.mark.parametrize(
    ("change", "path", "said"),
    [
        (_set("weight", 0), "futures[1].weight", "a number above 0"),
        (_set("weight", float("nan")), "futures[1].weight", "a number above 0"),
        (_set("name", "as planned"), "futures[1].name", "each name once"),
        (_set("wieght", 2), "futures[1].wieght", "weight"),
        (_set("change", {}), "futures[1].change", "a mapping of paths to values"),
        (_set("change", {"workload.global_bach": 1}), "futures[1].change.workload.global_bach", "global_batch"),
        (_set("change", {"workload.global_batch": -1}), "futures[1].change.workload.global_batch", "1"),
        (_set("change", {"wrkload.global_batch": 1}), "futures[1].change.wrkload.global_batch", "workload"),
        (_set("change", {"cluster.npu": "h100-80gb"}), "futures[1].change.cluster.npu", "not decided"),
        (_set("change", {"cost.electricity": "5 apples"}), "futures[1].change.cost.electricity", "apples"),
        (
            _set("change", {"parallelism.zero.choice[0]": 1}),
            "futures[1].change.parallelism",
            "without a hole on its way",
        ),
        (_set("change", {"..": 1}), "futures[1].change", "a path such as"),
        (_set("change", {"parallelism.tensor": {"choice": []}}), "futures[1].change.parallelism.tensor", "alternative"),
        (_set("years", [3, 5]), "futures[1].years", "the lifetime of 4"),
        (_set("years", [2]), "futures[1].years", "the first year and the last"),
        (_set("workloads", []), "futures[1].workloads", "a list of workloads"),
        (_set("workloads", [{"name": "bgi"}]), "futures[1].workloads[0]", "did you mean 'big'"),
        (_set("workloads", [{"weight": 2}]), "futures[1].workloads[0]", "a 'workload', or the name"),
        (_set("workloads", [{"name": "big"}, {"name": "big"}]), "futures[1].workloads[1].name", "each name once"),
        (_set("workloads", [{"name": "big", "parallelism": {}}]), "futures[1].workloads[0].parallelism", "a key of"),
        (lambda document: document.update(futures=[]), "futures", "a list of futures"),
        (lambda document: document.update(futures={"a": 1}), "futures", "a list of futures"),
        (lambda document: document.pop("workloads"), "futures[0]", "workloads to run"),
        (lambda document: document["futures"].append({"name": "again"}), "futures[3]", "futures that differ"),
    ],
)
def test_what_is_wrong_in_a_future_is_said_with_its_place(
    change: Callable[[dict[str, Any]], None], path: str, said: str
) -> None:
    document = futures()
    change(document)
    with pytest.raises(InputError) as caught:
        bought.space(document)
    told = [str(problem) for problem in caught.value.problems]
    assert any(path in text and said in text for text in told), told


def test_without_decide_a_future_cannot_change_what_is_shared() -> None:
    document = futures(study={})
    document["futures"][1] = {"name": "other", "change": {"system.chunks": 8}}
    with pytest.raises(InputError, match=r"futures\[1\].change.system.chunks: expected a path that is not decided"):
        bought.space(document)


def test_every_problem_of_the_futures_is_said_at_once() -> None:
    document = futures(
        futures=[
            {"name": "a", "weight": -1, "change": {"clster.x": 1, "workload.globl_batch": 2}},
            {"name": "a", "years": [0, 9], "workloads": "all"},
        ]
    )
    with pytest.raises(InputError) as caught:
        bought.space(document)
    said = str(caught.value)
    for part in (
        "futures[0].weight",
        "clster",
        "globl_batch",
        "futures[1].name",
        "futures[1].years",
        "futures[1].workloads",
    ):
        assert part in said, said


def test_a_learning_sampler_searches_by_the_expected_value(tmp_path: Path) -> None:
    found = bought.run(bought.space(regretting()), tmp_path / "run", sampler="nsga2", trials=6)
    assert len(found.trials) == 6
    assert min(trial.values[f"iteration_time{REGRET}"] for trial in found.trials) >= 0


def test_a_cluster_that_some_future_does_not_run_on_is_not_feasible(tmp_path: Path) -> None:
    document = regretting()
    document["constraints"] = ["fits", "cost.total <= 100000"]
    found = bought.run(bought.space(document), tmp_path / "run")
    cut = [trial for trial in found.trials if trial.state == "cut"]
    assert cut
    assert all(trial.values[f"iteration_time{REGRET}"] == 0.0 for trial in cut)  # proven, and no more is
    assert found.front
    assert {trial.number for trial in found.front}.isdisjoint(trial.number for trial in cut)


def test_a_reference_point_is_that_of_the_regret(tmp_path: Path) -> None:
    document = regretting()
    document["study"]["reference_point"] = {"iteration_time": 5.0, "cost.total": 1e6}
    found = bought.run(bought.space(document), tmp_path / "run")
    assert found.reference is not None
    assert found.reference.tolist() == [5.0, 1e6]
    assert found.hypervolume > 0


def test_a_gap_cannot_end_a_search_for_the_least_regret(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a proven bound for each objective"):
        bought.run(bought.space(regretting()), tmp_path / "run", gap=0.1)


def test_a_plain_space_has_no_futures() -> None:
    space: Space = bought.space(bought.two())
    assert space.futures == ()
    assert space.shares == ()
