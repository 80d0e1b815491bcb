"""`dse model`: what it prints of a configuration, of a document's model, of the catalogue, and of what is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dse.cli import main

CONFIGS = Path(__file__).parents[1] / "simcore" / "workload" / "data" / "configs"


def run(*arguments: str) -> int:
    return main(list(arguments))


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert run("model", *arguments, "--json") == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_a_configuration_is_counted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = document(capsys, str(CONFIGS / "llama-3-8b.json"))
    assert found["parameters"] == found["active_parameters"] == 8_030_261_248
    assert (found["bytes"], found["dtype"], found["not_modelled"]) == (16_060_522_496, "bfloat16", [])
    # 2 FLOPs a number in matrices but the embedding, and 2 s h a layer for the half of the scores
    matrices = 8_030_261_248 - 128_256 * 4096 - 65 * 4096
    assert found["flops_per_token"] == 2 * matrices + 32 * 2 * 4096 * 4096
    (tmp_path / "config.json").write_text((CONFIGS / "llama-3-8b.json").read_text())
    assert document(capsys, str(tmp_path))["parameters"] == found["parameters"]
    assert document(capsys, "llama3-8b")["flops_per_token"] == found["flops_per_token"]


def test_the_sequence_can_be_given_and_what_is_not_modelled_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    short, long = (
        document(capsys, str(CONFIGS / "gpt-oss-20b.json"), "--sequence-length", n) for n in ("128", "65536")
    )
    assert float(str(long["flops_per_token"])) > float(str(short["flops_per_token"]))
    assert long["cache_bytes"] == 2 * 2 * 8 * 64 * (12 * 65536 + 12 * 128)
    assert short["not_modelled"] == ["quantization_config: bytes are those of the dtype"]
    assert run("model", str(CONFIGS / "gpt-oss-20b.json")) == 0
    printed = capsys.readouterr().out
    assert "20,914,757,184" in printed
    assert "not modelled: quantization_config" in printed


def test_a_models_yaml_is_counted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("base: llama3-8b\nlayers: 16\n")
    found = document(capsys, str(tmp_path / "mine.yaml"))
    assert found["parameters"] == (8_030_261_248 - 2 * 128_256 * 4096 - 4096) // 2 + 2 * 128_256 * 4096 + 4096
    (tmp_path / "mine.yaml").write_text("hidden: 64\nheads: 0\n")
    assert run("model", str(tmp_path / "mine.yaml")) == 2
    assert "line 2: heads" in capsys.readouterr().err


@pytest.mark.parametrize("text", ['{"model_type": "llama"', '{"model_type": "nemotron_h"}', '{"model_type": "llama"}'])
def test_what_is_no_model_is_one_message(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    assert run("model", str(tmp_path)) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"dse model: {tmp_path / 'config.json'}: ")


def test_a_name_that_nobody_has_is_told_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("model", "lama3-8b") == 2
    assert "did you mean 'llama3-8b'?" in capsys.readouterr().err
