from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from asked_studies import answer_what_if
from tiny_spaces import TINY

from dse.evaluate.evaluate import Evaluator, Outcome
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.front import pareto_json
from dse.report.page import report_html
from dse.report.summary import summarize
from dse.report.tables import csv_text, pareto_table
from dse.run.document import open_space, open_study
from dse.run.drive import optimize
from dse.run.record import load_record
from dse.run.settings import Settings
from dse.space.draw import FixedDraw
from dse.space.objective import Objective
from dse.space.space import space_from
from dse.whatif.answers import WhatIf
from dse.whatif.ask import answers_about
from dse.whatif.batches import rewrite_batch, rivals, run_at_batches
from simcore.check.load import parse_design
from simcore.document.text import parse_document
from simcore.simulate import simulate

TIME, COST = Objective("iteration_time", "minimize", "s"), Objective("cost.total", "minimize", "$")


def run(folder: Path, trials: int = 40, **changes: Any) -> StudyRecord:
    document = yaml.safe_load(TINY) | changes
    space = space_from(parse_document(yaml.safe_dump(document, sort_keys=False), "space"), "tiny")
    settings = Settings(sampler="nsga2", trials=trials, seed=0)
    optimize(space, settings, folder, resume=False)
    return load_record(folder)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[StudyRecord, Path]:
    folder = tmp_path_factory.mktemp("study") / "run"
    return run(folder), folder


def test_a_step_loses_what_simulating_the_changed_document_says(study: tuple[StudyRecord, Path]) -> None:
    record, folder = study
    answers = answer_what_if(record, folder)
    trials = {trial.number: trial for trial in record.trials}
    checked = 0
    for number, steps in answers.steps.items():
        for step in steps:
            (path,) = step.moved if len(step.moved) == 1 else (None,)
            if path not in ("parallelism.zero", "cluster.npu") or not step.is_feasible:
                continue
            document = json.loads(json.dumps(trials[number].design))
            section, key = path.split(".")
            document[section][key] = step.changes[path][1]
            design, problems = parse_design(document)
            assert design is not None, problems
            result = simulate(design, "fast")
            before = trials[number].values
            assert step.loss["iteration_time"] == pytest.approx(
                result.iteration_time_s / before["iteration_time"] - 1, abs=1e-12
            )
            assert step.loss["cost.total"] == pytest.approx(result.cost.total / before["cost.total"] - 1, abs=1e-12)
            checked += 1
    assert checked >= 3


def test_every_member_of_a_small_front_is_asked_and_the_answers_are_always_the_same(
    study: tuple[StudyRecord, Path],
) -> None:
    record, folder = study
    answers = answer_what_if(record, folder)
    assert set(answers.steps) == {trial.number for trial in record.front}
    assert (answers.left_out, answers.note) == (0, "")
    assert answer_what_if(record, folder) == answers


@pytest.mark.parametrize("allowed", [0, 1, 7, 30])
def test_no_more_is_simulated_than_was_allowed(
    study: tuple[StudyRecord, Path], monkeypatch: pytest.MonkeyPatch, allowed: int
) -> None:
    seen: list[str] = []

    def counted(design: Any, engine: Any) -> Any:
        seen.append(design.key)
        return simulate(design, engine)

    monkeypatch.setattr("dse.evaluate.evaluate.simulate", counted)
    record, folder = study
    answers = answer_what_if(record, folder, allowed)
    assert len(seen) <= allowed
    assert len(answers.steps) + answers.left_out == len(record.front)
    if not allowed:
        assert (answers.steps, answers.batches, answers.note) == ({}, {}, "No simulation was allowed.")


def test_other_batches_are_those_of_the_changed_document(study: tuple[StudyRecord, Path]) -> None:
    record, folder = study
    answers = answer_what_if(record, folder)
    space, _ = open_space(str(folder / "study.yaml"))
    evaluate = Evaluator(space.objectives, space.constraints, "fast")
    for trial in record.front:
        half, double = answers.batches[trial.number]
        assert (half.batch, double.batch) == (8, 32)
        for at in (half, double):
            document = json.loads(json.dumps(trial.design))
            document["workload"]["global_batch"] = int(at.batch)
            outcome = evaluate(document)
            assert at.values == (outcome.values if outcome.state == "feasible" else {})
            assert bool(at.why) == (outcome.state != "feasible")
            assert not (at.why and at.stays)


def made(number: int, time: float, cost: float, batch: int = 8) -> TrialRecord:
    values = {"iteration_time": time, "cost.total": cost}
    return TrialRecord(number, "feasible", values, {}, {}, {"number": number, "workload": {"global_batch": batch}})


def recorded(*trials: TrialRecord) -> StudyRecord:
    return StudyRecord("made", (TIME, COST), trials, {}, "random", 0, {})


