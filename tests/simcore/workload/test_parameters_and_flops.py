"""Parameters and FLOPs of a transformer, from the operators themselves, against the published closed forms."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from designs import UNFUSED, dimension, model, training
from hypothesis import given
from hypothesis import strategies as st

from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.design.parallelism import Parallelism
from simcore.design.software import usual_software
from simcore.program import Compute, Operator, Segment, Start
from simcore.workload.transformer import layer
from simcore.workload.transformer.counts import forward_flops
from simcore.workload.transformer.document import TransformerWorkload
from simcore.workload.transformer.layers import Shapes
from simcore.workload.transformer.program import transformer_program
from simcore.workload.transformer.stages import part_layers


def shapes(design: Design) -> Shapes:
    assert isinstance(design.workload, TransformerWorkload)
    return Shapes(design.workload, design.parallelism, design.software)


def one_npu(parallelism: dict[str, Any] | None = None, npus: int = 1, **workload: Any) -> Design:
    return design_from(training({**UNFUSED, **(parallelism or {})}, [dimension(size=npus)], workload=workload))


def layer_backward(shapes: Shapes) -> tuple[Operator, ...]:
    return layer.layer_passes(shapes, layer.usual_kind(shapes))[1]


def flops(operators: Iterable[Operator]) -> float:
    return sum(operator.flops for operator in operators if isinstance(operator, Compute))


def segment_flops(segments: Iterable[Segment]) -> float:
    return sum(flops(segment.operators) * segment.repeat for segment in segments)


SHAPE = st.tuples(st.integers(1, 64), st.sampled_from([1, 2, 4, 8]), st.integers(1, 32), st.integers(1, 4))


@given(SHAPE)
def test_a_layer_has_12_h_squared_plus_13_h_parameters(shape: tuple[int, int, int, int]) -> None:
    width, heads, _, _ = shape
    h = 8 * width * heads
    design = one_npu(model=model(hidden=h, heads=heads), global_batch=1)
    assert sum(layer.layer_parameters(shapes(design))) == 12 * h**2 + 13 * h


@given(SHAPE)
def test_a_layer_forward_is_24_b_s_h_squared_plus_4_b_s_squared_h_flops(shape: tuple[int, int, int, int]) -> None:
    width, heads, length, b = shape
    h, s = 8 * width * heads, 16 * length
    sizes = model(hidden=h, heads=heads, sequence_length=s)
    design = one_npu({"microbatch": b}, model=sizes, global_batch=b)
    expected = 24 * b * s * h**2 + 4 * b * s**2 * h
    assert flops(layer.layer_forward(shapes(design))) == pytest.approx(expected, rel=1e-12)
    assert flops(layer_backward(shapes(design))) == pytest.approx(2 * expected, rel=1e-12)


@pytest.mark.parametrize("tensor", [1, 2, 4, 8])
@pytest.mark.parametrize("sequence_parallel", [False, True])
def test_tensor_parallelism_splits_the_flops_of_a_layer_evenly(tensor: int, sequence_parallel: bool) -> None:
    whole = flops(layer.layer_forward(shapes(one_npu())))
    design = one_npu({"tensor": tensor, "sequence_parallel": sequence_parallel}, npus=8)
    assert flops(layer.layer_forward(shapes(design))) == pytest.approx(whole / tensor, rel=1e-12)


def test_full_recomputation_adds_one_forward_and_selective_the_attention_core() -> None:
    none, selective, full = (shapes(one_npu({"recompute": recompute})) for recompute in ("none", "selective", "full"))
    forward = flops(layer.layer_forward(none))
    assert flops(layer_backward(full)) == pytest.approx(flops(layer_backward(none)) + forward)
    b, s, h = 1, 128, 512
    added = flops(layer_backward(selective)) - flops(layer_backward(none))
    assert added == pytest.approx(4 * b * s**2 * h)
    assert layer.layer_forward(full) == layer.layer_forward(none)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("transformer-1t", 1.008e12),
        ("gpt3-175b", 175e9),
        ("turing-nlg-17b", 17e9),
        ("mt-nlg-530b", 530e9),
        ("megatron-22b", 22e9),
        ("llama3-8b", 8.03e9),
        ("llama3-70b", 70.55e9),
        ("llama3-405b", 405.85e9),
    ],
)
def test_a_model_has_its_published_parameters(name: str, parameters: float) -> None:
    document = training({}, [dimension(size=1)], workload={"model": name, "global_batch": 1})
    (part,) = transformer_program(design_from(document)).parts
    assert part.parameters == pytest.approx(
        parameters, rel=0.012 if name in ("turing-nlg-17b", "megatron-22b") else 0.01
    )


@pytest.mark.parametrize("pipeline", [1, 2, 4, 8])
@pytest.mark.parametrize("tensor", [1, 2])
def test_stages_and_tensor_shards_hold_the_whole_model(pipeline: int, tensor: int) -> None:
    design = one_npu({"tensor": tensor, "pipeline": pipeline}, npus=16)
    program = transformer_program(design)
    held = tensor * sum(program.parts[program.part_of[k]].parameters for k in range(pipeline))
    (whole,) = transformer_program(one_npu()).parts
    again = 1024 * 512 if pipeline > 1 else 0  # the output matrix is the embedding only where both are on one stage
    assert held == pytest.approx(whole.parameters + again)


@pytest.mark.parametrize(
    ("parallelism", "npus"),
    [({}, 1), ({"tensor": 4}, 4), ({"pipeline": 4}, 4), ({"pipeline": 2, "interleave": 2}, 2), ({"data": 4}, 4)],
)
def test_the_flops_of_all_operators_are_those_of_the_model(parallelism: dict[str, Any], npus: int) -> None:
    design = one_npu(parallelism, npus=npus)
    program = transformer_program(design)
    assert isinstance(design.workload, TransformerWorkload)
    microbatch = [program.parts[k] for k in program.part_of]
    forward = sum(segment_flops(part.forward) for part in microbatch)
    backward = sum(segment_flops(part.backward) for part in microbatch)
    times = program.microbatches * design.data * design.parallelism.tensor
    # The vocabulary, 1024, is a multiple of 128 x tensor: nothing is padded.
    assert times * forward == pytest.approx(forward_flops(design.workload))
    assert times * (forward + backward) == pytest.approx(program.model_flops)
    assert program.model_flops == 3 * forward_flops(design.workload)
    assert program.tokens == 64 * 128


def test_gpt3_takes_six_flops_a_parameter_and_token_and_a_little_attention() -> None:
    document = training(UNFUSED, [dimension(size=1)], workload={"model": "gpt3-175b", "global_batch": 1})
    program = transformer_program(design_from(document))
    # 6 N per token, and 12 layers h s per token for the attention itself (Kaplan et al. 2020; Narayanan et al. 2021).
    expected = 2048 * (6 * 174.6e9 + 12 * 96 * 12288 * 2048)
    assert program.model_flops == pytest.approx(expected, rel=0.01)


def test_gated_layers_and_grouped_queries_count_their_own_matrices() -> None:
    h, f, kv = 512, 1408, 128
    sizes = model(hidden=h, feed_forward=f, heads=8, kv_heads=2, gated=True, bias=False, position="rotary")
    design = one_npu(model=sizes)
    matrices = 2 * h * h + 2 * h * kv + 3 * h * f
    assert sum(layer.layer_parameters(shapes(design))) == matrices + 2 * h
    b, s = 1, 128
    assert flops(layer.layer_forward(shapes(design))) == pytest.approx(2 * b * s * matrices + 4 * b * s * s * h)


@given(st.integers(1, 200), st.integers(1, 200))
def test_layers_are_spread_evenly_over_the_stages(total: int, stages: int) -> None:
    spread = part_layers(total, stages)
    assert sum(spread) == total
    assert len(spread) == stages
    assert max(spread) - min(spread) <= 1


@pytest.mark.parametrize(
    ("parallelism", "kinds"),
    [
        ({"tensor": 2}, ["all_reduce"] * 2),
        ({"tensor": 2, "sequence_parallel": True}, ["all_gather", "reduce_scatter"] * 2),
        ({}, []),
    ],
)
def test_a_layer_reduces_its_partial_sums_twice(parallelism: dict[str, Any], kinds: list[str]) -> None:
    design = one_npu(parallelism, npus=2)
    started = [op for op in layer.layer_forward(shapes(design)) if isinstance(op, Start)]
    assert [op.kind for op in started] == kinds
    backward = [op for op in layer_backward(shapes(design)) if isinstance(op, Start)]
    again = kinds.count("all_gather")  # inputs kept in shares
    assert len(backward) == len(kinds) + again
    full = 128 * 512 * 2
    for op in started:
        assert op.size == (full / 2 if op.kind == "all_gather" else full)


@pytest.mark.parametrize("zero", [0, 1, 2, 3])
def test_gradients_are_reduced_and_parameters_gathered_as_the_stage_says(zero: int) -> None:
    design = one_npu({"data": 4, "zero": zero, "bucket": "1 kB"}, npus=4)
    program = transformer_program(design)
    (part,) = program.parts

    def bytes_of(segments: Iterable[Segment], kind: str) -> float:
        sizes = [
            op.size * segment.repeat
            for segment in segments
            for op in segment.operators
            if isinstance(op, Start) and op.group == "data" and op.kind == kind
        ]
        return float(sum(sizes))

    weights = 2 * part.parameters
    reduced = "reduce_scatter" if zero else "all_reduce"
    assert bytes_of(part.last_backward, reduced) == pytest.approx(weights)
    assert bytes_of(part.backward, reduced) == pytest.approx(weights if zero >= 2 else 0)
    gathered = weights / 4
    assert bytes_of(program.final[0], "all_gather") == pytest.approx(gathered if zero in (1, 2) else 0)
    for segments in (part.forward, part.backward, part.last_backward):
        assert bytes_of(segments, "all_gather") == pytest.approx(gathered if zero == 3 else 0)


def test_a_bucket_waits_until_it_is_full() -> None:
    def buckets(least: str) -> list[float]:
        (part,) = transformer_program(one_npu({"data": 4, "bucket": least}, npus=4)).parts
        return [
            op.size
            for segment in part.last_backward
            for _ in range(segment.repeat)
            for op in segment.operators
            if isinstance(op, Start) and op.group == "data"
        ]

    layer = 2 * (12 * 512**2 + 13 * 512)
    assert len(buckets("1 kB")) == 10  # the head, eight layers, the embedding
    assert all(size >= 25e6 for size in buckets("25 MB")[:-1])
    assert 25e6 <= buckets("25 MB")[0] < 25e6 + layer
    assert len(buckets("10 GB")) == 1
    assert sum(buckets("25 MB")) == pytest.approx(sum(buckets("1 kB")))


def test_every_npu_of_a_tensor_group_has_routers_and_projections_to_latents_whole() -> None:
    document = training({}, [dimension(size=1)], workload={"model": "deepseek-v3"})
    workload = Design.model_validate(document).workload
    assert isinstance(workload, TransformerWorkload)
    own = [
        layer.layer_parameters(
            Shapes(workload, Parallelism(tensor=t), usual_software()), layer.LayerKind(experts=True)
        )[0]
        for t in (1, 8)
    ]
    latents = 7168 * (1536 + 512 + 64)  # DeepSeek-V3 (arXiv 2412.19437, section 4.2): hidden, query and key-value ranks
    router = 7168 * 256
    assert own[1] == pytest.approx(latents + router + (own[0] - latents - router) / 8)
