"""Spaces in which a range of layers has a tensor degree of its own: searched, bounded and told like any other key."""

from __future__ import annotations

import json
from typing import Any

import pytest

import dse
from dse.explain.parts import explain_parts
from dse.proof.bound import space_bounds
from dse.report.describe import describe
from simcore.check.check import check
from simcore.check.load import load_design, parse_design
from simcore.design.design import Design
from simcore.simulate import simulate

SPACE: dict[str, Any] = {
    "workload": {
        "model": {
            "layers": 4, "hidden": 2048, "heads": 16, "vocabulary": 32_000, "sequence_length": 1024,
            "mixture_of_experts": {"experts": 8, "top_k": 2, "feed_forward": 2048, "dense_layers": 2},
        },
        "global_batch": 32,
        "precision": "bf16",
    },
    "parallelism": {
        "tensor": {"choice": [1, 2]},
        "expert": {"choice": [1, 4]},
        "microbatch": {"choice": [1, 2]},
        "sequence_parallel": {"choice": [True, False]},
        "zero": 1,
        "layers": [{"layers": "0-1", "tensor": {"choice": [1, 2, 4]}, "expert": 1}, {"layers": "2-3"}],
    },
    "cluster": {
        "npu": "a100-80gb",
        "dimensions": [
            {"topology": "switch", "size": 8, "bandwidth": {"choice": ["5 GB/s", "300 GB/s"]}, "latency": "1 us",
             "tier": "node"},
        ],
    },
    "objectives": {"minimize": ["iteration_time", "memory.peak"]},
    "constraints": ["fits"],
    "hypothetical": True,
}  # fmt: skip


def space() -> dict[str, Any]:
    copied: dict[str, Any] = json.loads(json.dumps(SPACE))
    return copied


def designs() -> list[Design]:
    parsed = (parse_design(filled.document)[0] for filled in dse.load_space(space()).enumerate())
    return [design for design in parsed if design is not None and not check(design)]


def test_a_degree_of_a_range_is_a_hole_whose_bounds_hold() -> None:
    results = [simulate(design) for design in designs()]
    proven = space_bounds(dse.load_space(space()))
    seconds, peaks = (
        [result.iteration_time_s for result in results],
        [result.memory_bytes.peak for result in results if result.memory_bytes],
    )
    assert len({design.parallelism.layers for design in designs()}) > 2
    for name, values in (("iteration_time", seconds), ("memory.peak", peaks)):
        least = proven[name]
        assert least is None or least <= min(values) * (1 + 1e-9)


@pytest.mark.parametrize("sampler", ["exact", "guided"])
def test_a_search_finds_the_best_degree_of_a_range(sampler: str) -> None:
    run = dse.optimize(space(), trials=150, sampler=sampler)
    best = min(simulate(design).iteration_time_s for design in designs())
    assert run.best("iteration_time").values["iteration_time"] == pytest.approx(best, rel=1e-9)


def test_a_design_is_told_with_the_degrees_of_its_layers_and_what_resharding_takes() -> None:
    found = next(d for d in designs() if d.parallelism.tensor == 1 and (4, 1) in d.parallelism.other_degrees)
    assert "(t4 in layers 0-1)" in describe(found.document())["degrees"]
    told = " ".join(part.why for part in explain_parts(found, simulate(found)))
    assert "between layers of tensor 1 and 4" in told


def test_a_design_with_degrees_of_its_layers_loads_back_to_itself() -> None:
    for design in designs()[:40]:
        assert load_design(design.document()) == load_design(load_design(design.document()).document())
        assert load_design(design.document()).key == design.key
