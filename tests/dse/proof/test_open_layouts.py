"""Spaces whose designs have stages and recomputation solved for them: a choice among others, with bounds that hold."""

from __future__ import annotations

import json
from typing import Any

import pytest

import dse
from dse.proof.bound import space_bounds
from dse.proof.parts import Parts
from simcore.check.load import load_design
from simcore.simulate import simulate

SPACE: dict[str, Any] = {
    "workload": {
        "model": {
            "layers": 6, "hidden": 1024, "heads": 8, "vocabulary": 128_000, "sequence_length": 1024,
            "gated": True, "bias": False, "position": "rotary",
        },
        "global_batch": 16,
        "precision": "bf16",
    },
    "parallelism": {
        "degrees": {"product": 8, "of": ["tensor", "pipeline", "data"]},
        "recompute": {"choice": ["none", "solve"]},
        "stages": {"choice": [{"solve": True}, None]},
    },
    "cluster": {
        "npu": "a100-80gb",
        "dimensions": [
            {"topology": "switch", "size": 2, "bandwidth": "300 GB/s", "latency": "1 us", "tier": "node"},
            {"topology": "switch", "size": 4, "bandwidth": {"choice": ["5 GB/s", "50 GB/s"]}, "latency": "2 us"},
        ],
    },
    "objectives": {"minimize": ["iteration_time"]},
    "constraints": ["fits"],
    "hypothetical": True,
}  # fmt: skip


def space() -> dict[str, Any]:
    copied: dict[str, Any] = json.loads(json.dumps(SPACE))
    return copied


def test_a_job_whose_stages_are_solved_is_another_one_on_each_network() -> None:
    assert not Parts.of(dse.load_space(space())).separable
    given = space()
    given["parallelism"] |= {"stages": None, "recompute": "none"}
    del given["parallelism"]["stages"]
    assert Parts.of(dse.load_space(given)).separable


def test_no_design_beats_the_proven_bound_of_a_space_with_solved_stages() -> None:
    found = dse.load_space(space())
    proven = space_bounds(found)["iteration_time"]
    times = [simulate(load_design(filled.document)).iteration_time_s for filled in valid(found)]
    assert len(times) > 20
    assert proven is not None
    assert 0.5 * min(times) < proven <= min(times)


def valid(found: Any) -> Any:
    from simcore.check.check import check
    from simcore.check.load import parse_design

    for filled in found.enumerate():
        design, _ = parse_design(filled.document)
        if design is not None and not check(design):
            yield filled


@pytest.mark.parametrize("sampler", ["exact", "guided"])
def test_the_front_has_the_numbers_that_were_solved(sampler: str) -> None:
    run = dse.optimize(space(), trials=40, sampler=sampler)
    best = run.best("iteration_time")
    times = [simulate(load_design(filled.document)).iteration_time_s for filled in valid(dse.load_space(space()))]
    written = run.design(best.number)
    section = written.document()["parallelism"]
    assert not isinstance(section.get("stages"), dict)
    assert section["recompute"] != "solve"
    assert simulate(written).iteration_time_s == pytest.approx(min(times), rel=1e-9)
