"""Every rule that a well-formed design must keep has an example that breaks it, and says what to change."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from designs import designs, dimension, model, npu, training
from hypothesis import given

from simcore.check.check import check
from simcore.check.load import design_from, parse_design
from simcore.design.design import Design
from simcore.document.problem import InputError, Problem, format_path

NODE = dimension(size=8)
POD = dimension(size=8, tier="pod")


def broken(document: dict[str, Any]) -> list[Problem]:
    design, problems = parse_design(copy.deepcopy(document))
    assert design is not None, problems
    return check(design)


def only(document: dict[str, Any]) -> Problem:
    problems = broken(document)
    assert len(problems) == 1, [str(problem) for problem in problems]
    assert problems[0].violation > 0
    return problems[0]


@given(designs())
def test_a_drawn_design_is_valid(design: Design) -> None:
    assert check(design) == []


def workload(**more: Any) -> dict[str, Any]:
    return {"model": model(**more), "global_batch": 64}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (
            training({}, [NODE, dimension(size=1)]),
            "cluster.dimensions[1].size: expected at least 2 NPUs, got 1; leave the dimension out",
        ),
        (
            training({}, [dimension(bandwidth="0 GB/s")]),
            "cluster.dimensions[0].bandwidth: expected a bandwidth above 0, got 0 B/s",
        ),
        (
            training({}, [dimension(bandwidth="-5 GB/s")]),
            "cluster.dimensions[0].bandwidth: expected a bandwidth above 0, got -5e+09 B/s",
        ),
        (
            training({}, [dimension(latency="-1 us")]),
            "cluster.dimensions[0].latency: expected a latency of 0 or more, got -1e-06 s",
        ),
        (
            training({}, [dimension("ring", oversubscription=2)]),
            "cluster.dimensions[0].oversubscription: expected 1 on what is no switch, got 2",
        ),
        (
            training({}, [dimension("fully_connected", in_network=True)]),
            "cluster.dimensions[0].in_network: expected false on what is no switch, got true",
        ),
        (
            training(
                {},
                [NODE, dimension(size=6)],
                system={"collective": ["ring", "halving_doubling"]},
                workload={"global_batch": 48},
            ),
            "system.collective[1]: expected an algorithm for the 6 NPUs of cluster.dimensions[1], "
            "got 'halving_doubling', which needs a power of two; use ring, direct or double_binary_tree there",
        ),
        (
            training({}, [NODE, POD], system={"collective": ["ring"]}),
            "system.collective: expected one algorithm for each of the 2 dimensions, got 1; list them innermost first",
        ),
        (
            training({}, [NODE], system={"collective": ["ring", "ring"]}),
            "system.collective: expected one algorithm for each of the 1 dimensions, got 2; list them innermost first",
        ),
        (
            training({}, [dimension(collective="direct")], system={"collective": ["ring"]}),
            "cluster.dimensions[0].collective: expected the algorithm in one place, got another in system.collective; "
            "drop one of the two",
        ),
        (
            training({}, [NODE], system={"chunks": 2**20}),
            "system.chunks: expected fewer than 1048576 chunks, got 1048576",
        ),
        (
            training({"tensor": 2, "pipeline": 3}, [NODE]),
            "parallelism: expected degrees whose product is the 8 NPUs of cluster.dimensions, "
            "got tensor 2 x context 1 x pipeline 3 = 6; choose degrees that divide 8",
        ),
        (
            training({"tensor": 2, "data": 2}, [NODE]),
            "parallelism: expected degrees whose product is the 8 NPUs of cluster.dimensions, "
            "got tensor 2 x context 1 x pipeline 1 x data 2 = 4; choose degrees that multiply to 8",
        ),
        (
            training({"tensor": 16}, [NODE], workload=workload(heads=16)),
            "parallelism: expected degrees whose product is the 8 NPUs of cluster.dimensions, "
            "got tensor 16 x context 1 x pipeline 1 = 16; choose degrees that divide 8",
        ),
        (
            training({"tensor": 4}, [dimension(size=6), dimension(size=2)], workload={"global_batch": 48}),
            "parallelism.tensor: expected a degree that fills or divides cluster.dimensions[0] (6 NPUs), got 4; "
            "choose sizes that divide each other, or another placement",
        ),
        (
            training({}, [NODE], workload=workload(hidden=500)),
            "workload.model: expected heads that divides the hidden size (500), got 8; choose a divisor of 500",
        ),
        (
            training({"tensor": 8}, [NODE], workload=workload(heads=4)),
            "parallelism.tensor: expected a degree that divides the attention heads (4), got 8; choose a divisor of 4",
        ),
        (
            training({"tensor": 4}, [NODE], workload=workload(heads=12, kv_heads=6, hidden=768)),
            "parallelism.tensor: expected a degree that divides the 6 key-value heads, or is a multiple, got 4",
        ),
        (
            training({"tensor": 8}, [NODE], workload=workload(feed_forward=100)),
            "parallelism.tensor: expected a degree that divides the feed-forward width (100), got 8; "
            "choose a divisor of 100",
        ),
        (
            training({"tensor": 8, "sequence_parallel": True}, [NODE], workload={**workload(), "sequence_length": 100}),
            "parallelism.tensor: expected a degree that divides the sequence length (100), got 8; "
            "choose a divisor of 100",
        ),
        (
            training({"pipeline": 8}, [NODE], workload=workload(layers=4)),
            "parallelism.pipeline: expected at most 4 stages, one a layer, got 8; use fewer stages",
        ),
        (
            training({"pipeline": 4, "interleave": 4}, [NODE]),
            "parallelism.pipeline: expected at most 10 stages for 8 layers, got 4 x interleave 4 = 16; "
            "use fewer stages",
        ),
        (
            training({"pipeline": 4, "interleave": 2}, [NODE], workload=workload(layers=12)),
            "parallelism.interleave: expected pipeline x interleave that divides the layers (12), or these and one or "
            "two more, got 8; choose another, or write stages: {solve: true}, which evens them out",
        ),
        (
            training({}, [NODE], workload={**workload(sequence_length=128), "sequence_length": 256}),
            "workload.sequence_length: expected at most 128, the positions that the model has learned, got 256; choose "
            "a shorter one, or give the model more (sequence_length), or 'position: rotary'",
        ),
        (
            training({"microbatch": 3}, [NODE]),
            "parallelism.microbatch: expected data x microbatch that divides the global batch (64), got 8 x 3 = 24; "
            "choose another microbatch, data degree or global batch",
        ),
        (
            training({"interleave": 2}, [NODE]),
            "parallelism.interleave: expected 1 without pipeline parallelism, got 2; use pipeline >= 2",
        ),
        (
            training({"pipeline": 2, "interleave": 2, "schedule": "zero_bubble"}, [NODE]),
            "parallelism.interleave: expected 1 with schedule zero_bubble, got 2; use schedule 1f1b",
        ),
        (
            training({"pipeline": 4, "interleave": 2}, [NODE], workload={"global_batch": 6}),
            "parallelism.interleave: expected microbatches (3) in whole rounds of the 4 stages, got interleave 2; "
            "use interleave 1, or a batch that gives a multiple",
        ),
        (
            training({"pipeline": 4, "schedule": "zbv", "interleave": 1}, [NODE]),
            "parallelism.interleave: expected 2 with schedule zbv, got 1; use interleave 2",
        ),
        (
            training({"schedule": "v-min"}, [NODE]),
            "parallelism.pipeline: expected a pipeline of at least 2 stages for schedule v-min, got 1; "
            "use schedule 1f1b",
        ),
        (
            training({"pipeline": 4, "interleave": 2, "schedule": "dualpipe-v"}, [NODE], workload={"global_batch": 14}),
            "parallelism.schedule: expected at least 8 microbatches for schedule dualpipe-v on 4 stages, got 7; "
            "use a larger batch, fewer stages, or schedule zbv",
        ),
        (
            training({}, [NODE], workload={"precision": "bf16"}),
            "workload.precision: expected one that round computes in: fp16, got bf16",
        ),
        (
            training({}, [dimension(tier="chiplet")]),
            "cluster.dimensions[0].tier: expected a tier with a price for a switch in price list 'libra', "
            "got 'chiplet'; choose another tier or topology, or spell the price list out",
        ),
        (
            training({}, [NODE], accelerator={key: value for key, value in npu().items() if key != "price"}),
            "cluster.npu: expected an NPU priced in 'libra', got 'round'; "
            "add 'price' to the NPU, or its name to the price list's 'npu'",
        ),
    ],
)
def test_each_rule_says_what_is_expected_and_found(document: dict[str, Any], message: str) -> None:
    assert str(only(document)) == message


MOE = {"experts": 6, "top_k": 2, "feed_forward": 256}
LATENT = {"kv_lora_rank": 64, "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (
            training({"context": 8}, [NODE], workload={**workload(), "sequence_length": 100}),
            "parallelism.context: expected a degree that divides the sequence length (100), got 8; "
            "choose a divisor of 100",
        ),
        (
            training(
                {"context": 4, "tensor": 2, "sequence_parallel": True},
                [NODE],
                workload={**workload(), "sequence_length": 100},
            ),
            "parallelism.tensor: expected a degree that divides the tokens of an NPU of the context group, 100 / 4 "
            "(25), got 2; choose a divisor of 25",
        ),
        (
            training({"context": 8, "context_communication": "all_to_all"}, [NODE], workload=workload(kv_heads=4)),
            "parallelism.context: expected tensor x context that divides the key-value heads (4) with "
            "context_communication all_to_all, got 1 x 8 = 8; use fewer, or context_communication ring",
        ),
        (
            training({"expert": 2}, [NODE]),
            "parallelism.expert: expected 1 for a model without experts, got 2; use a model with mixture_of_experts",
        ),
        (
            training({"expert": 4}, [NODE], workload=workload(mixture_of_experts=MOE)),
            "parallelism.expert: expected a degree that divides the experts (6), got 4; choose a divisor of 6",
        ),
        (
            training({"expert": 3}, [NODE], workload=workload(mixture_of_experts=MOE)),
            "parallelism.expert: expected a degree that divides data x context (8 x 1), whose NPUs it uses, got 3; "
            "choose a divisor of 8",
        ),
        (
            training(
                {"expert": 6, "data": 6},
                [dimension(size=3), dimension(size=2)],
                workload={**workload(mixture_of_experts={**MOE, "top_k": 7}), "global_batch": 6},
            ),
            "workload.model.mixture_of_experts.top_k: expected at most the 6 experts, got 7",
        ),
        (
            training({}, [NODE], workload=workload(mixture_of_experts={**MOE, "dense_layers": 9})),
            "workload.model.mixture_of_experts.dense_layers: expected at most the 8 layers, got 9",
        ),
        (
            training({"tensor": 8}, [NODE], workload=workload(mixture_of_experts={**MOE, "feed_forward": 100})),
            "parallelism.tensor: expected a degree that divides the width of an expert (100), got 8; "
            "choose a divisor of 100",
        ),
        (
            training({}, [NODE], workload=workload(latent_attention=LATENT, kv_heads=4)),
            "workload.model.kv_heads: expected nothing beside latent_attention, got 4; leave it out",
        ),
        (
            training({"first_stage_layers": 2}, [NODE]),
            "parallelism.first_stage_layers: expected nothing without pipeline parallelism, got 2; leave it out",
        ),
        (
            training({"pipeline": 4, "first_stage_layers": 7}, [NODE]),
            "parallelism.first_stage_layers: expected what leaves at least 3 of 8 layers to the other stages, "
            "got 1 left; choose other numbers of layers",
        ),
        (
            training({"pipeline": 2, "first_stage_layers": 2, "last_stage_layers": 2}, [NODE]),
            "parallelism.first_stage_layers: expected what leaves 0 of 8 layers to the other stages, got 4 left; "
            "choose other numbers of layers",
        ),
        (
            training({"pipeline": 2, "interleave": 4, "last_stage_layers": 2}, [NODE], workload=workload(layers=10)),
            "parallelism.last_stage_layers: expected 4 chunks of 1, or up to 1 fewer at the model's end, "
            "got 2; choose 3 to 4 layers",
        ),
        (
            training({"pipeline": 4, "interleave": 2, "first_stage_layers": 3}, [NODE], workload=workload(layers=16)),
            "parallelism.first_stage_layers: expected what leaves a multiple of 6 layers to the chunks of the other "
            "stages, got 13 left; choose other numbers of layers",
        ),
        (
            training({"pipeline": 2, "interleave": 3}, [NODE], workload=workload(layers=9)),
            "parallelism.interleave: expected pipeline x interleave that divides the layers (9), or these and one or "
            "two more, got 6; choose another, or write stages: {solve: true}, which evens them out",
        ),
        (
            training({"recompute_layers": 2}, [NODE]),
            "parallelism.recompute_layers: expected nothing unless recompute is full, got 2; use recompute: full",
        ),
        (
            training({"tensor": 2, "tensor_overlap": True}, [NODE]),
            "parallelism.tensor_overlap: expected false without sequence_parallel, whose gathers and reduce-scatters "
            "it overlaps, got true; use sequence_parallel: true",
        ),
        (
            training({"context": 2, "data": 2, "pipeline": 2}, [NODE])
            | {"cluster": {"npu": npu(), "dimensions": [NODE], "placement": ["tensor", "context", "pipeline", "data"]}},
            "cluster.placement: expected context and data side by side where both are on cluster.dimensions[0], "
            "got tensor, context, pipeline, data; write them next to each other: gradients are reduced over both",
        ),
    ],
)
def test_each_rule_of_context_experts_and_stages_says_what_is_expected(document: dict[str, Any], message: str) -> None:
    assert str(only(document)) == message


@pytest.mark.parametrize("kv_heads", [3, 16])
def test_key_value_heads_divide_the_heads(kv_heads: int) -> None:
    places = [
        format_path(problem.path) for problem in broken(training({}, [NODE], workload=workload(kv_heads=kv_heads)))
    ]
    assert any(place.startswith("workload.model") for place in places)


def test_a_placement_names_every_group_once() -> None:
    document = training({}, [NODE])
    document["cluster"]["placement"] = ["tensor", "data", "data", "pipeline"]
    texts = [str(problem) for problem in broken(document)]
    assert any("each of tensor, context, data, pipeline once" in text for text in texts)


def test_an_npu_without_a_price_is_no_problem_where_npus_are_not_counted() -> None:
    free = {key: value for key, value in npu().items() if key != "price"}
    assert broken(training({}, [NODE], accelerator=free, cost="network-only")) == []


def test_every_broken_rule_is_reported_at_once() -> None:
    document = training({"tensor": 5, "pipeline": 16}, [NODE, dimension(size=6, tier="chiplet")])
    document["system"] = {"collective": ["ring"], "chunks": 2**20}
    places = {format_path(problem.path) for problem in broken(document)}
    assert {"parallelism", "system.collective", "system.chunks", "cluster.dimensions[1].tier"} <= places
    assert {"parallelism.tensor", "parallelism.pipeline"} <= places


def test_a_problem_of_form_does_not_hide_one_of_meaning() -> None:
    document = training({"pipeline": 3, "zero": 7}, [NODE])
    with pytest.raises(InputError) as error:
        design_from(document)
    assert {format_path(problem.path) for problem in error.value.problems} == {"parallelism", "parallelism.zero"}


def test_rules_that_a_search_counts_have_names() -> None:
    cases = {
        "degrees multiply to the NPUs": training({"pipeline": 3}, [NODE]),
        "stages have layers": training({"pipeline": 8}, [NODE], workload=workload(layers=4)),
        "microbatches fill the batch": training({"microbatch": 3}, [NODE]),
        "interleaving": training({"interleave": 2}, [NODE]),
    }
    for rule, document in cases.items():
        assert only(document).rule == rule


def test_a_violation_grows_with_the_distance_to_what_is_allowed() -> None:
    near = only(training({"pipeline": 8}, [NODE], workload=workload(layers=7)))
    far = only(training({"pipeline": 8}, [NODE], workload=workload(layers=2)))
    assert 0 < near.violation < far.violation
