"""Stacks in a space: which are usual, and which nobody trains a design on."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from dse.space.screen import ScreenedDesign
from dse.space.space import Space, space_from
from dse.space.stack import usual_stack
from simcore import simulate
from simcore.check.load import design_from, parse_design
from simcore.document.problem import InputError
from simcore.document.text import parse_document

BASE: dict[str, Any] = {
    "workload": {"model": "llama3-8b", "global_batch": 64, "precision": "bf16"},
    "parallelism": {"tensor": 1, "pipeline": {"choice": [1, 2]}},
    "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 16},
    "objectives": {"minimize": ["iteration_time"]},
    "hypothetical": True,
}


def space(**sections: Any) -> Space:
    return space_from(parse_document(yaml.safe_dump({**BASE, **sections}, sort_keys=False), "space"), "stacks")


def problems_of(its: Space) -> set[str]:
    """What is wrong with the designs of a space, all together."""
    found = set()
    for filled in its.enumerate():
        design, broken = parse_design(filled.document)
        assert design is not None, broken
        found |= {str(problem) for problem in ScreenedDesign(design, ()).problems}
    return found


def test_a_stack_without_pipelines_is_searched_without_them() -> None:
    found = problems_of(space(software={"choice": ["megatron-core", "llm-foundry"]}))
    (told,) = found
    assert told.startswith("parallelism.pipeline: expected 1, which is all that llm-foundry has, got 2")


def test_a_stack_has_its_own_schedule_and_no_other() -> None:
    its = space(software={"choice": ["megatron-core", "maxtext"]})
    designs = [parse_design(filled.document)[0] for filled in its.enumerate()]
    assert {(d.software.name, d.parallelism.schedule) for d in designs if d} == {
        ("megatron-core", "1f1b"),
        ("maxtext", "gpipe"),
    }
    assert not problems_of(its)
    (told,) = problems_of(space(software="maxtext", parallelism={"schedule": "1f1b", "pipeline": 2}))
    assert told.startswith("parallelism.schedule: expected gpipe, which is all that maxtext has, got 1f1b")
    (told,) = problems_of(space(software="maxtext", parallelism={"zero": 2}))
    assert told.startswith("parallelism.zero: expected 0 or 1 or 3, which is all that maxtext has, got 2")


def test_a_stack_without_chunks_of_stages_has_no_interleaving() -> None:
    both = {"choice": ["megatron-core", "deepspeed"]}
    pipeline = {"pipeline": 2, "interleave": {"choice": [1, 2]}}
    assert problems_of(space(software="megatron-core", parallelism=pipeline)) == set()
    (told,) = problems_of(space(software=both, parallelism=pipeline))
    assert told.startswith("parallelism.interleave: expected 1, which is all that deepspeed has, got 2")
    (told,) = problems_of(space(software="deepspeed", parallelism={"pipeline": 2, "schedule": "gpipe"}))
    assert told.startswith("parallelism.schedule: expected 1f1b, which is all that deepspeed has, got gpipe")
    assert problems_of(space(software="deepspeed", parallelism={"schedule": "gpipe"})) == set()  # there is no pipeline


def test_a_stack_overlaps_no_gradients_in_a_pipeline_that_reduces_them_after_it() -> None:
    both = space(software={"choice": ["megatron-core", "deepspeed"]})
    designs = [parse_design(filled.document)[0] for filled in both.enumerate()]
    overlapping = {(d.software.name, d.parallelism.pipeline): d.parallelism.data_overlap for d in designs if d}
    assert overlapping == {
        ("megatron-core", 1): True,
        ("megatron-core", 2): True,
        ("deepspeed", 1): True,
        ("deepspeed", 2): False,
    }
    (told,) = problems_of(space(software="deepspeed", parallelism={"pipeline": 2, "data_overlap": True}))
    assert told.startswith(
        "parallelism.data_overlap: expected false, which is all that deepspeed has with a pipeline, got true"
    )


def test_stacks_that_differ_in_what_they_lack_alone_are_told_apart() -> None:
    narrow = {"base": "megatron-core", "only": {"pipeline": [1]}}
    (told,) = problems_of(space(software={"choice": ["megatron-core", narrow]}))
    assert told.startswith("parallelism.pipeline: expected 1, which is all that megatron-core has, got 2")


def test_a_stack_without_pipelines_for_experts_trains_them_without() -> None:
    mixture = {"workload": {**BASE["workload"], "model": "mixtral-8x7b"}}
    (told,) = problems_of(space(software="deepspeed", **mixture))
    assert told.startswith(
        "parallelism.pipeline: expected 1, which is all that deepspeed has for mixtures of experts, got 2"
    )
    assert not problems_of(space(software="megatron-core", **mixture))


def test_nothing_is_built_on_a_stack_that_is_not_made_for_the_npu() -> None:
    cluster = {
        "npu": {"choice": ["h100-80gb", "gaudi3"]},
        "dimensions": [{"topology": "switch", "size": 16, "bandwidth": "300 GB/s", "latency": "1 us", "tier": "node"}],
    }
    (told,) = problems_of(space(cluster=cluster, software="maxtext"))
    assert told.startswith("software: expected a stack that is made for gaudi3, got maxtext; use one that is, such as")
    assert design_from(  # that it can be simulated is another matter
        {"workload": BASE["workload"], "cluster": {**cluster, "npu": "gaudi3"}, "software": "maxtext"}
    )


def test_a_space_whose_only_stack_is_not_made_for_its_npus_is_refused() -> None:
    with pytest.raises(InputError, match="software: expected a stack that is made for tpu-v5p, got megatron-core"):
        space(cluster={"npu": "tpu-v5p", "fabric": "tpu-v5p-pod", "npus": 16}, software="megatron-core")


@pytest.mark.parametrize("model", ["dlrm-mlperf", "resnet-50"])
@pytest.mark.parametrize("stack", ["megatron-core", "megatron-lm-2021", "llm-foundry", "maxtext"])
def test_a_stack_of_transformers_trains_no_other_models(model: str, stack: str) -> None:
    its = {"workload": {"model": model, "global_batch": 1024, "precision": "bf16"}, "parallelism": {}}
    found = problems_of(space(**its, software={"choice": [stack, "pytorch-fsdp"]}))
    expected = "software: expected a stack that trains other models than transformers, got"
    assert [told.partition(";")[0] for told in found] == [f"{expected} {stack}"]
    with pytest.raises(InputError, match=f"{expected} {stack}; use one that does, such as pytorch-fsdp"):
        space(**its, software=stack)


def test_a_server_trains_nothing() -> None:
    with pytest.raises(
        InputError, match="software: expected a stack that trains, got vllm; use one that does, such as"
    ):
        space(software="vllm")
    both = {"choice": ["megatron-core", "vllm"]}
    assert {told.partition(";")[0] for told in problems_of(space(software=both))} == {
        "software: expected a stack that trains, got vllm"
    }


@pytest.mark.parametrize(
    ("document", "stack"),
    [
        ({"workload": {"model": "gpt3-175b", "output_length": 8}, "cluster": {"npu": "h100-80gb"}}, "vllm"),
        ({"workload": {"model": "gpt3-175b", "output_length": 8}, "cluster": {"npu": "gaudi3"}}, "vllm"),
        ({"workload": {"model": "gpt3-175b", "output_length": 8}, "cluster": {"npu": "tpu-v2"}}, "maxtext"),
        ({"workload": {"model": "gpt3-175b"}, "cluster": {"npu": "h100-80gb"}}, "megatron-core"),
        ({"workload": {"model": "gpt3-175b"}, "cluster": {"npu": {"base": "tpu-v6e", "name": "mine"}}}, "maxtext"),
        ({"workload": {"model": "gpt3-175b"}, "cluster": {"npu": {"base": "h100-80gb", "platform": "xla"}}}, "maxtext"),
        ({"workload": {"model": "gpt3-175b"}, "cluster": {"npu": {"peak": {"bf16": "1 PFLOP/s"}}}}, "megatron-core"),
        ({"workload": {"model": "dlrm-mlperf"}, "cluster": {"npu": "h100-80gb"}}, "pytorch-fsdp"),
        ({"workload": {"layers": "resnet-50"}, "cluster": {"npu": {"choice": ["h100-80gb", "b200"]}}}, "pytorch-fsdp"),
        ({"workload": {"model": "dlrm-mlperf"}, "cluster": {"npu": "tpu-v5p"}}, "jax"),
        ({"workload": {"model": {"choice": ["dlrm-mlperf", "gpt3-175b"]}}, "cluster": {"npu": "h100-80gb"}}, None),
        ({"workload": {"model": "gpt3-175b"}, "cluster": {"npu": {"choice": ["h100-80gb", "gaudi3"]}}}, None),
    ],
)
def test_the_usual_stack_is_that_of_the_workload_and_the_npus(document: dict[str, Any], stack: str | None) -> None:
    assert usual_stack(document) == stack


def test_a_recommender_takes_as_long_as_published() -> None:
    """NVIDIA's 1.91 minutes on 8 A100 (MLPerf v1.0), for three quarters to all of an epoch of 4.2 billion samples."""
    design = design_from(
        {
            "workload": {"model": "dlrm-mlperf", "global_batch": 55296, "precision": "fp16"},
            "cluster": {"npu": "a100-80gb", "fabric": "dgx-a100", "npus": 8},
        }
    )
    assert 27e6 < 55296 / simulate(design).iteration_time_s < 37e6
