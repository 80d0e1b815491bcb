"""Recommendation models against published sizes, ASTRA-sim's workload file, and what overlaps with what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from designs import dimension, npu

from simcore.catalog.preset import preset
from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.document.problem import InputError
from simcore.memory.plan import program_of
from simcore.program import Category, Start, Wait, Waits
from simcore.simulate import simulate
from simcore.workload.recommender.document import Recommender
from simcore.workload.recommender.program import forward_flops

DATA = Path(__file__).parent / "data"


def model(name: str) -> Recommender:
    found: Recommender = preset(Recommender, "recommenders", name)
    return found


def design(model: Any = "dlrm-mlperf", npus: int = 8, batch: int = 4096, **its: Any) -> Design:
    return design_from(
        {
            "workload": {"model": model, "global_batch": batch, "gradient_precision": "fp16"},
            "parallelism": its.pop("parallelism", {}),
            "cluster": {
                "npu": npu(memory={"capacity": "80 GB", "bandwidth": "1 TB/s", "efficiency": 1.0}),
                "dimensions": [dimension(size=npus, **its)],
            },
            "system": {"chunks": 1},
        }
    )


def test_the_mlperf_model_has_its_published_size() -> None:
    mlperf = model("dlrm-mlperf")
    bottom = 13 * 512 + 512 + 512 * 256 + 256 + 256 * 128 + 128
    top = 479 * 1024 + 1024 + 1024 * 1024 + 1024 + 1024 * 512 + 512 + 512 * 256 + 256 + 256 + 1
    assert mlperf.interacted == 479  # 128 of the bottom MLP and 27 x 26 / 2 pairs
    assert mlperf.dense_parameters == bottom + top == 2_368_897
    assert mlperf.rows * mlperf.embedding == pytest.approx(24.0e9, rel=0.01)  # the 24 G parameters of its tables


def test_the_mlps_reduce_the_bytes_of_the_astra_sim_workload_layer_by_layer() -> None:
    lines = [line.split() for line in (DATA / "DLRM_HybridParallel.txt").read_text().splitlines()[2:]]
    theirs = [int(line[10]) for line in lines if line and line[9] == "ALLREDUCE"]
    shape = model("dlrm-astra-sim")
    assert [4 * i * o for i, o in (*shape.bottom_layers, *shape.top_layers)] == theirs
    exchanged = next(int(line[4]) for line in lines if line[3] == "ALLTOALL")
    assert exchanged == 24 * shape.tables * shape.embedding * 4  # 24 samples an NPU


def test_flops_are_those_of_the_products() -> None:
    program = program_of(design(npus=1, batch=64))
    forward = [op for s in program.parts[0].forward for op in s.operators if hasattr(op, "flops")]
    backward = [op for s in program.parts[0].backward for op in s.operators if hasattr(op, "flops")]
    done = sum(op.flops for op in forward)
    assert done == pytest.approx(64 * forward_flops(model("dlrm-mlperf")))
    assert sum(op.flops for op in backward) == pytest.approx(2 * done)
    assert program.model_flops == pytest.approx(3 * done)


def test_the_all_to_all_carries_every_table_of_an_npus_samples_once_each_way() -> None:
    for segments in (lambda part: part.forward, lambda part: part.last_backward):
        program = program_of(design(npus=8, batch=4096))
        starts = [op for s in segments(program.parts[0]) for op in s.operators if isinstance(op, Start)]
        exchanged = [op for op in starts if op.kind == "all_to_all" and op.waits == Waits.EXCHANGE]
        assert [op.size for op in exchanged] == [512 * 26 * 128 * 2]
    result = simulate(design(npus=8, batch=4096))
    reduced, asked = 2 * 7 / 8 * 2 * 2_368_897, 7 / 8 * 512 * 26 * 8
    assert result.network[0].bytes_per_npu == pytest.approx(2 * 7 / 8 * 512 * 26 * 128 * 2 + reduced + asked)


def test_the_indices_of_the_next_microbatch_are_sent_beside_this_one() -> None:
    shape = {**model("dlrm-mlperf").model_dump(mode="json", exclude={"name"}), "pooling": 64}
    (part,) = program_of(design(shape, npus=8, batch=4096)).parts
    asked = [op for s in part.forward for op in s.operators if isinstance(op, Start) and op.waits == Waits.OVERLAP]
    assert [(op.kind, op.size) for op in asked] == [("all_to_all", 512 * 26 * 64 * 8)]
    *_, last = [op for s in part.backward for op in s.operators]
    assert last == Wait(Waits.OVERLAP, Category.EXPERT)
    exposed = [simulate(design({**shape, "pooling": each}, bandwidth="1 GB/s")) for each in (1, 64)]
    added = exposed[1].exposed_communication_s.expert - exposed[0].exposed_communication_s.expert
    assert 0 < added <= 7 / 8 * 512 * 26 * 63 * 8 / 1e9


def test_the_all_to_all_runs_beside_the_bottom_mlp() -> None:
    slow, fast = (design(bandwidth=b, latency="0 s") for b in ("1 GB/s", "10 TB/s"))
    a2a = 7 / 8 * 512 * 26 * 128 * 2 / 1e9
    exposed = simulate(slow).exposed_communication_s.expert
    assert 0 < exposed < 2 * a2a  # what the bottom MLP's forward and backward hide is not exposed
    bottom = sum(2 * 512 * i * o for i, o in model("dlrm-mlperf").bottom_layers) / 100e12
    moved = sum(2.0 * (512 * i + i * o + 512 * o) for i, o in model("dlrm-mlperf").bottom_layers) / 1e12
    forward = max(bottom, moved)
    assert exposed <= 2 * a2a - forward
    assert simulate(fast).exposed_communication_s.expert == 0


def test_tables_are_spread_over_the_npus_and_mlps_are_not() -> None:
    one, eight = (simulate(design(npus=n, batch=64 * n)).memory_bytes for n in (1, 8))
    assert one is not None
    assert eight is not None
    tables = 187_767_399 * (128 * 2 + 4)
    assert one.weights - 2 * 2_368_897 == pytest.approx(tables)
    assert eight.weights - 2 * 2_368_897 == pytest.approx(tables / 8)
    assert one.gradients == eight.gradients == 2 * 2_368_897


def test_what_does_not_apply_is_refused_all_at_once() -> None:
    with pytest.raises(InputError) as error:
        design(parallelism={"tensor": 2, "recompute": "full", "expert": 4})
    text = str(error.value)
    assert "parallelism.tensor: expected 1 (this kind of workload has no other), got 2" in text
    assert "parallelism.recompute: expected none (this kind of workload has no other), got full" in text
    assert "parallelism.expert" in text


def test_a_bottom_mlp_of_another_width_is_refused() -> None:
    shape = {"dense_features": 4, "bottom": [8, 16], "top": [4], "tables": 2, "rows": 100, "embedding": 32}
    with pytest.raises(InputError, match=r"workload\.model: expected a bottom MLP that ends in .* \(32\), got 16"):
        design(shape)
