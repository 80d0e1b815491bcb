"""`dse export`: a design of a run, or of a document, as what a program that trains is given."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml
from cli_runs import SPACE, write_space

from dse.cli import main

DESIGN = {
    "workload": {"model": "llama3-8b", "global_batch": 64, "sequence_length": 8192, "precision": "bf16"},
    "parallelism": {"tensor": 2, "zero": 1, "sequence_parallel": True},
    "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 16},
}


@pytest.fixture
def design(tmp_path: Path) -> Path:
    path = tmp_path / "design.yaml"
    path.write_text(yaml.safe_dump(DESIGN))
    return path


def test_the_script_alone_is_on_stdout(design: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(design), "--for", "megatron"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("#!/usr/bin/env bash\n# 16 NPUs of h100-80gb: tensor 2")
    assert printed.out.endswith('"$@"\n')
    assert "not expressed" not in printed.err


def test_a_written_script_can_be_run_and_says_what_is_left_out(
    design: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = design.parent / "launch.sh"
    assert main(["export", str(design), "--for", "torchtitan", "--out", str(out)]) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert os.access(out, os.X_OK)
    assert "parallelism.zero: the design has 1, what is written runs 3" in printed.err


def test_json_has_the_file_and_what_is_left_out(design: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(design), "--for", "deepspeed", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert json.loads(document["text"])["zero_optimization"]["stage"] == 1
    unsaid = {entry["path"] for entry in document["unsaid"]}
    assert unsaid == {"parallelism.sequence_parallel", "parallelism.data_overlap"}  # not in ZeRO-1 of DeepSpeed
    assert document["notes"]


def test_a_trial_of_a_run_is_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["optimize", str(write_space(tmp_path, SPACE)), "--out", str(tmp_path / "run")]) == 0
    capsys.readouterr()
    assert main(["export", str(tmp_path / "run"), "best:iteration_time", "--for", "megatron"]) == 0
    assert "pretrain_gpt.py" in capsys.readouterr().out
    assert main(["export", str(tmp_path / "run"), "999999", "--for", "megatron"]) == 2
    assert "trial" in capsys.readouterr().err


@pytest.mark.parametrize("pick", [[], ["robust"], ["knee"]])
def test_what_is_exported_is_what_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str], pick: list[str]) -> None:
    run = str(tmp_path / "run")
    assert main(["optimize", str(write_space(tmp_path, SPACE)), "--out", run]) == 0
    capsys.readouterr()
    assert main(["show", run, *pick, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert main(["export", run, *pick, "--for", "megatron"]) == 0
    assert f"trial {shown['trial']} of {run}\n" in capsys.readouterr().err


def test_what_cannot_be_exported_is_one_message(design: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = design.parent / "never.sh"
    assert main(["export", str(design), "3", "--for", "megatron", "--out", str(out)]) == 2
    assert "none beside a design document" in capsys.readouterr().err
    design.write_text(
        yaml.safe_dump({**DESIGN, "workload": {**DESIGN["workload"], "model": "llama2-7b", "sequence_length": 4096}})
    )
    assert main(["export", str(design), "--for", "torchtitan", "--out", str(out)]) == 2
    assert "one of TorchTitan's" in capsys.readouterr().err
    assert not out.exists()
