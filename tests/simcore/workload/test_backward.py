"""The backward pass: two products for each, the second beside a reduction, and what a split schedule takes apart."""

from __future__ import annotations

import pytest

from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.program import Compute, Operator, Start, Wait, Waits
from simcore.workload.transformer.document import TransformerWorkload
from simcore.workload.transformer.layer import layer_forward, layer_passes, usual_kind
from simcore.workload.transformer.layers import Shapes, split_backward

MATRICES = ("qkv", "projection", "mlp-in", "mlp-out")
STACK = "megatron-lm-2021"


def shapes(traced: bool = True, norms: int = 2, software: object = STACK, **parallelism: object) -> Shapes:
    document = {
        "workload": {"model": {"base": "gpt3-175b", "layers": 8, "layer_norms": norms}, "global_batch": 8},
        "parallelism": {"tensor": 4, "flash_attention": False, **parallelism},
        "cluster": {"npu": "a100-80gb", "fabric": "dgx-a100", "npus": 8},
        "software": software,
    }
    design: Design = design_from(document)
    assert isinstance(design.workload, TransformerWorkload)
    return Shapes(design.workload, design.parallelism, design.software, traced)


def layer_backward(shapes: Shapes) -> tuple[Operator, ...]:
    return layer_passes(shapes, usual_kind(shapes))[1]


def flops(operators: tuple[Operator, ...], *names: str) -> float:
    return sum(op.flops for op in operators if isinstance(op, Compute) and (not names or op.name in names))


def test_each_product_has_two_backward_of_its_flops() -> None:
    one = shapes()
    forward, backward = layer_forward(one), layer_backward(one)
    for name in MATRICES:
        for half in ("input", "weight"):
            assert flops(backward, f"{name}-{half}-gradient") == flops(forward, name)
    assert flops(backward) == pytest.approx(2 * flops(forward))


def test_a_split_takes_the_weight_gradients_and_their_sums_and_nothing_else() -> None:
    one = shapes()
    inputs, weights = split_backward(layer_backward(one))
    assert {op.name for op in weights if isinstance(op, Compute)} == {
        f"{name}{ending}" for name in MATRICES for ending in ("-weight-gradient", "-accumulate")
    }
    assert flops(weights) == flops(layer_forward(one), *MATRICES)
    assert len(inputs) + len(weights) == len(layer_backward(one))


def test_with_tensor_overlap_a_split_takes_the_weight_gradients_whole() -> None:
    whole, cut = (shapes(sequence_parallel=True, tensor_overlap=overlap) for overlap in (False, True))
    weights = [split_backward(layer_backward(one))[1] for one in (whole, cut)]
    assert [op for op in weights[0] if isinstance(op, Compute)] == [op for op in weights[1] if isinstance(op, Compute)]


@pytest.mark.parametrize("sequence_parallel", [False, True])
def test_the_input_gradient_is_reduced_beside_the_weight_gradient(sequence_parallel: bool) -> None:
    backward = layer_backward(shapes(traced=False, sequence_parallel=sequence_parallel))
    starts = [
        i
        for i, op in enumerate(backward)
        if isinstance(op, Start) and op.waits == Waits.OVERLAP and op.kind != "all_gather"
    ]
    assert len(starts) == 2
    for start in starts:
        before, beside, after = backward[start - 1], backward[start + 1], backward[start + 2]
        if sequence_parallel:  # the gather of the input has to have arrived as well
            assert isinstance(before, Wait)
            before = backward[start - 2]
        assert isinstance(before, Compute)
        assert isinstance(beside, Compute)
        assert isinstance(after, Wait)
        assert before.name.endswith("-input-gradient")
        assert beside.name.endswith("-weight-gradient")


@pytest.mark.parametrize("traced", [False, True])
def test_a_collective_is_no_operator_beside_itself(traced: bool) -> None:
    forward = layer_forward(shapes(traced=traced))
    assert [op.kind for op in forward if isinstance(op, Start)] == ["all_reduce"] * 2
    assert {op.name for op in forward if isinstance(op, Compute)} == {
        op.name for op in layer_forward(shapes(tensor=1, data=8)) if isinstance(op, Compute)
    }