def answering(values: Mapping[tuple[int, int], tuple[float, float] | str]) -> Any:
    """A simulator that knows (trial, batch) -> time and cost, or what is broken."""

    def simulate_it(document: Mapping[str, Any]) -> Outcome:
        known = values[(document["number"], document["workload"]["global_batch"])]
        if isinstance(known, str):
            return Outcome("", "cut", {"iteration_time": 0.0, "cost.total": 0.0}, {}, {}, cut_by=known)
        return Outcome("", "feasible", dict(zip(("iteration_time", "cost.total"), known, strict=True)), {}, {}, {})

    return simulate_it


def edited(trial: TrialRecord, batch: int) -> dict[str, Any]:
    return {**(trial.design or {}), "workload": {"global_batch": batch}}


def test_a_member_stays_where_no_design_that_runs_dominates_it() -> None:
    first, second, rival = made(0, 1.0, 3.0), made(1, 2.0, 2.0), made(2, 2.1, 2.0)
    known = {(0, 4): (0.5, 3.0), (1, 4): (1.5, 2.0), (2, 4): (1.4, 2.0), (0, 16): "fits", (1, 16): (4.0, 2.0)}
    found = run_at_batches(
        recorded(first, second, rival), [first, second], [rival], answering({**known, (2, 16): "fits"}), edited
    )
    assert [(at.factor, at.stays, at.why) for at in found[0]] == [(0.5, True, ""), (2.0, False, "does not fit")]
    assert [(at.factor, at.stays) for at in found[1]] == [(0.5, False), (2.0, True)]
    assert found[0][1].values == {}


def test_an_odd_batch_cannot_be_halved_and_a_workload_without_one_is_not_asked() -> None:
    odd, none = (
        made(0, 1.0, 3.0, batch=7),
        replace(made(1, 2.0, 2.0), design={"workload": {"collective": "all_reduce"}}),
    )
    found = run_at_batches(recorded(odd, none), [odd, none], [], answering({(0, 14): (2.0, 3.0)}), edited)
    assert list(found) == [0]
    assert [(at.batch, at.why) for at in found[0]] == [(3.5, "a batch of 7 cannot be halved"), (14, "")]


def test_what_follows_from_the_batch_follows_from_the_new_one() -> None:
    """A table of layers has a whole share of its batch as its microbatch; an expression names the batch."""
    document: dict[str, Any] = {
        "workload": {"model": "resnet-50", "global_batch": {"choice": [1024, 2048]}, "precision": "fp16"},
        "cluster": yaml.safe_load(TINY)["cluster"],
        "system": {"chunks": {"expr": "workload.global_batch // 128"}},
    }
    space = space_from(parse_document(yaml.safe_dump(document, sort_keys=False), "space"), "resnet")
    filled = next(space.enumerate())
    design, _ = parse_design(filled.document)
    assert design is not None
    trial = TrialRecord(0, "feasible", {}, filled.params, {}, design.document())
    assert (trial.design or {})["parallelism"]["microbatch"] == 1024 // 8
    then, problems = parse_design(rewrite_batch(space, trial, 512))
    assert then is not None, problems
    found = then.document()
    assert (found["workload"]["global_batch"], found["system"]["chunks"]) == (512, 4)
    assert found["parallelism"]["microbatch"] == 512 // 8


def test_microbatches_that_do_not_fill_another_batch_are_smaller_ones() -> None:
    document = yaml.safe_load(TINY) | {"parallelism": {"microbatch": 4}}
    space = space_from(parse_document(yaml.safe_dump(document, sort_keys=False), "space"), "tiny")
    filled = space.fill(FixedDraw())
    design, _ = parse_design(filled.document)
    assert design is not None
    trial = TrialRecord(0, "feasible", {}, filled.params, {}, design.document())
    data = design.data
    for batch, microbatch in ((4 * data, 4), (2 * data, 2), (6 * data, 2), (data, 1), (data + 1, 4)):
        assert rewrite_batch(space, trial, batch)["parallelism"]["microbatch"] == microbatch


@pytest.mark.parametrize(("microbatch", "then"), [(8, 16), (4, 4)])
def test_a_microbatch_of_all_requests_of_a_copy_goes_with_the_batch(microbatch: int, then: int) -> None:
    served = {"model": "llama3-8b", "prompt_length": 512, "output_length": 16, "global_batch": {"choice": [64, 32]}}
    document = {
        "workload": served,
        "parallelism": {"microbatch": microbatch},
        "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 8},
        "objectives": {"minimize": ["iteration_time"]},
    }
    space = space_from(parse_document(yaml.safe_dump(document, sort_keys=False), "space"), "served")
    filled = space.fill(FixedDraw())
    design, _ = parse_design(filled.document)
    assert design is not None
    trial = TrialRecord(0, "feasible", {}, filled.params, {}, design.document())
    assert rewrite_batch(space, trial, 128)["parallelism"]["microbatch"] == then


