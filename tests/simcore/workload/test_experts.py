"""Mixtures of experts and latent attention: published counts, FLOPs of the operators, bytes of the all-to-alls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from designs import dimension, model, training
from hypothesis import given
from hypothesis import strategies as st

from simcore.catalog.preset import preset
from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.program import Compute, Operator, Segment, Start
from simcore.workload.transformer.counts import active_matrices, forward_flops, layer_vectors, layers_by_kind
from simcore.workload.transformer.document import TransformerWorkload
from simcore.workload.transformer.model import Transformer
from simcore.workload.transformer.program import transformer_program

MOE = {"experts": 16, "top_k": 2, "feed_forward": 256}


def active_parameters(model: Transformer) -> float:
    """Parameters that one token uses: all but the experts it does not take; embedding and output matrix included."""
    layers = sum(
        count * (active_matrices(model, experts) + layer_vectors(model, experts))
        for experts, count in layers_by_kind(model)
    )
    return layers + 2 * model.vocabulary * model.hidden


def one(parallelism: dict[str, Any], npus: int = 1, **workload: Any) -> Design:
    return design_from(training(parallelism, [dimension(size=npus)], workload=workload))


def issued(segments: Iterable[Segment], kind: str, group: str) -> float:
    """Bytes of the collectives of a kind over a group."""
    return sum(
        operator.size * segment.repeat
        for segment in segments
        for operator in segment.operators
        if isinstance(operator, Start) and (operator.kind, operator.group) == (kind, group)
    )


def flops(segments: Iterable[Segment]) -> float:
    def of(operators: Iterable[Operator]) -> float:
        return sum(operator.flops for operator in operators if isinstance(operator, Compute))

    return sum(of(segment.operators) * segment.repeat for segment in segments)


@pytest.mark.parametrize(
    ("name", "total", "active"),
    [  # in billions; the papers and model cards named in the catalogue
        ("llama2-7b", 6.74, 6.74),
        ("llama2-13b", 13.02, 13.02),
        ("llama2-70b", 68.98, 68.98),
        ("llama3-8b", 8.03, 8.03),
        ("mixtral-8x7b", 46.7, 12.9),
        ("mixtral-8x22b", 141.0, 39.0),
        ("deepseek-v2-lite", 15.7, 2.66),  # 2.4 without the embedding
        ("deepseek-v2", 236.0, 21.4),
        ("deepseek-v3", 671.0, 37.5),
    ],
)
def test_a_model_has_its_published_total_and_active_parameters(name: str, total: float, active: float) -> None:
    design = one({}, model=name, global_batch=1)
    (part,) = transformer_program(design).parts
    assert part.parameters / 1e9 == pytest.approx(total, rel=3e-3)
    assert isinstance(design.workload, TransformerWorkload)
    assert active_parameters(design.workload.model) / 1e9 == pytest.approx(active, rel=7e-3)


def test_deepseek_v3_takes_two_flops_a_parameter_that_a_token_passes_and_its_attention() -> None:
    shape: Transformer = preset(Transformer, "models", "deepseek-v3")
    design = one({}, model="deepseek-v3", global_batch=1, sequence_length=4096)
    assert isinstance(design.workload, TransformerWorkload)
    a_token = forward_flops(design.workload) / 4096
    embedding = shape.vocabulary * shape.hidden  # looked up, not multiplied
    attention = 61 * 2 * 4096 * 128 * (192 + 128)
    assert a_token == pytest.approx(2 * (active_parameters(shape) - embedding) + attention, rel=1e-4)
    assert 2 * 36.5e9 < a_token - attention < 2 * 37.5e9


@given(
    st.sampled_from([1, 2, 4]), st.sampled_from([1, 2, 4]), st.sampled_from([1, 2, 4, 8]), st.booleans(), st.booleans()
)
def test_the_flops_of_all_operators_are_those_of_the_model(t: int, c: int, e: int, sp: bool, flash: bool) -> None:
    latent = {"q_lora_rank": 96, "kv_lora_rank": 64, "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32}
    shape = model(bias=False, position="rotary", latent_attention=latent, mixture_of_experts={**MOE, "dense_layers": 2})
    parallelism = {
        "tensor": t, "context": c, "expert": e, "data": 8, "sequence_parallel": sp, "tensor_overlap": sp,
        "flash_attention": flash,
    }  # fmt: skip
    design = one(parallelism, npus=t * c * 8, model=shape)
    (part,) = transformer_program(design).parts
    assert isinstance(design.workload, TransformerWorkload)
    times = design.microbatches * design.cluster.npus
    # Without sequence parallelism all NPUs of a tensor group compute the same latents and the same router scores.
    again = 0 if sp else (t - 1) * 64 * 128 * 2 * 512 * (8 * (96 + 64 + 16) + 6 * 16)
    assert times * flops(part.forward) == pytest.approx(forward_flops(design.workload, flash) + again)


def test_dispatch_and_combine_carry_each_token_to_each_of_its_experts() -> None:
    design = one({"data": 8, "expert": 8}, npus=8, model=model(mixture_of_experts=MOE))
    (part,) = transformer_program(design).parts
    rows = 128 * 2  # tokens x experts of each
    a_layer = 2 * rows * 512 * 2  # there and back, fp16
    assert issued(part.forward, "all_to_all", "expert") == 8 * a_layer
    assert issued(part.backward, "all_to_all", "expert") == 8 * a_layer


@pytest.mark.parametrize("factor", [0.5, 1.0, 1.5])
def test_the_capacity_factor_scales_what_experts_receive_and_compute(factor: float) -> None:
    def of(capacity: float) -> tuple[float, float]:
        shape = model(mixture_of_experts={**MOE, "capacity_factor": capacity})
        (part,) = transformer_program(one({"data": 8, "expert": 8}, npus=8, model=shape)).parts
        experts = sum(
            op.flops * segment.repeat
            for segment in part.forward
            for op in segment.operators
            if isinstance(op, Compute) and op.name.startswith("expert-")
        )
        return issued(part.forward, "all_to_all", "expert"), experts

    usual, scaled = of(1.0), of(factor)
    assert scaled == pytest.approx((factor * usual[0], factor * usual[1]))


@pytest.mark.parametrize("sequence_parallel", [False, True])
def test_tensor_parallelism_splits_the_experts_and_gathers_what_has_arrived(sequence_parallel: bool) -> None:
    design = one(
        {"tensor": 2, "data": 4, "expert": 4, "sequence_parallel": sequence_parallel},
        npus=8,
        model=model(layers=1, mixture_of_experts=MOE),
    )
    (part,) = transformer_program(design).parts
    rows = 128 * 2 * 512 * 2
    sent = issued(part.forward, "all_to_all", "expert")
    assert sent == 2 * rows / (2 if sequence_parallel else 1)
    kind = "reduce_scatter" if sequence_parallel else "all_reduce"
    layer = next(s for s in part.forward if s.name == "layer")
    attention = 128 * 512 * 2
    assert issued([layer], kind, "tensor") == attention + rows


@pytest.mark.parametrize("zero", [0, 1, 2, 3])
def test_experts_are_reduced_over_the_npus_that_have_the_same_ones(zero: int) -> None:
    shape = model(bias=False, position="rotary", mixture_of_experts=MOE)
    design = one({"data": 4, "context": 2, "expert": 4, "zero": zero, "bucket": "1 B"}, npus=8, model=shape)
    program = transformer_program(design)
    (part,) = program.parts
    own, experts = part.parameters - part.expert_parameters, part.expert_parameters
    assert experts == 8 * 16 / 4 * 2 * 512 * 256
    kind = "reduce_scatter" if zero else "all_reduce"
    assert issued(part.last_backward, kind, "data_context") == pytest.approx(2 * own)
    assert issued(part.last_backward, kind, "expert_data") == pytest.approx(2 * experts)
    gathered = program.final[0] if zero in (1, 2) else part.forward
    for group, parameters, size in (("data_context", own, 8), ("expert_data", experts, 2)):
        assert issued(gathered, "all_gather", group) == pytest.approx(2 * parameters / size if zero else 0)


def test_experts_that_no_other_npu_has_are_not_reduced() -> None:
    design = one({"data": 8, "expert": 8}, npus=8, model=model(mixture_of_experts=MOE))
    (part,) = transformer_program(design).parts
    assert issued(part.last_backward, "all_reduce", "expert_data") == 0
    assert issued(part.last_backward, "all_reduce", "data") == pytest.approx(
        2 * (part.parameters - part.expert_parameters)
    )


@pytest.mark.parametrize("dispatch", ["rank", "node"])
def test_biases_of_experts_are_added_to_every_row_by_a_kernel_of_their_own(dispatch: str) -> None:
    """A row of each token and expert; the same experts without biases have no such kernel."""

    def moved(biases: list[str]) -> float:
        shape = model(mixture_of_experts=MOE, biases=biases, bias=False)
        design = one({"expert": 2, "dispatch": dispatch}, 2, model=shape, global_batch=2)
        (part,) = transformer_program(design).parts
        operators = [(op, segment.repeat) for segment in part.forward for op in segment.operators]
        return sum(op.bytes * n for op, n in operators if isinstance(op, Compute) and op.name == "expert-bias")

    shape = model()
    rows = shape["sequence_length"] * MOE["top_k"] * shape["layers"]
    assert moved(["experts"]) == pytest.approx(6 * 2 * rows * shape["hidden"])
    assert moved([]) == 0