def test_the_input_is_gathered_again_beside_its_gradient_and_with_a_split_beside_the_weights() -> None:
    one = shapes(sequence_parallel=True)
    backward = layer_backward(one)
    for i, operator in enumerate(backward):
        if isinstance(operator, Start) and operator.kind == "all_gather" and operator.waits == Waits.OVERLAP:
            assert operator.size * 4 == one.hidden_bytes
            beside, arrived = backward[i + 1], backward[i + 2]
            assert isinstance(beside, Compute)
            assert beside.name.endswith("-input-gradient")
            assert isinstance(arrived, Wait)
    inputs, weights = split_backward(backward)
    assert [op.kind for op in weights if isinstance(op, Start)] == ["all_gather"] * 2
    assert sum(isinstance(op, Wait) for op in weights) == 2
    assert "all_gather" not in [op.kind for op in inputs if isinstance(op, Start) and op.waits == Waits.OVERLAP]


def sent(operators: tuple[Operator, ...]) -> int:
    return sum(isinstance(op, Start) for op in operators)


@pytest.mark.parametrize("recompute", ["full", "selective"])
def test_a_compiler_computes_again_only_what_a_gradient_needs(recompute: str) -> None:
    """The sum of the last product with the residual goes on: no gradient of the layer needs it."""
    modules = {"recompute_modules": ["core_attn", "mlp"]} if recompute == "selective" else {}
    passes = {}
    for recomputes in ("whole", "needed"):
        software = {"base": STACK, "recomputes": recomputes}
        passes[recomputes] = layer_backward(shapes(software=software, recompute=recompute, **modules))
    whole, needed = passes["whole"], passes["needed"]
    assert flops(needed, "mlp-out") == 0 < flops(whole, "mlp-out")
    assert flops(whole) - flops(needed) == flops(whole, "mlp-out")
    assert flops(needed, "mlp-in") == flops(whole, "mlp-in") > 0
    assert sent(whole) - sent(needed) == 1, "the reduction of what is not computed is not sent"


def test_what_a_norm_follows_is_computed_again_by_a_compiler_too() -> None:
    """The gradient of a norm needs what went into it."""
    software = {"base": STACK, "recomputes": "needed"}
    assert flops(layer_backward(shapes(norms=4, software=software, recompute="full")), "mlp-out") > 0


def moved(name: str, sequence_parallel: bool, software: object) -> float:
    """Bytes of all operators of a name in a layer's forward pass, over those that one fused kernel moves unshared."""
    one = shapes(software=software, sequence_parallel=sequence_parallel)
    plain = shapes(traced=False, software=software)
    each = [
        [op.bytes for op in layer_forward(its) if isinstance(op, Compute) and op.name == name] for its in (one, plain)
    ]
    return sum(each[0]) / sum(each[1])


@pytest.mark.parametrize(
    ("stack", "without", "shared"),
    [
        ({"elementwise": 1.5}, 1.5, 1.5 / 4),
        ({"elementwise": 4.0, "measured_sequence_parallel": True}, 1.54 + 2.46 / 4, 4.0 / 4),
        ({"elementwise": 8.0, "measured_sequence_parallel": False}, 8.0, 1.54 / 4 + 6.46),
        ({"elementwise": 8.0}, 8.0, 8.0 / 4),  # not known: all of it follows the setting
    ],
)
def test_sequence_parallelism_shares_out_what_norms_move_themselves(
    stack: dict[str, object], without: float, shared: float
) -> None:
    software = {"base": STACK, **stack}
    for name in ("norm", "dropout-residual"):
        assert moved(name, False, software) == pytest.approx(without, rel=1e-12)
        assert moved(name, True, software) == pytest.approx(shared, rel=1e-12)
