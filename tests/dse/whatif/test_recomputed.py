"""A design that recomputes all its layers in an emptier memory than it has to: what recomputing fewer would give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from dse.report.decision import describe_decision
from dse.report.summary import summarize
from dse.run.document import open_study
from dse.run.drive import optimize
from dse.run.record import load_record
from dse.run.settings import Settings
from dse.space.space import space_from
from dse.whatif.answers import WhatIf
from dse.whatif.ask import answers_about
from dse.whatif.recomputed import FULL
from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.document.text import parse_document
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
    space = space_from(parse_document(yaml.safe_dump(document, sort_keys=False), "space"), "recomputed")
    optimize(space, Settings(sampler="exhaustive", trials=100, seed=0), tmp_path / "run", resume=False)
    record = load_record(tmp_path / "run")
    study = open_study(tmp_path / "run")
    answer = answers_about(record, study.space, study.engine, choose=lambda _: record.front[0])
    decision = describe_decision(record, summarize(record, answer))
    built = record.trials.numbered(decision.trial or 0)
    assert built is not None
    return answer, [told for told in decision.sentences if "recompute_layers" in told], dict(built.design or {})


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
    assert found.fullness <= FULL
    assert found.recomputed == 1 or fullness(with_layers(found.recomputed - 1)) > FULL
    (said,) = told
    assert said.startswith("The space leaves out 'recompute_layers', how many layers of each virtual stage recompute. ")
    assert f"With {found.recomputed} of {found.layers} trial " in said


@pytest.mark.parametrize("recompute", [{"choice": ["full", "solve"]}, "none"])
def test_nothing_is_told_of_a_space_that_solves_it_or_recomputes_nothing(tmp_path: Path, recompute: Any) -> None:
    answer, told, _ = answers(tmp_path, recompute=recompute)
    assert (answer.recomputed, told) == (None, [])