@pytest.mark.parametrize("fixed", [16, {"choice": [16]}])
def test_tokens_at_another_batch_are_those_of_a_training_at_the_trials_own(fixed: Any) -> None:
    section = {**yaml.safe_load(TINY)["workload"], "global_batch": fixed, "training_tokens": 3e9}
    document = yaml.safe_load(TINY) | {"workload": section}
    space = space_from(parse_document(yaml.safe_dump(document, sort_keys=False), "space"), "tiny")
    filled = space.fill(FixedDraw())
    design, _ = parse_design(filled.document)
    assert design is not None
    trial = TrialRecord(0, "feasible", {}, filled.params, {}, design.document())
    then, problems = parse_design(rewrite_batch(space, trial, 16384))
    assert then is not None, problems
    assert then.workload.tokens_to_train is not None
    assert then.workload.tokens_to_train > 1.5 * 3e9
    same, _ = parse_design(rewrite_batch(space, trial, 16))
    assert same is not None
    assert same.workload.tokens_to_train == pytest.approx(3e9, rel=1e-12)


def test_rivals_are_the_dominated_designs_nearest_to_the_front() -> None:
    front = [made(0, 1.0, 3.0), made(1, 3.0, 1.0)]
    others = [made(2, 4.0, 4.0), made(3, 3.1, 1.1), made(4, 1.0, 3.5), made(5, 9.0, 9.0)]
    record = recorded(*front, *others)
    assert [trial.number for trial in rivals(record, 3)] == [4, 3, 2]
    assert rivals(record, 0) == ()


def test_only_the_fast_engine_is_asked_unbidden_and_none_that_a_file_names(
    study: tuple[StudyRecord, Path], tmp_path: Path
) -> None:
    record, folder = study
    text = (folder / "study.yaml").read_text()
    (tmp_path / "study.yaml").write_text(text.replace("engine: auto", "engine: reference"))
    assert "only on request" in answer_what_if(record, tmp_path).note
    assert answer_what_if(record, tmp_path, 4).batches
    (tmp_path / "study.yaml").write_text(text.replace("engine: auto", "engine: os:getcwd"))
    assert "does not run the engine 'os:getcwd'" in answer_what_if(record, tmp_path, 60).note


def test_steps_of_a_solved_split_count_the_simulations_of_its_solver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = yaml.safe_load(TINY)["cluster"]
    for dimension in cluster["dimensions"]:
        del dimension["bandwidth"]
    solved = {**cluster, "npu": "a100-80gb", "bandwidth": {"split": "200 GB/s", "step": "1 GB/s", "solve": True}}
    record = run(tmp_path / "run", 4, cluster=solved)
    assert answer_what_if(record, tmp_path / "run", 40).left_out == len(record.front)
    assert answer_what_if(record, tmp_path / "run", 200).steps


def test_reports_hold_the_answers(study: tuple[StudyRecord, Path]) -> None:
    record, folder = study
    summary = summarize(record, answer_what_if(record, folder))
    document = json.loads(pareto_json(record, summary))
    member = document["front"][0]
    assert {at["factor"] for at in member["robustness"]["batches"]} == {0.5, 2.0}
    assert set(member["steps"][0]) == {"moved", "before", "after", "state", "why", "loss"}
    assert document["what_if"] == {
        "simulations": 200,
        "left_out": 0,
        "rivals": summary.what_if.rivals,
        "sizes": {},
        "note": None,
    }
    assert "robust: batch x0.5" in csv_text(pareto_table(record, summary))
    page = report_html(record, summary)
    assert "Sensitivity: one step from each design" in page
    assert "half the batch" in page
    assert report_html(record, summarize(record, answer_what_if(record, folder))) == page


def test_the_design_to_build_is_compared_however_far_it_is_behind(
    study: tuple[StudyRecord, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    record, folder = study
    monkeypatch.setattr("dse.whatif.ask.CONTENDERS", 0)
    monkeypatch.setattr("dse.whatif.scenarios.CONTENDERS", 0)
    opened = open_study(folder)
    asked: list[WhatIf] = []

    def answers(built: TrialRecord | None) -> WhatIf:
        def choose(found: WhatIf) -> TrialRecord | None:
            asked.append(found)
            return built

        return answers_about(record, opened.space, opened.engine, choose=choose)

    behind = max(record.feasible_trials, key=lambda trial: trial.values["iteration_time"] * trial.values["cost.total"])
    without, of_front, found = answers(None), answers(record.front[0]), answers(behind)
    assert without == replace(of_front, usual=()) == asked[0] == asked[2]
    assert len(asked) == 5  # once more by what a design that is to be built is compared with
    assert asked[4].scenarios == found.scenarios
    assert without.scenarios is not None
    assert found.scenarios is not None
    assert behind.number not in without.scenarios.known
    assert {*found.scenarios.known} == {*without.scenarios.known, behind.number}
