"""Values that no design can have are named before a search."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest
import yaml

from dse.run.drive import optimize
from dse.run.record import load_record
from dse.run.settings import Settings
from dse.space.barred import barred_notices
from dse.space.space import Space, space_from
from simcore.document.problem import Refusal
from simcore.document.text import parse_document

BASE: dict[str, Any] = {
    "workload": {"model": "llama3-8b", "global_batch": 64, "precision": "bf16"},
    "parallelism": {"tensor": {"choice": [1, 2, 3]}, "pipeline": {"choice": [1, 2]}},
    "objectives": {"minimize": ["iteration_time", "cost.total"]},
    "cost": "street-2025",
}
H100 = {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 16}
TPU = {"npu": "tpu-v5e", "fabric": "tpu-v5e-pod", "npus": {"choice": [16, 64]}}


def space_of(cluster: Any, **sections: Any) -> Space:
    document = {**BASE, "cluster": cluster, **sections}
    return space_from(parse_document(yaml.safe_dump(document, sort_keys=False), "space"), "barred")


def notices(cluster: Any, **sections: Any) -> list[str]:
    return list(barred_notices(space_of(cluster, **sections)))


def test_an_alternative_without_a_price_is_named_with_its_reason() -> None:
    (told,) = notices({"choice": [H100, TPU]})
    assert told.startswith("cluster #1: no design with it ")
    assert "may be built, such as on tpu-v5e: cluster.npu: expected a node with a price in list 'street-2025'" in told


def test_the_decision_has_them_too(tmp_path: Path) -> None:
    space = space_of({"choice": [H100, TPU]})
    optimize(space, Settings(sampler="random", trials=8, seed=0), tmp_path / "run", resume=False)
    assert set(notices({"choice": [H100, TPU]})) <= set(load_record(tmp_path / "run").notices)


def test_what_occurs_beside_a_named_value_alone_is_not_named_too() -> None:
    told = notices({"choice": [H100, TPU]})
    assert not any("cluster.npus" in text for text in told)  # 64 NPUs are those of the TPUs


def test_a_stack_that_is_not_made_for_the_npus_is_named() -> None:
    (told,) = notices(TPU | {"npus": 16}, software={"choice": ["maxtext", "megatron-core"]}, cost="libra")
    assert told.startswith("software megatron-core: no design with it ")


def test_what_only_jobs_break_is_not_asked_for() -> None:
    assert notices(H100) == []  # three does not divide the heads


def test_a_key_that_means_nothing_for_the_workload_is_named() -> None:
    workload = {"model": "dlrm-mlperf", "global_batch": 4096, "precision": "fp16"}
    (told,) = notices(H100, workload=workload, parallelism={"tensor": {"choice": [1, 2]}})
    assert told.startswith("parallelism.tensor 2: no design with it ")
    assert "expected 1 (this kind of workload has no other), got 2" in told


def test_of_a_large_space_designs_are_drawn() -> None:
    batches = {"choice": [64 * n for n in range(1, 41)]}
    workload = {"model": "dlrm-mlperf", "global_batch": batches, "precision": "fp16"}
    tensor, zero = {"choice": [1, 2]}, {"choice": [0, 1]}
    buckets = {"choice": [f"{n} MB" for n in range(1, 6)]}
    told = notices(H100, workload=workload, parallelism={"tensor": tensor, "zero": zero, "bucket": buckets})
    assert told[0].startswith("parallelism.tensor 2: none of ")
    assert "designs drawn with it may be built" in told[0]


def test_a_name_that_no_job_of_a_small_space_can_have_is_named() -> None:
    pipelines = {"tensor": 2, "pipeline": {"choice": [2, 4]}, "interleave": 1}
    (told,) = notices(H100, parallelism={**pipelines, "schedule": {"choice": ["1f1b", "zbv"]}})
    assert told.startswith("parallelism.schedule zbv: no design with it may be built, such as on h100-80gb: ")
    assert "expected 2 with schedule zbv, got 1" in told
    del pipelines["interleave"]  # which then is what the schedule needs
    assert notices(H100, parallelism={**pipelines, "schedule": {"choice": ["1f1b", "zbv"]}}) == []


def test_what_is_wrong_with_every_design_alike_is_said_first() -> None:
    short = {"layers": 4, "hidden": 512, "heads": 8, "vocabulary": 32000, "sequence_length": 2048}
    workload = {"model": short, "global_batch": 64, "sequence_length": 4096, "precision": "bf16"}
    (told,) = notices(H100, workload=workload)
    assert told.startswith("no design of the space may be built: workload.sequence_length: expected at most 2048")
    assert "'position: rotary'" in told
    assert notices(H100, workload={**workload, "model": {**short, "position": "rotary"}}) == []


def test_what_nobody_sells_is_named_unless_the_space_is_hypothetical() -> None:
    cluster = H100 | {"fabric": {"choice": ["dgx-h100", "dgx-b200"]}}
    (told,) = notices(cluster, cost="libra")
    assert told.startswith("cluster.fabric dgx-b200: no design with it ")
    assert notices(cluster, cost="libra", hypothetical=True) == []


def test_a_draw_without_a_value_is_no_design(monkeypatch: pytest.MonkeyPatch) -> None:
    fill, calls = Space.fill, count()

    def fill_two_of_three(self: Space, *given: Any, **named: Any) -> Any:
        if next(calls) % 3 == 0:
            raise Refusal("an expression with a value", "one without")
        return fill(self, *given, **named)

    monkeypatch.setattr(Space, "fill", fill_two_of_three)
    assert notices(H100) == []


@pytest.mark.parametrize(("model", "said"), [("glm-4.5-355b", True), ("deepseek-v3", False)])
def test_a_way_to_recompute_whose_modules_the_model_lacks_is_named(model: str, said: bool) -> None:
    parallelism = {
        "tensor": {"powers_of_two": [1, 8]},
        "pipeline": {"powers_of_two": [1, 16]},
        "expert": {"powers_of_two": [1, 64]},
        "microbatch": {"powers_of_two": [1, 8]},
        "recompute": {"choice": ["selective", "full"]},
        "recompute_modules": ["moe_act", "mla_up_proj"],
    }
    workload = {"model": model, "global_batch": 4096, "precision": "bf16"}
    told = notices(H100 | {"npus": 512}, workload=workload, parallelism=parallelism)
    found = [text for text in told if text.startswith("parallelism.recompute selective: none of ")]
    assert [("modules of the model, which has no latent_attention" in text) for text in found] == (
        [True] if said else []
    )


def test_of_a_hole_with_no_value_that_may_be_built_none_is_to_blame() -> None:
    parallelism = {
        "pipeline": 4,
        "data": 2,
        "interleave": 3,
        "zero": {"choice": [0, 1]},
        "recompute": {"choice": ["none", "full"]},
    }
    told = notices(H100 | {"npus": 8}, parallelism=parallelism)
    assert not [text for text in told if text.startswith("parallelism.recompute")]
