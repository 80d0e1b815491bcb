"""`dse show`: one design of a run on a screen, as JSON, and as a document that simulates to the same numbers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from cli_runs import SPACE, write_space

from dse.cli import main
from dse.evaluate.record import StudyRecord
from dse.run.record import load_record

BOUGHT = """\
workloads:
  - name: small/one
    workload:
      model: {name: tiny, hidden: 256, layers: 8, heads: 8, vocabulary: 1000, sequence_length: 128}
      global_batch: 16
    parallelism: {degrees: {product: 8, of: [tensor, pipeline, data]}}
  - name: batch
    workload:
      model: {name: tiny, hidden: 256, layers: 8, heads: 8, vocabulary: 1000, sequence_length: 128}
      global_batch: 64
    parallelism: {degrees: {product: 8, of: [tensor, pipeline, data]}}
cluster:
  npu: {choice: [a100-80gb, v100-32gb]}
  dimensions:
    - {topology: switch, size: 4, bandwidth: 100 GB/s, latency: 700 ns, tier: node}
    - {topology: switch, size: 2, bandwidth: 25 GB/s, latency: 1.7 us, tier: pod}
system: {chunks: 4}
objectives: {minimize: [iteration_time, cost.total]}
study: {decide: [cluster], sampler: exhaustive}
"""
KEYS = {
    *("space", "trial", "names", "state", "why", "values", "intervals", "built", "on_front", "dominated_by"),
    *("sureness", "family", "neighbours", "violations", "params", "design", "metrics", "workloads"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a front of several designs; not to be written to."""
    folder = tmp_path_factory.mktemp("shown")
    text = SPACE.replace("[100 GB/s, 200 GB/s]", "[25 GB/s, 50 GB/s, 100 GB/s, 200 GB/s]").replace("nsga2", "guided")
    assert main(["optimize", str(write_space(folder, text)), "--out", str(folder / "run")]) == 0
    return folder / "run"


@pytest.fixture(scope="module")
def record(folder: Path) -> StudyRecord:
    return load_record(folder)


