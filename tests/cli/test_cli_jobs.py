"""Several jobs from a shell: simulated, searched, shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from dse.cli import main
from dse.evaluate.read import read_result
from dse.proof.certificate import proven_bounds
from dse.report.jobs import describe_nodes
from dse.space.space import load_space
from simcore.bounds.design import bound
from simcore.bounds.estimate import estimate
from simcore.check.load import load_design
from simcore.simulate import simulate

MODEL = {"name": "tiny", "hidden": 256, "layers": 2, "heads": 8, "vocabulary": 1000, "sequence_length": 128}
JOB = {"workload": {"model": MODEL, "global_batch": 16}, "parallelism": {"tensor": 2}}
CLUSTER = {
    "npu": "a100-80gb",
    "dimensions": [
        {"topology": "switch", "size": 2, "bandwidth": "300 GB/s", "latency": "700 ns"},
        {"topology": "clos", "size": 8, "leaf": 4, "oversubscription": 4, "bandwidth": "5 GB/s", "latency": "2 us"},
    ],
}
DESIGN: dict[str, Any] = {
    "jobs": [
        {"name": "a", **JOB, "npus": 8, "placement": "spread"},
        {"name": "b", **JOB, "npus": 8},
    ],
    "cluster": CLUSTER,
    "system": {"chunks": 2},
}
SPACE: dict[str, Any] = {
    **DESIGN,
    "jobs": [
        {**DESIGN["jobs"][0], "placement": {"choice": ["packed", "spread", "by_rail"]}, "npus": {"choice": [4, 8]}},
        {**DESIGN["jobs"][1], "npus": {"choice": [4, 8, 16]}},
    ],
    "objectives": {"minimize": ["iteration_time", "slowdown"], "maximize": "reserve"},
    "constraints": ["fits", "slowdown <= 4"],
}


def written(folder: Path, document: dict[str, Any]) -> str:
    path = folder / "jobs.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return str(path)


def test_a_table_of_jobs_fits_80_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["simulate", written(tmp_path, DESIGN)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    (row,) = [line.split() for line in lines if line.startswith("b ")]
    assert row[1:3] == ["8", "1,3,…7"]


def test_json_has_each_job_and_reads_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", written(tmp_path, DESIGN), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [job["name"] for job in document["jobs"]] == ["a", "b"]
    assert document["jobs"][0]["slowdown"] > 1
    assert read_result(document).jobs == simulate(load_design(DESIGN)).jobs


def test_a_path_into_a_job_is_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, DESIGN)
    assert main(["simulate", path, "--json", "--set", "jobs[0].placement=packed"]) == 0
    assert json.loads(capsys.readouterr().out)["jobs"][0]["nodes"] == [0, 1, 2, 3]


@pytest.mark.parametrize("arguments", [["--trace", "trace.json"], ["--chakra-out", "out"]])
def test_what_is_of_one_job_says_so(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    packed = {**DESIGN, "jobs": [{**job, "placement": "packed"} for job in DESIGN["jobs"]]}
    assert main(["simulate", written(tmp_path, packed), *arguments]) == 2
    assert "jobs: expected a design of one job, got 2 jobs" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["jobs.yaml"]


def test_jobs_are_searched_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(tmp_path / "run")
    assert main(["optimize", written(tmp_path, SPACE), "--out", run, "--sampler", "exhaustive"]) == 0
    found = json.loads((tmp_path / "run" / "pareto.json").read_text(encoding="utf-8"))
    assert found["evaluated"] == 18
    assert all(member["metrics"]["jobs"][0]["slowdown"] >= 1 for member in found["front"])
    assert {member["values"]["reserve"] for member in found["front"]} == {8.0, 0.0}
    assert min(member["values"]["slowdown"] for member in found["front"]) == 1.0
    capsys.readouterr()
    assert main(["show", run, "best:iteration_time"]) == 0
    out = capsys.readouterr().out
    assert "a on 8 NPUs, b on" in out
    assert "slowdown" in out
    trials = (tmp_path / "run" / "trials.csv").read_text(encoding="utf-8")
    assert "jobs fit the cluster" in trials  # 8 of rail and 16 NPUs are more than there are


def test_nothing_is_proven_of_several_jobs_in_a_space(tmp_path: Path) -> None:
    space = load_space(SPACE)
    assert set(proven_bounds(space, "auto").values()) == {None}


def test_no_job_is_faster_beside_others_than_its_bound_alone() -> None:
    for placement in ("packed", "spread", "by_rail"):
        jobs = [
            {**DESIGN["jobs"][0], "placement": placement, "parallelism": {}},
            {**DESIGN["jobs"][1], "parallelism": {}},
        ]
        design = load_design({**DESIGN, "jobs": jobs})
        least, near = bound(design)["iteration_time"], estimate(design)["iteration_time"]
        assert least is not None
        assert near is not None
        assert 0 < least <= simulate(design).iteration_time_s
        assert bound(design)["reserve"] == 0.0


def test_nodes_are_told_in_few_words() -> None:
    assert describe_nodes(range(8)) == "0-7"
    assert describe_nodes(range(0, 32, 4)) == "0,4,…28"
    assert describe_nodes((3, 9)) == "3,9"
    assert describe_nodes((0, 1, 4, 5, 8, 9, 12, 13)) == "0,1,4,5,8,9,…"


WHOLE: dict[str, Any] = {
    "jobs": [{"workload": {"model": "llama3-8b", "global_batch": 16, "sequence_length": 2048, "precision": "bf16"}}],
    "cluster": {
        "npu": "a100-80gb",
        "dimensions": [
            {"topology": "switch", "size": 4, "bandwidth": "300 GB/s", "latency": "700 ns", "tier": "pod"},
            {"topology": "switch", "size": 4, "bandwidth": "25 GB/s", "latency": "2 us", "tier": "pod"},
        ],
    },
}
WHOLE["jobs"][0] |= {"parallelism": {"tensor": 2, "zero": 1}, "npus": 16}
PLAIN = {**{key: WHOLE["jobs"][0][key] for key in ("workload", "parallelism")}, "cluster": WHOLE["cluster"]}


def test_a_lone_job_is_told_as_one_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", written(tmp_path, WHOLE)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("One job, engine fast.")
    assert "slowest" not in out
    assert "share" not in out


def test_a_lone_job_on_a_whole_cluster_is_explained_and_exported_as_a_plain_design(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = []
    for document in (WHOLE, PLAIN):
        path = written(tmp_path, document)
        assert main(["explain", path, "--simulations", "12", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert main(["export", path, "--for", "megatron"]) == 0
        steps = [(step["changes"][0]["text"], step["iteration_time_s"]) for step in found["steps"]]
        told.append((found["parts"], found["operators"], found["collectives"], steps, capsys.readouterr().out))
    assert told[0] == told[1]
    assert len(told[0][3]) == 12


def test_a_lone_job_is_traced_and_written_for_astra_sim(tmp_path: Path) -> None:
    path = written(tmp_path, WHOLE)
    assert main(["simulate", path, "--trace", str(tmp_path / "a.json"), "--chakra-out", str(tmp_path / "out")]) == 0
    spans = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["traceEvents"]
    assert main(["simulate", written(tmp_path, PLAIN), "--trace", str(tmp_path / "b.json")]) == 0
    assert spans == json.loads((tmp_path / "b.json").read_text(encoding="utf-8"))["traceEvents"]
    assert (tmp_path / "out" / "network.yml").exists()


def test_lone_jobs_are_compared_with_each_other_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = []
    other = {**WHOLE, "jobs": [{**WHOLE["jobs"][0], "parallelism": {"tensor": 4, "zero": 2}}]}
    for name, document in (("one", WHOLE), ("other", other), ("plain", PLAIN)):
        (tmp_path / name).mkdir()
        paths.append(written(tmp_path / name, document))
    assert main(["explain", paths[0], "--against", paths[1], "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {change["name"] for change in found["changes"]} == {"degrees", "zero"}
    assert main(["explain", paths[0], "--against", paths[2]]) == 2
    assert "jobs: expected in both designs, or in neither, got in one" in capsys.readouterr().err


def test_several_jobs_are_not_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", written(tmp_path, DESIGN)]) == 2
    assert "jobs: expected a design of one job, got 2 jobs" in capsys.readouterr().err
