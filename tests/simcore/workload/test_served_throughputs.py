"""Predictions of served models beside published throughputs, to which nothing was fitted."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "accuracy"))
from serving_section import Served, read_rows, served


def of_length(prompt: str, output: str, wanted: Callable[[dict[str, str]], bool]) -> list[Served]:
    rows = [row for row in read_rows() if (row["prompt"], row["output"]) == (prompt, output)]
    return [served(row) for row in rows if wanted(row)]


def is_dense(row: dict[str, str]) -> bool:
    return row["npu"] != "mi300x" and row["model"].startswith("llama3")


@pytest.mark.parametrize("model", ["llama3-8b", "llama3-70b", "llama3-405b"])
def test_published_throughputs_of_dense_models_are_met(model: str) -> None:
    known = of_length("1000", "1000", lambda row: is_dense(row) and row["model"] == model)
    assert len(known) == (2 if model == "llama3-8b" else 4)
    found = [one.predicted for one in known]
    assert min(found) > 0.85
    assert max(found) < 1.25
    assert 0.9 < median(found) < 1.15
    assert all(one.inside for one in known)


def test_published_throughputs_of_long_outputs_are_met() -> None:
    known = of_length("128", "4096", lambda row: row["model"] == "llama3-8b")
    assert len(known) == 2
    assert all(0.8 < one.predicted < 1.15 for one in known)


def test_mixtures_and_devices_without_measured_kernels_are_inside_their_intervals() -> None:
    known = of_length("1000", "1000", lambda row: "qwen" in row["model"])
    known += of_length("128", "128", lambda row: row["npu"] == "mi300x")
    assert len(known) == 5 + 9
    assert sum(one.inside for one in known) >= 0.9 * len(known)
    hopper = [one.predicted for one in known if one.row["npu"] in ("h100-80gb", "h200")]
    assert all(0.7 < predicted < 1.4 for predicted in hopper)
    assert max(one.predicted for one in known) > 1.3  # on Blackwell too fast, and said so