@pytest.fixture(scope="module")
def bought(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bought")
    (folder / "two.yaml").write_text(BOUGHT)
    assert main(["optimize", str(folder / "two.yaml"), "--out", str(folder / "run")]) == 0
    return folder / "run"


def shown(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["show", *map(str, arguments), "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def simulated(capsys: pytest.CaptureFixture[str], path: Path) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["simulate", str(path), "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_the_keys_of_the_document_are_those_that_the_help_names(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = shown(capsys, folder)
    assert set(document) == KEYS
    with pytest.raises(SystemExit):
        main(["show", "--help"])
    text = " ".join(capsys.readouterr().out.partition("--json prints {")[2].partition("}")[0].split())
    assert set(text.split(", ")) == KEYS


@pytest.mark.parametrize("trial", ["first", "last"])
def test_the_written_design_simulates_to_the_numbers_of_the_run(
    folder: Path, record: StudyRecord, trial: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    number = record.front[0 if trial == "first" else -1].number
    path = tmp_path / "design.yaml"
    document = shown(capsys, folder, number, "--design", path)
    assert simulated(capsys, path) == document["metrics"]


def test_each_workload_of_a_purchase_has_a_file_that_simulates_to_its_numbers(
    bought: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = shown(capsys, bought, "--design", tmp_path / "design.yaml")
    files = ["design-1-small-one.yaml", "design-2-batch.yaml"]
    assert sorted(path.name for path in tmp_path.iterdir()) == files
    for name, workload in zip(files, document["workloads"], strict=True):
        assert simulated(capsys, tmp_path / name) == workload["metrics"]


def test_the_screen_of_a_purchase_says_how_long_each_workload_takes(
    bought: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["show", str(bought)]) == 0
    out = capsys.readouterr().out
    assert "small/one: " in out
    assert "an iteration; tiny, batch 64" in " ".join(out.split())


def test_unless_told_the_knee_is_shown_with_the_values_of_the_journal(
    folder: Path, record: StudyRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    document, knee = shown(capsys, folder, "knee"), record.knee
    assert knee is not None
    assert document["trial"] == knee.number
    assert document["values"] == dict(knee.values)
    assert "knee" in document["names"]
    assert document["on_front"] is True


def test_the_screen_fits_80_columns_and_40_lines(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["show", str(folder), "knee"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    for part in ("where the time goes", "memory (fits)", "cost ", "network"):
        assert any(part in line for line in lines), part


def test_neighbours_are_the_next_better_designs_of_the_front(
    folder: Path, record: StudyRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    front = record.front
    assert len(front) >= 3
    document = shown(capsys, folder, front[1].number)
    found = {neighbour["better"]: neighbour for neighbour in document["neighbours"]}
    faster = found["iteration_time"]
    assert faster["trial"] == front[0].number
    time, before = front[0].values["iteration_time"], front[1].values["iteration_time"]
    assert faster["change"]["iteration_time"] == pytest.approx((time - before) / before)
    assert faster["differs"]


def test_a_dominated_design_names_one_that_is_better(
    folder: Path, record: StudyRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    members = {trial.number for trial in record.front}
    other = next(trial for trial in record.feasible_trials if trial.number not in members)
    document = shown(capsys, folder, other.number)
    better = next(trial for trial in record.front if trial.number == document["dominated_by"])
    assert all(better.values[name] <= value for name, value in other.values.items())
    assert (document["on_front"], document["family"], document["neighbours"]) == (False, None, [])


@pytest.mark.parametrize(
    ("constraints", "state", "said"),
    [
        (["tensor == 1"], "cut", "Cut before simulation by the rule"),
        (
            ["exposed_communication <= 1 us"],
            "infeasible",
            "Simulated, and infeasible: it misses exposed_communication <= 1 us",
        ),
    ],
)
def test_a_design_that_is_not_feasible_is_shown_with_the_reason(
    constraints: list[str], state: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = yaml.safe_load(BOUGHT)
    plain = {**document["workloads"][0], "cluster": document["cluster"], "system": document["system"]}
    del plain["name"]
    plain |= {"constraints": [c.replace("tensor ==", "parallelism.tensor ==") for c in constraints]}
    (tmp_path / "space.yaml").write_text(yaml.safe_dump(plain))
    main(
        [
            "optimize",
            str(tmp_path / "space.yaml"),
            "--trials",
            "6",
            "--sampler",
            "random",
            "--out",
            str(tmp_path / "run"),
        ]
    )
    trial = next(trial for trial in load_record(tmp_path / "run").trials if trial.state == state)
    capsys.readouterr()
    assert main(["show", str(tmp_path / "run"), str(trial.number)]) == 0
    assert said in " ".join(capsys.readouterr().out.split())
    assert shown(capsys, tmp_path / "run", trial.number)["why"].startswith(said.split(" by ")[0])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["999"], "expected the number of a trial of this run, got 999; they run from 0 to 23"),
        (["nee"], "did you mean 'knee'?"),
        (["best:cost"], "did you mean 'cost."),
        (["knee", "--design", "/no/such/folder/design.yaml"], "make the folder first"),
    ],
)
def test_bad_input_ends_with_status_2_and_the_likely_fix(
    folder: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", str(folder), *arguments]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""


def test_a_folder_without_a_study_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(tmp_path)]) == 2
    assert "expected a run folder with a study.yaml" in capsys.readouterr().err


def test_a_run_of_another_engine_says_with_which_one_its_file_gives_its_numbers(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copied = shutil.copytree(folder, tmp_path / "run")
    study = (copied / "study.yaml").read_text().replace("engine: auto", "engine: reference")
    (copied / "study.yaml").write_text(study)
    assert main(["show", str(copied), "knee", "--design", str(tmp_path / "design.yaml")]) == 0
    assert "dse simulate with --engine reference" in capsys.readouterr().err
