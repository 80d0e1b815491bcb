"""A design that recomputes all its layers in an emptier memory than it has to: what recomputing fewer would give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from asked_studies import ask_about_all

from dse.whatif.answers import WhatIf
from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.layout.solve import NEARLY_FULL
from simcore.memory.plan import memory_needed
from simcore.metrics import BEFORE, metrics_before
from simcore.simulate import simulate

SPACE: dict[str, Any] = {
    "workload": {"model": "llama3-70b", "global_batch": 256, "sequence_length": 8192, "precision": "bf16"},
    "parallelism": {"tensor": 8, "pipeline": {"choice": [2, 4]}, "zero": 1, "sequence_parallel": True},
    "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 128},
    "objectives": {"minimize": ["iteration_time"]},
}


def answers(tmp_path: Path, **parallelism: Any) -> tuple[WhatIf, list[str], dict[str, Any]]:
    """Of every design of the space: the answers, what the decision says of them, and the design to build."""
    document = {**SPACE, "parallelism": {**SPACE["parallelism"], **parallelism}}
    answer, sentences, built = ask_about_all(document, tmp_path / "run")
    return answer, [one for one in sentences if "recompute_layers" in one], built


def test_it_is_told_by_how_much_the_design_to_build_is_better(tmp_path: Path) -> None:
    answer, told, built = answers(tmp_path, recompute="full")
    found = answer.recomputed
    assert found is not None

    def with_layers(count: int) -> Design:
        return design_from({**built, "parallelism": {**built["parallelism"], "recompute_layers": count}})

    def fullness(design: Design) -> float:
        known = metrics_before(design, memory_needed(design), BEFORE)
        return (known["memory.reserved"] or 0.0) / (known["memory.capacity"] or 1.0)

    fewer = with_layers(found.recomputed)
    took, whole = simulate(fewer).iteration_time_s, simulate(design_from(built)).iteration_time_s
    assert found.loss["iteration_time"] == pytest.approx(took / whole - 1)
    assert found.fullness == pytest.approx(fullness(fewer))
    assert found.fullness <= NEARLY_FULL
    assert found.recomputed == 1 or fullness(with_layers(found.recomputed - 1)) > NEARLY_FULL
    (said,) = told
    assert said.startswith("The space leaves out 'recompute_layers', how many layers of each virtual stage recompute. ")
    assert f"With {found.recomputed} of {found.layers} trial " in said


@pytest.mark.parametrize("recompute", [{"choice": ["full", "solve"]}, "none"])
def test_nothing_is_told_of_a_space_that_solves_it_or_recomputes_nothing(tmp_path: Path, recompute: Any) -> None:
    answer, told, _ = answers(tmp_path, recompute=recompute)
    assert (answer.recomputed, told) == (None, [])
