"""Context parallelism and the overlap switches: bytes sent, FLOPs kept, and what the switches may change in time."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from designs import dimension, model, training
from hypothesis import given
from hypothesis import strategies as st

from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.program import Compute, Operator, Segment, Start
from simcore.result import Result
from simcore.simulate import simulate
from simcore.workload.transformer.program import transformer_program

S, H = 128, 512
MATRICES = ("qkv", "projection", "mlp-in", "mlp-out")
ROWS = ("projection", "mlp-out")
"""Row-parallel ones."""


def one(parallelism: dict[str, Any], npus: int, **workload: Any) -> Design:
    network = [dimension("ring", npus)] if npus > 1 else [dimension(size=1)]
    return design_from(training(parallelism, network, workload=workload))


def part_of(parallelism: dict[str, Any], npus: int, **workload: Any) -> Any:
    (part,) = transformer_program(one(parallelism, npus, **workload)).parts
    return part


def issued(segments: tuple[Segment, ...], kind: str, group: str) -> float:
    return sum(
        op.size * segment.repeat
        for segment in segments
        for op in segment.operators
        if isinstance(op, Start) and (op.kind, op.group) == (kind, group)
    )


def flops(segments: tuple[Segment, ...], kinds: tuple[str, ...] = ("gemm", "flash")) -> float:
    return sum(
        op.flops * segment.repeat
        for segment in segments
        for op in segment.operators
        if isinstance(op, Compute) and op.kind in kinds
    )


@pytest.mark.parametrize("c", [2, 4, 8])
@pytest.mark.parametrize("overlap", [False, True])
def test_in_a_ring_every_key_and_value_passes_every_npu(c: int, overlap: bool) -> None:
    part = part_of({"context": c, "context_overlap": overlap}, c)
    own = 2 * S / c * H * 2  # keys and values of an NPU, fp16
    assert issued(part.forward, "shift", "context") == 8 * (c - 1) * own
    # Backward they go round once more, and their gradients follow a step behind, until they are home.
    assert issued(part.backward, "shift", "context") == 8 * 2 * (c - 1) * own
    assert len([op for op in layer_of(part.backward) if isinstance(op, Start) and op.kind == "shift"]) == c


def kernels(segments: tuple[Segment, ...], *names: str) -> float:
    """Bytes that kernels of these names move in a layer."""
    return sum(op.bytes for op in layer_of(segments) if isinstance(op, Compute) and op.name in names)


def most_merged(c: int, queries: float, keys: float) -> tuple[float, float]:
    """Numbers that a ring reads and writes to merge outputs, and gradients, in each step as many as its busiest NPU.

    Counted NPU by NPU and step by step: tokens lie in 2 c blocks, of which NPU r has block r and block 2 c - 1 - r.
    """
    forward = backward = 0.0
    for step in range(c):
        outputs, gradients = [], []
        for npu in range(c):
            other = (npu - step) % c
            mine, theirs = ((i, 2 * c - 1 - i) for i in (npu, other))
            seen = [[b <= a for b in theirs] for a in mine]
            rows, columns = (sum(map(any, way)) / 2 for way in (seen, zip(*seen, strict=True)))
            touched = 2 if step == 0 else 3  # the first part is written over what was there
            outputs.append(touched * (1 if step == 0 else rows) * queries)
            # Backward an NPU's own part comes last.
            other = (npu + step + 1) % c
            mine, theirs = ((i, 2 * c - 1 - i) for i in (npu, other))
            seen = [[b <= a for b in theirs] for a in mine]
            rows, columns = (sum(map(any, way)) / 2 for way in (seen, zip(*seen, strict=True)))
            gradients.append(touched * (rows * queries + columns * 2 * keys))
        forward += max(outputs)
        backward += max(gradients)
    return forward, backward


@pytest.mark.parametrize("c", [2, 4, 8])
@pytest.mark.parametrize("kv_heads", [8, 2])
def test_a_ring_merges_what_its_busiest_npu_adds_up_of_each_part(c: int, kv_heads: int) -> None:
    part = part_of({"context": c, "flash_attention": True}, c, model=model(kv_heads=kv_heads))
    queries, keys, sums = S / c * H, S / c * H * kv_heads / 8, S / c * 8 * 4 / 2  # fp32, in numbers of fp16
    outputs, gradients = most_merged(c, queries, keys)
    assert kernels(part.forward, "merge") == pytest.approx(2 * (outputs + 2 * c * sums))
    assert kernels(part.forward, "merge-sums") == pytest.approx(2 * (2 + 3 * (c - 1)) * sums)
    assert kernels(part.backward, "add-queries", "add-keys", "add-values") == pytest.approx(2 * gradients)
    assert kernels(part.forward, "pack") == kernels(part.backward, "pack") == 2 * 2 * 2 * keys


@pytest.mark.parametrize("c", [2, 4])
def test_all_to_alls_copy_what_they_send_before_and_after(c: int) -> None:
    part = part_of({"context": c, "context_communication": "all_to_all", "flash_attention": True}, c)
    exchanged = 4 * S / c * H * 2  # queries, keys, values and outputs
    assert kernels(part.forward, "pack") == kernels(part.backward, "pack") == pytest.approx(2 * 2 * exchanged)


@pytest.mark.parametrize("flash", [False, True])
def test_after_an_all_to_all_attention_reads_its_share_of_the_heads(flash: bool) -> None:
    def attention(c: int) -> list[Compute]:
        part = part_of({"context": c, "context_communication": "all_to_all", "flash_attention": flash}, c)
        names = ("flash-attention", "scores", "attention")
        return [each for each in part.forward if isinstance(each, Compute) and each.name in names]

    for own, whole in zip(attention(4), attention(1), strict=True):
        assert (own.flops, own.bytes) == (pytest.approx(whole.flops / 4), pytest.approx(whole.bytes / 4))
        for (heads, *its), (all_heads, *all_of_it) in zip(own.fused, whole.fused, strict=True):
            assert (4 * heads, its) == (all_heads, all_of_it)


def test_what_is_merged_takes_time_and_no_launch() -> None:
    def seconds(form: str, **software: Any) -> float:
        document = training(
            {"context": 4, "context_communication": form, "flash_attention": True},
            [dimension("switch", 4, "100 TB/s", "0 ns", library={})],
            workload={"precision": "bf16", "model": model(sequence_length=8192, bias=False), "global_batch": 1},
            accelerator="h100-80gb",
            stack={"base": "megatron-core", **software},
        )
        return simulate(design_from(document)).compute_s

    launched = {"launch": {"eager": "1 ms", "compiled": "1 ms", "graph": "1 ms"}}
    # Rings launch three times more attention kernels forward, and as many backward, in each of eight layers.
    assert seconds("ring", **launched) - seconds("all_to_all", **launched) == pytest.approx(8 * 6 * 1e-3, rel=0.05)
    assert seconds("ring") > seconds("all_to_all")


def test_a_ring_holds_the_outputs_of_all_parts_until_the_last_is_done() -> None:
    short, long = (
        part_of({"context": 8, "flash_attention": True}, 8, model=model(sequence_length=s)) for s in (8192, 16384)
    )
    # Outputs, keys and values of 8,192 more tokens, an eighth of them its own, less what the head keeps of these.
    assert long.working - short.working > 2.5 * 8192 * 512 * 2


@pytest.mark.parametrize("c", [2, 4, 8])
def test_all_to_alls_exchange_queries_keys_values_and_outputs(c: int) -> None:
    part = part_of({"context": c, "context_communication": "all_to_all"}, c)
    assert issued(part.forward, "all_to_all", "context") == 8 * 4 * S / c * H * 2
    assert issued(part.backward, "all_to_all", "context") == 8 * 4 * S / c * H * 2


@pytest.mark.parametrize("form", ["ring", "all_to_all"])
@pytest.mark.parametrize("flash", [False, True])
def test_context_parallelism_splits_flops_and_activations_evenly(form: str, flash: bool) -> None:
    whole = part_of({"flash_attention": flash}, 1)
    part = part_of({"context": 4, "context_communication": form, "flash_attention": flash}, 4)
    assert flops(part.forward) == pytest.approx(flops(whole.forward) / 4)
    assert flops(part.backward) == pytest.approx(flops(whole.backward) / 4)
    apart = 8 * S / 4 * H * 2 if form == "all_to_all" else 0  # the output before and after its all-to-all
    assert part.activations == pytest.approx(whole.activations / 4 + apart)


def test_flash_attention_skips_the_masked_half_and_recomputes_scores_backward() -> None:
    plain, flash = part_of({"flash_attention": False}, 1), part_of({}, 1)
    core = 8 * 4 * S * S * H
    assert flops(plain.forward) - flops(flash.forward) == pytest.approx(core / 2)
    assert flops(flash.forward, ("flash",)) == pytest.approx(core / 2)
    assert flops(flash.backward, ("flash",)) == pytest.approx(2.5 * core / 2)


def test_flash_attention_keeps_a_number_a_row_and_no_scores() -> None:
    plain, flash = part_of({"flash_attention": False}, 1), part_of({}, 1)
    scores, rows = 8 * 5 * 8 * S * S, 8 * 4 * 8 * S
    assert plain.activations - flash.activations == scores - rows


def test_gradients_are_reduced_over_data_and_context() -> None:
    part = part_of({"context": 2, "data": 4}, 8)
    assert issued(part.last_backward, "all_reduce", "data_context") == pytest.approx(2 * part.parameters)
    assert issued(part.last_backward, "all_reduce", "data") == 0


@given(st.sampled_from([2, 4, 8]), st.sampled_from([1, 2]), st.booleans())
def test_tensor_overlap_sends_the_same_bytes_in_rings(t: int, microbatch: int, gated: bool) -> None:
    def bytes_of(overlap: bool) -> tuple[float, float]:
        parallelism = {"tensor": t, "sequence_parallel": True, "tensor_overlap": overlap, "microbatch": microbatch}
        found = []
        part = part_of(parallelism, t, model=model(gated=gated))
        for segments in (part.forward, part.backward):
            layer = tuple(segment for segment in segments if segment.name == "layer")
            gathered = issued(layer, "all_gather", "tensor") * (t - 1)
            scattered = issued(layer, "reduce_scatter", "tensor") * (t - 1) / t
            found.append(gathered + scattered + issued(layer, "shift", "tensor"))
        return found[0], found[1]

    assert bytes_of(True) == pytest.approx(bytes_of(False))


def layer_of(segments: tuple[Segment, ...]) -> tuple[Operator, ...]:
    return next(segment.operators for segment in segments if segment.name == "layer")


@pytest.mark.parametrize("t", [2, 4, 8])
def test_tensor_overlap_cuts_forward_products_and_input_gradients_of_row_parallel_ones_alone(t: int) -> None:
    part = part_of({"tensor": t, "sequence_parallel": True, "tensor_overlap": True}, t)

    def counts(segments: tuple[Segment, ...]) -> dict[str, int]:
        return Counter(op.name for op in layer_of(segments) if isinstance(op, Compute) and op.shape)

    forward, backward = counts(part.forward), counts(part.backward)
    assert {name: forward[name] for name in MATRICES} == {"qkv": t, "mlp-in": t, "projection": 4, "mlp-out": 4}
    for name in MATRICES:
        assert backward[f"{name}-input-gradient"] == (t if name in ROWS else 1)
        assert backward[f"{name}-weight-gradient"] == 1


@pytest.mark.parametrize("t", [2, 4])
def test_the_pieces_of_a_product_do_its_flops_and_take_one_launch(t: int) -> None:
    def layers(overlap: bool) -> list[tuple[Operator, ...]]:
        part = part_of({"tensor": t, "sequence_parallel": True, "tensor_overlap": overlap}, t)
        return [layer_of(part.forward), layer_of(part.backward)]

    whole, cut = layers(False), layers(True)
    for one, other in zip(whole, cut, strict=True):
        products = [[op for op in way if isinstance(op, Compute) and op.shape] for way in (one, other)]
        flops = [sum(op.flops for op in way) for way in products]
        launches = [sum(1 / op.pieces for op in way) for way in products]
        assert flops[0] == pytest.approx(flops[1])
        assert launches[0] == pytest.approx(launches[1])


@pytest.mark.parametrize(
    ("switch", "parallelism"),
    [
        ("context_overlap", {"context": 4, "data": 2}),
        ("data_overlap", {"data": 8}),
        ("data_overlap", {"data": 8, "zero": 3}),
    ],
)
def test_what_overlaps_hides_behind_computation_and_computes_the_same(switch: str, parallelism: dict[str, Any]) -> None:
    with_it = simulate(one({**parallelism, switch: True}, 8))
    without = simulate(one({**parallelism, switch: False}, 8))
    assert with_it.iteration_time_s < without.iteration_time_s
    assert with_it.exposed_communication_s.total < without.exposed_communication_s.total
    assert with_it.compute_s == pytest.approx(without.compute_s)
    assert [d.bytes_per_npu for d in with_it.network] == pytest.approx([d.bytes_per_npu for d in without.network])


def test_communication_that_computation_outlasts_is_hidden() -> None:
    shape = model(sequence_length=8192, layers=2)
    result = simulate(one({"context": 4, "flash_attention": True}, 4, model=shape, global_batch=1))
    assert result.exposed_communication_s.context == 0.0


def test_recomputing_some_layers_costs_their_forward_and_saves_their_activations() -> None:
    none, some, every = (
        part_of(recompute, 1) for recompute in ({}, {"recompute": "full", "recompute_layers": 3}, {"recompute": "full"})
    )
    saved = none.activations - every.activations
    assert none.activations - some.activations == pytest.approx(saved * 3 / 8)
    added = flops(every.backward) - flops(none.backward)
    assert flops(some.backward) - flops(none.backward) == pytest.approx(added * 3 / 8)


def test_uneven_stages_hold_the_layers_they_are_given() -> None:
    design = one({"pipeline": 4, "first_stage_layers": 1, "last_stage_layers": 1}, 4)
    program = transformer_program(design)
    counts = [
        sum(segment.repeat for segment in program.parts[program.part_of[k]].forward if segment.name == "layer")
        for k in range(4)
    ]
    assert counts == [1, 3, 3, 1]


@pytest.mark.parametrize(
    ("layers", "expected"), [(14, [1, 2, 2, 2, 2, 2, 2, 1]), (6, [0, 1, 1, 1, 1, 1, 1, 0]), (22, [2, *[3] * 6, 2])]
)
def test_interleaved_stages_lack_layers_at_the_ends_of_the_model(layers: int, expected: list[int]) -> None:
    ends = {"first_stage_layers": sum(expected[::4]), "last_stage_layers": sum(expected[3::4])}
    design = one({"pipeline": 4, "interleave": 2, **ends}, 4, model=model(layers=layers), global_batch=8)
    program = transformer_program(design)
    counts = [
        sum(segment.repeat for segment in program.parts[program.part_of[k]].forward if segment.name == "layer")
        for k in range(8)
    ]
    assert counts == expected
    whole = transformer_program(one({}, 1, model=model(layers=layers), global_batch=8)).parts[0]
    table = program.parts[program.part_of[0]].parameters - counts[0] * (
        program.parts[program.part_of[1]].parameters / counts[1]
    )
    tied = sum(program.parts[k].parameters for k in program.part_of) - whole.parameters
    assert 0 < tied <= table  # the output matrix is the embedding's where both are on one NPU


def test_eight_bit_precision_halves_the_inputs_of_products_and_nothing_else() -> None:
    npu = {"peak": {"fp8": "2000 TFLOP/s", "bf16": "1000 TFLOP/s"}}

    def of(precision: str) -> tuple[Any, Result]:
        from designs import npu as round_npu

        document = training(
            {"flash_attention": True, "zero": 1},
            [dimension(size=1)],
            workload={"precision": precision, "gradient_precision": "fp32", "model": model(bias=False)},
            accelerator=round_npu(**npu),
        )
        design = design_from(document)
        return transformer_program(design).parts[0], simulate(design)

    (half, result), (eight, faster) = of("bf16"), of("fp8")
    sbh = S * H
    # Per layer: two norm outputs, the projection's own input beside attention's output, the second product's input.
    assert half.activations - eight.activations == 8 * (2 * sbh - sbh + 4 * sbh)
    assert faster.iteration_time_s < result.iteration_time_s
    assert result.memory_bytes is not None
    assert faster.memory_bytes is not None
    assert faster.memory_bytes.weights == result.memory_bytes.weights  # by rows and by columns


@pytest.mark.parametrize("heads", [1, 2, 4, 8])
def test_an_npu_attends_with_a_whole_head_of_keys_at_the_least(heads: int) -> None:
    """Eight query heads over four NPUs: fewer key-value heads than NPUs are held several times, and gathered first."""
    shape = model(kv_heads=heads, heads=8)
    npu = max(heads / 4, 1) * H / 8  # width of its keys
    ring = part_of({"tensor": 4, "context": 2}, 8, model=shape)
    assert issued(ring.forward, "shift", "context") == pytest.approx(8 * S / 2 * 2 * npu * 2)
    part = part_of({"tensor": 4}, 4, model=shape)
    gathered = 0 if heads >= 4 else 8 * S * (H + 2 * heads * H / 8) / 4 * 2
    assert issued(part.forward, "all_gather", "tensor") == gathered
    assert issued(part.backward, "reduce_scatter", "tensor") == 4 * gathered
