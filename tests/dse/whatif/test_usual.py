"""Usual settings that a space leaves out: told with what the design to build gains by them, where it gains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from asked_studies import ask_about_all

from dse.whatif.answers import WhatIf
from simcore.check.load import design_from
from simcore.simulate import simulate

SPACE: dict[str, Any] = {
    "workload": {"model": "llama3-70b", "global_batch": 128, "sequence_length": 4096, "precision": "bf16"},
    "cluster": {"npu": "h200", "fabric": "dgx-h100", "npus": 128},
    "objectives": {"minimize": ["iteration_time"]},
}


def answers(tmp_path: Path, sequence: int = 4096, **parallelism: Any) -> tuple[WhatIf, list[str], dict[str, Any]]:
    """Of the one design of the space: the answers, what the decision says of the space, and the design."""
    workload = {**SPACE["workload"], "sequence_length": sequence}
    document = {**SPACE, "workload": workload, "parallelism": {**parallelism, "microbatch": {"choice": [1, 2]}}}
    answer, sentences, built = ask_about_all(document, tmp_path / "run")
    return answer, [one for one in sentences if one.startswith("The space leaves out")], built


def test_what_the_design_gains_by_each_is_told(tmp_path: Path) -> None:
    answer, (told,), built = answers(tmp_path, tensor=8, pipeline=4)
    found = {one.key: one for one in answer.usual}
    assert found.keys() == {"zero", "interleave"}
    before = simulate(design_from(built)).iteration_time_s
    for key, one in found.items():
        other = {**built, "parallelism": {**built["parallelism"], key: one.value}}
        gain = simulate(design_from(other)).iteration_time_s / before - 1
        assert one.loss["iteration_time"] == pytest.approx(gain)
        assert gain <= -0.02
    assert "'zero: 1' (trial " in told
    assert "'interleave: 2' (trial " in told


def test_recomputing_nothing_is_told_where_the_space_only_recomputes_a_fused_attention(tmp_path: Path) -> None:
    held = {"tensor": 8, "pipeline": 4, "interleave": 2, "sequence_parallel": True}
    answer, (told,), _ = answers(tmp_path / "without", 16384, **held, recompute={"choice": ["selective", "full"]})
    assert [(one.key, one.value) for one in answer.usual] == [("recompute", "none")]
    assert "'recompute: none' (trial " in told
    answer, told_of_none, _ = answers(tmp_path / "with", 16384, **held, recompute={"choice": ["none", "full"]})
    assert (answer.usual, told_of_none) == ((), [])


def test_nothing_is_told_of_settings_that_the_space_has_or_that_gain_nothing(tmp_path: Path) -> None:
    answer, told, _ = answers(tmp_path, tensor=8, pipeline=4, interleave=2, sequence_parallel=True)
    assert (answer.usual, told) == ((), [])
