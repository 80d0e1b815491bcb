"""`dse days`: the days of a training, played; what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dse.cli import main

DESIGN = """
workload: {model: llama3-8b, global_batch: 1024, precision: bf16}
parallelism: {tensor: 2, zero: 1}
cluster: {fabric: dgx-h100, npu: h100-80gb, npus: 1024}
reliability: {base: llama3, checkpoint: {interval: 30 min}}
"""


@pytest.fixture
def design(tmp_path: Path) -> str:
    path = tmp_path / "design.yaml"
    path.write_text(DESIGN, encoding="utf-8")
    return str(path)


def test_the_days_of_a_training_are_played_and_told(design: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["days", design, "--days", "60", "--intervals"]) == 0
    shown = capsys.readouterr().out
    for said in ("60 days on 1,024 NPUs: goodput", "work that lasts", "NPUs", "best", "by Young"):
        assert said in shown
    assert max(map(len, shown.splitlines())) <= 110


def test_as_json_the_same_seed_gives_the_same_days(design: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = []
    for seed in ("7", "7", "8"):
        assert main(["days", design, "--days", "200", "--seed", seed, "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1] != found[2]
    one = found[0]
    assert sum(one["spent_s"].values()) == pytest.approx(200 * 86400, rel=1e-9)
    assert one["goodput"]["played"] == pytest.approx(one["goodput"]["closed"], abs=6 * one["goodput"]["error"] + 0.01)
    expected = sum(piece["failures"] for piece in one["pieces"])
    assert expected == pytest.approx(200 * 86400 / one["mtbf_s"], rel=1e-9)
    assert one["failures"] == pytest.approx(expected, rel=0.5)
    assert one["interval_s"]["used"] == 1800.0
    assert one["interval_s"]["by_simulation"] is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--set", "reliability=none"], "reliability: expected something that fails"),
        (["--days", "0"], "expected a number of days above 0"),
        (["--days", "many"], "expected a number of days above 0"),
        (["--set", "reliability.mtbf.npu=-3 h"], "reliability.mtbf.npu: expected greater than 0"),
    ],
)
def test_what_cannot_be_played_is_refused(
    arguments: list[str], said: str, design: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = main(["days", design, *arguments])
    except SystemExit as ended:
        status = int(str(ended.code))
    assert status == 2
    assert said in capsys.readouterr().err


def test_of_one_job_on_a_part_of_the_cluster_its_own_npus_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = "{name: a, workload: {model: llama3-8b, global_batch: 64, precision: bf16}, npus: 32}"
    path = tmp_path / "jobs.yaml"
    rest = "cluster: {fabric: dgx-h100, npu: h100-80gb, npus: 64}\nreliability: llama3\n"
    path.write_text(f"jobs: [{job}]\n{rest}", encoding="utf-8")
    assert main(["days", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["npus"] == 32
    assert main(["simulate", str(path), "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["jobs"]
    assert found["goodput"]["closed"] == pytest.approx(told["goodput"], rel=1e-9)
    path.write_text(f"jobs: [{job}, {job.replace('name: a', 'name: b')}]\n{rest}", encoding="utf-8")
    assert main(["days", str(path)]) == 2
    assert "expected a design of one job, got 2 jobs" in capsys.readouterr().err
