"""Tensor groups of more NPUs than divide the heads: what is computed, sent and kept, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from designs import dimension, model, training

from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.document.problem import InputError
from simcore.program import Compute, Start
from simcore.simulate import simulate
from simcore.system.placement import place
from simcore.workload.transformer.program import transformer_program

S, H, LAYERS = 128, 512, 8


def split(tensor: int, heads: int, npus: int | None = None, shape: dict[str, Any] | None = None, **its: Any) -> Design:
    workload = {"model": model(heads=heads, **(shape or {}))}
    parallelism = {"tensor": tensor, "attention_split": "queries", **its}
    return design_from(training(parallelism, [dimension("switch", npus or tensor)], workload=workload))


def part_of(design: Design) -> Any:
    (part,) = transformer_program(design).parts
    return part


def sent(design: Design, way: str) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    for segment in getattr(part_of(design), way):
        for op in segment.operators:
            if isinstance(op, Start):
                found[op.kind, op.group] = found.get((op.kind, op.group), 0.0) + op.size * segment.repeat
    return found


def work(design: Design) -> float:
    part = part_of(design)
    return sum(
        op.flops * segment.repeat
        for segment in (*part.forward, *part.backward)
        for op in segment.operators
        if isinstance(op, Compute)
    )


@pytest.mark.parametrize("flash", [False, True])
@pytest.mark.parametrize(("tensor", "heads"), [(2, 1), (8, 4), (8, 2), (16, 24), (32, 4)])
def test_nothing_is_computed_twice(tensor: int, heads: int, flash: bool) -> None:
    shape = {"head_dim": 96, "vocabulary": 4096}  # a multiple of 128 for every degree
    whole = split(1, heads, shape=shape, flash_attention=flash)
    its = split(tensor, heads, shape=shape, flash_attention=flash)
    assert work(its) == pytest.approx(work(whole) / tensor)
    assert part_of(its).parameters == pytest.approx(part_of(whole).parameters / tensor)


@pytest.mark.parametrize(("tensor", "heads", "members"), [(2, 1, 2), (8, 4, 2), (8, 2, 4), (16, 24, 2)])
def test_keys_and_values_are_gathered_and_queries_and_outputs_exchanged(tensor: int, heads: int, members: int) -> None:
    its = split(tensor, heads, shape={"head_dim": 64})
    columns = heads * 64 / tensor
    own = LAYERS * S * columns * 2  # an NPU's queries of a microbatch in all layers, fp16; keys and values are as large
    assert sent(its, "forward")["all_to_all", "query"] == pytest.approx(2 * own)
    assert sent(its, "forward")["all_gather", "query"] == pytest.approx(2 * own)  # an NPU's share, as it is given
    assert sent(its, "backward")["all_to_all", "query"] == pytest.approx(2 * own)
    assert sent(its, "backward")["reduce_scatter", "query"] == pytest.approx(2 * own * members)


@pytest.mark.parametrize("members", [2, 4])
def test_what_is_exchanged_and_gathered_is_copied(members: int) -> None:
    """Queries and outputs twice each way, keys and values once: every number read and written."""
    its = split(4 * members, 4, shape={"head_dim": 64})

    def copied(way: str) -> float:
        segments = getattr(part_of(its), way)
        operators = [(op, segment.repeat) for segment in segments for op in segment.operators]
        return sum(op.bytes * n for op, n in operators if isinstance(op, Compute) and op.name == "pack")

    own = LAYERS * S * 4 * 64 / (4 * members) * 2
    assert copied("forward") == pytest.approx(2 * (4 + 2 * members) * own)
    assert copied("backward") == pytest.approx(copied("forward"))


def test_a_tensor_group_that_divides_the_heads_is_as_it_was() -> None:
    its = split(4, 8)
    plain = its.with_("parallelism.attention_split", "heads")
    assert simulate(its).iteration_time_s == simulate(plain).iteration_time_s
    assert its.key == plain.key
    assert "query" not in place(its)[0]


def test_neighbours_share_heads() -> None:
    slices = place(split(8, 2, npus=16))[0]["query"]
    assert [(where.part.members, where.part.stride) for where in slices] == [(4, 1)]


@pytest.mark.parametrize("recompute", ["none", "selective", "full"])
def test_gathered_keys_and_values_are_held(recompute: str) -> None:
    """Beyond an even share: gathered keys and values, and outputs in both orders."""
    even, its = (split(8, heads, shape={"head_dim": 512 // heads}, recompute=recompute) for heads in (8, 2))
    share = S * H / 8 * 2
    own = {"none": 3 * 2 * share + share, "selective": share, "full": 0.0}[recompute]
    rows = (
        S * (8 - 2) / 8 * 4 if recompute == "none" else 0.0
    )  # one fp32 number a row of scores, fewer with fewer heads
    assert part_of(its).activations - part_of(even).activations == pytest.approx(LAYERS * (own - rows))
    assert part_of(its).working >= part_of(even).working


@pytest.mark.parametrize("sequence_parallel", [False, True])
def test_fewer_heads_on_as_many_npus_are_slower(sequence_parallel: bool) -> None:
    times = [
        simulate(
            split(8, heads, shape={"head_dim": 512 // heads}, sequence_parallel=sequence_parallel)
        ).iteration_time_s
        for heads in (8, 4, 2, 1)
    ]
    assert times == sorted(times)
    assert len(set(times)) == 4


@pytest.mark.parametrize(
    ("tensor", "heads", "shape", "parallelism", "said"),
    [
        (8, 4, {"qk_norm": "head"}, {}, "expected heads beside qk_norm"),
        (8, 4, {}, {"context": 2}, "expected heads beside context parallelism"),
        (8, 4, {"kv_heads": 2}, {}, "the 4 groups of heads do not divide the 2 key-value heads"),
        (16, 4, {"head_dim": 2}, {}, "the columns of queries \\(8\\)"),
        (8, 2, {"head_dim": 4, "position": "rotary"}, {}, "the columns of queries \\(8\\)"),
        (16, 1, {"sequence_length": 24}, {}, "the sequence length \\(24\\)"),
    ],
)
def test_what_cannot_be_split_is_refused(
    tensor: int, heads: int, shape: dict[str, Any], parallelism: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        split(tensor, heads, tensor * parallelism.get("context", 1), shape, **parallelism)


def test_more_npus_than_divide_the_heads_must_be_asked_for() -> None:
    with pytest.raises(InputError, match="a degree that divides the attention heads"):
        split(8, 4, attention_split="heads")
