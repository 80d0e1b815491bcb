"""Fewer layers that recompute: where the design to build has no room for them, other degrees may."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import report_studies as studies

from dse.evaluate.evaluate import Evaluator, Outcome
from dse.evaluate.record import TrialRecord
from dse.report.left_out import describe_recomputed
from dse.report.summary import summarize
from dse.space.objective import Objective
from dse.space.space import load_space
from dse.whatif.answers import NOTHING
from dse.whatif.recomputed import find_recomputation
from simcore.check.load import design_from
from simcore.simulate import simulate

OBJECTIVES = (Objective("iteration_time", "minimize", "s"),)
SHARED: dict[str, Any] = {"pipeline": 16, "interleave": 4, "recompute": "full", "zero": 1, "sequence_parallel": True}
DOCUMENT: dict[str, Any] = {
    "workload": {"model": "llama3-405b", "global_batch": 1024, "sequence_length": 8192, "precision": "bf16"},
    "parallelism": {**SHARED, "degrees": {"product": 128, "of": ["tensor", "data"]}},
    "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 2048},
    "objectives": {"minimize": ["iteration_time"]},
}
SPACE = load_space(DOCUMENT)


def evaluated(document: Any) -> Outcome:
    return Evaluator(OBJECTIVES, SPACE.constraints, "fast")(document)


def trial(number: int, tensor: int, data: int) -> TrialRecord:
    parallelism = {**SHARED, "tensor": tensor, "data": data}
    sections = {key: DOCUMENT[key] for key in ("workload", "cluster")}
    made = evaluated({**sections, "parallelism": parallelism})
    assert made.state == "feasible"
    return TrialRecord(number, "feasible", made.values, {}, made.violations, design=made.design, metrics=made.metrics)


def test_the_best_of_other_degrees_with_fewer_layers_is_told_against_the_design_to_build() -> None:
    built, other = trial(4, 4, 32), trial(7, 8, 16)
    assert built.values["iteration_time"] < other.values["iteration_time"]
    record = studies.record([built, other], objectives=OBJECTIVES)
    found = find_recomputation(record, SPACE, built, evaluated)
    assert found is not None
    assert (found.trial, found.built, found.recomputed) == (7, 4, 1)
    assert other.design is not None
    fewer = {**other.design, "parallelism": {**other.design["parallelism"], "recompute_layers": 1}}
    took = simulate(design_from(fewer)).iteration_time_s
    assert found.loss == {"iteration_time": pytest.approx(took / built.values["iteration_time"] - 1)}
    said = describe_recomputed(record, summarize(record, replace(NOTHING, recomputed=found)))
    assert f"With 1 of {found.layers} trial 7 (t8 p16 d16) has time −" in said
    assert "against trial 4, and its memory" in said
