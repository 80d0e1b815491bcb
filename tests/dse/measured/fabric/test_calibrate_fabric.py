"""`dse calibrate-fabric`: from logs to a fabric that a design names; nothing is written where anything is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from nccl_logs import log, measured, write_logs

from dse.cli import main
from simcore.check.load import load_design
from simcore.simulate import simulate

DESIGN = """
workload: {collective: all_reduce, size: 512 MiB}
cluster: {npu: h100-80gb, fabric: fabric.yaml, npus: 8}
"""


def test_a_fabric_is_fitted_written_and_named_by_a_design(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs = write_logs(tmp_path, "h100-80gb", ["all_reduce", "alltoall"], [2, 4, 8])
    out = tmp_path / "fabric.yaml"
    assert main(["calibrate-fabric", *map(str, logs), "--base", "dgx-h100", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "sizes left out" in said
    assert "all_to_all" in said
    written = yaml.safe_load(out.read_text())
    assert "61 times of all_reduce, all_to_all on 2, 4, 8 GPUs" in written["source"]
    assert [d["bandwidth"] for d in written["dimensions"]] == ["450 GB/s", "50 GB/s"]
    assert written["dimensions"][1]["efficiency"] == 0.74
    (tmp_path / "design.yaml").write_text(DESIGN)
    design = load_design(tmp_path / "design.yaml")
    assert 1e6 * simulate(design).iteration_time_s == pytest.approx(
        dict(measured("h100-80gb", "all_reduce", 8))[512 << 20], rel=0.1
    )
    again = tmp_path / "again.yaml"  # a fabric that was written is a base
    assert main(["calibrate-fabric", str(logs[0]), "--base", str(out), "--out", str(again)]) == 0


def test_logs_of_several_nodes_fit_what_is_between_them(tmp_path: Path) -> None:
    times = [(1 << power, 200 + (1 << power) / 200e3) for power in range(18, 32, 2)]
    path = tmp_path / "nodes.log"
    path.write_text(log("all_reduce", [f"node{rank // 8}" for rank in range(32)], times))
    out = tmp_path / "fabric.yaml"
    assert main(["calibrate-fabric", str(path), "--base", "dgx-b200", "--out", str(out)]) == 0
    inner, outer = yaml.safe_load(out.read_text())["dimensions"]
    assert inner["library"]["name"] == "nccl-blackwell"  # as the base has it
    assert list(outer["library"]) == ["all_reduce"]
    assert outer["efficiency"] != 0.74


def test_everything_wrong_is_said_at_once_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.log").write_text("# nThread 1 nGpus 8\n")
    logs = [str(tmp_path / "bad.log"), str(tmp_path / "none.log")]
    out = tmp_path / "fabric.txt"
    assert main(["calibrate-fabric", *logs, "--base", "dgx-h10", "--out", str(out), "--gpus-per-node", "0"]) == 2
    said = capsys.readouterr().err
    for part in (
        "--out: expected a .yaml file",
        "--base: expected a fabric",
        "did you mean 'dgx-h100'",
        "none.log",
        "--gpus-per-node: expected a number above 0",
        "the name of one program",
    ):
        assert part in said
    assert not out.exists()


@pytest.mark.parametrize(
    ("base", "hosts", "found"),
    [
        ("dgx-h100", ["a"] * 16, "at most 8 GPUs a node, as the base has"),
        ("tpu-v4-pod", ["a"] * 8, "a fabric of a node, with its size, and at most one dimension between nodes"),
        ("dgx-h100", ["a"] * 8, "or more measurements inside a node, got 1"),
    ],
)
def test_a_base_that_does_not_fit_and_too_few_rows_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], base: str, hosts: list[str], found: str
) -> None:
    (tmp_path / "a.log").write_text(log("all_reduce", hosts, [(1 << 20, 40.0)]))
    out = tmp_path / "fabric.yaml"
    assert main(["calibrate-fabric", str(tmp_path / "a.log"), "--base", base, "--out", str(out)]) == 2
    assert found in capsys.readouterr().err
    assert not out.exists()
