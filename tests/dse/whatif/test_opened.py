"""Settings that a space of experts leaves out: what the best design with all of them gains, in other degrees too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from asked_studies import ask_about_all

from dse.whatif.answers import WhatIf
from simcore.check.load import design_from
from simcore.simulate import simulate

SPACE: dict[str, Any] = {
    "workload": {"model": "deepseek-v3", "global_batch": 1024, "sequence_length": 4096, "precision": "bf16"},
    "cluster": {"npu": "b200", "fabric": "dgx-b200", "npus": 512},
    "objectives": {"minimize": ["iteration_time"]},
}
HELD = {
    "degrees": {
        "product": 512,
        "of": ["tensor", "pipeline", "data"],
        "limits": {"tensor": [2, 4], "pipeline": [8, 16]},
    },
    "expert": {"choice": [8, 16]},
    "zero": 1,
    "recompute": {"choice": ["none", "full"]},
    "sequence_parallel": True,
}


def answers(tmp_path: Path, **parallelism: Any) -> tuple[WhatIf, list[str], dict[str, Any]]:
    """Of every design of the space: the answers, what the decision says of the settings, and the design to build."""
    answer, sentences, built = ask_about_all({**SPACE, "parallelism": {**HELD, **parallelism}}, tmp_path / "run")
    return answer, [one for one in sentences if "The best found with" in one], built


def test_the_best_design_with_them_is_told_by_what_it_gains(tmp_path: Path) -> None:
    answer, (told,), built = answers(tmp_path)
    found = answer.opened
    assert found is not None
    assert found.design is not None
    before, after = (simulate(design_from(document)).iteration_time_s for document in (built, found.design))
    assert found.loss["iteration_time"] == pytest.approx(after / before - 1)
    assert found.loss["iteration_time"] <= -0.02
    assert found.settings["stages"] == {"solve": True}
    left_out = f"'expert_tensor: 1', 'stages: {{solve: true}}' and 'interleave: {found.settings['interleave']}'"
    assert told.startswith(f"The space leaves out {left_out}. The best found with")
    assert f"has time \N{MINUS SIGN}{-100 * found.loss['iteration_time']:.2g} %." in told


def test_exchanges_beside_computation_are_looked_at_where_virtual_stages_need_solved_ones(tmp_path: Path) -> None:
    both = {"interleave": {"choice": [1, 2]}, "expert_overlap": {"choice": [False, True]}}
    answer, (told,), built = answers(tmp_path, **both)
    found = answer.opened
    assert found is not None
    assert found.design is not None
    assert built["parallelism"]["interleave"] == 1  # 61 layers divide into no more
    assert found.design["parallelism"]["expert_overlap"]
    assert not {"interleave", "expert_overlap"} & {*found.settings}
    assert "expert exchanges beside computation" in told
    without, _, _ = answers(tmp_path / "without", **both | {"expert_overlap": False})
    assert without.opened is not None
    assert found.loss["iteration_time"] < without.opened.loss["iteration_time"]


def test_virtual_stages_are_not_told_as_left_out_where_the_space_has_them(tmp_path: Path) -> None:
    answer, (told,), _ = answers(tmp_path, interleave={"choice": [1, 2]})
    assert answer.opened is not None
    assert "interleave" not in answer.opened.settings
    assert told.startswith("The space leaves out 'expert_tensor: 1' and 'stages: {solve: true}'. The best found with")


def test_nothing_is_told_of_a_space_that_has_them(tmp_path: Path) -> None:
    all_of_them = {"expert_tensor": 1, "stages": {"solve": True}, "recompute": "solve"}
    answer, told, _ = answers(tmp_path, **all_of_them)
    assert (answer.opened, told) == (None, [])


def test_activations_shared_out_are_looked_at_with_the_degrees_that_they_make_room_for(tmp_path: Path) -> None:
    workload = {"model": "llama3-70b", "global_batch": 512, "sequence_length": 8192, "precision": "bf16"}
    degrees = {"product": 128, "of": ["tensor", "pipeline", "data"], "limits": {"tensor": [2, 4], "pipeline": [2, 4]}}
    asked = {"degrees": degrees, "zero": 1, "interleave": {"choice": [1, 2, 4, 5]}}
    space = {
        "workload": workload,
        "parallelism": asked,
        "cluster": {"npu": "b200", "fabric": "dgx-b200", "npus": 128},
        "objectives": {"minimize": ["iteration_time"]},
    }
    answer, sentences, built = ask_about_all(space, tmp_path / "run")
    found = answer.opened
    assert found is not None
    assert found.design is not None
    assert found.settings == {"sequence_parallel": True}
    before, after = ({k: d["parallelism"][k] for k in ("tensor", "pipeline")} for d in (built, found.design))
    assert before != after  # what is better with it does not fit without it
    assert found.fullness <= 1
    assert any(
        one.startswith("The space leaves out 'sequence_parallel: true'. The best found with it") for one in sentences
    )
    shared, _, _ = ask_about_all({**space, "parallelism": {**asked, "sequence_parallel": True}}, tmp_path / "shared")
    assert shared.opened is None
