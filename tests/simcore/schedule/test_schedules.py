"""What every pipeline schedule must do, by replaying its order; and the bubbles of the closed forms."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from designs import dimension, model, npu, training
from hypothesis import given
from hypothesis import strategies as st

from simcore.check.load import design_from
from simcore.compute import times_of
from simcore.design.design import Design
from simcore.document.problem import InputError
from simcore.engine.fast.iteration import Timing, time_program
from simcore.engine.fast.lower import Lowering
from simcore.program import Compute, ModelPart, Segment, Start
from simcore.schedule import SCHEDULES
from simcore.schedule import base as code
from simcore.simulate import simulate
from simcore.system.placement import place
from simcore.workload.transformer.program import transformer_program

Block = tuple[int, int, int]
"""Microbatch, chunk, kind (0 forward, 1 backward, 2 weight gradients)."""

CASES = [
    pytest.param(name, p, m, v, id=f"{name}-p{p}-m{m}-v{v}")
    for name, p, m, v in product(SCHEDULES, (1, 2, 3, 4, 8), (1, 2, 4, 6, 8, 24), (1, 2, 3))
    if SCHEDULES[name].chunks in (None, v)
    if v == 1 or (SCHEDULES[name].interleaves and p > 1)
    if m % SCHEDULES[name].round(p, v) == 0 and m >= SCHEDULES[name].least(p)
    if SCHEDULES[name].flushes or m >= p  # else the batches before fill it
]


def blocks(name: str, p: int, m: int, v: int) -> list[list[Block]]:
    shift = code.CHUNK_SHIFT
    rows = SCHEDULES[name].order(p, m, v).tolist()
    mask = code.CHUNK_MASK
    return [[(c >> (shift + 1), (c >> 1) & mask, 2 if (c >> 1) & code.WEIGHTS else c & 1) for c in row] for row in rows]


def chunks_of(name: str) -> int:
    return SCHEDULES[name].chunks or 1


def kinds(name: str) -> tuple[int, ...]:
    return (0, 1, 2) if SCHEDULES[name].splits else (0, 1)


@pytest.mark.parametrize(("name", "p", "m", "v"), CASES)
def test_every_stage_runs_every_block_once_and_forward_before_backward(name: str, p: int, m: int, v: int) -> None:
    for row in blocks(name, p, m, v):
        assert sorted(row) == sorted(product(range(m), range(v), kinds(name)))
        at = {block: i for i, block in enumerate(row)}
        for mb, chunk, kind in product(range(m), range(v), kinds(name)[1:]):
            assert at[(mb, chunk, kind - 1)] < at[(mb, chunk, kind)]
        assert row[-1] == (m - 1, 0, kinds(name)[-1])


def replay(name: str, order: list[list[Block]], p: int, v: int) -> tuple[int, list[int]]:
    """Time of the iteration with blocks of one unit, and the time at which each stage ends; fails on a deadlock."""
    along = {place: k for k, place in enumerate(SCHEDULES[name].path(p, v).tolist())}
    assert sorted(along) == list(range(p * v))
    done: dict[tuple[int, int, int], int] = {}
    position, now = [0] * p, [0] * p
    moved = True
    while moved:
        moved = False
        for s in range(p):
            while position[s] < len(order[s]):
                mb, chunk, direction = order[s][position[s]]
                stage = along[chunk * p + s]
                before = (mb, stage - 1, 0) if direction == 0 else (mb, stage + 1, 1)
                exists = 0 <= before[1] < p * v and direction < 2
                if exists and before not in done:
                    break
                if direction == 1:
                    assert (mb, stage, 0) in done
                start = max(now[s], done[before]) if exists else now[s]
                now[s] = start + 1
                if direction < 2:
                    done[(mb, stage, direction)] = now[s]
                position[s] += 1
                moved = True
    assert position == [len(row) for row in order], "deadlock"
    return max(now), now


@pytest.mark.parametrize(("name", "p", "m", "v"), CASES)
def test_every_order_runs_to_its_end(name: str, p: int, m: int, v: int) -> None:
    replay(name, blocks(name, p, m, v), p, v)


def peaks(row: list[Block], v: int) -> tuple[int, set[tuple[int, ...]], list[int]]:
    """Most blocks in flight, the counts per chunk at those times, and the most of each chunk at any time."""
    counts = [0] * v
    most: list[int] = [0] * v
    top: int = 0
    shapes: set[tuple[int, ...]] = set()
    last = max(kind for _, _, kind in row)
    for _, chunk, kind in row:
        counts[chunk] += 1 if kind == 0 else -1 if kind == last else 0
        most = [max(a, b) for a, b in zip(most, counts, strict=True)]
        if sum(counts) > top:
            top, shapes = sum(counts), set()
        if sum(counts) == top:
            shapes.add(tuple(counts))
    assert counts == [0] * v
    return top, shapes, most


@pytest.mark.parametrize(("name", "p", "m", "v"), CASES)
def test_in_flight_is_the_peak_found_by_replay(name: str, p: int, m: int, v: int) -> None:
    for stage, row in enumerate(blocks(name, p, m, v)):
        flying = SCHEDULES[name].in_flight(stage, p, m, v)
        top, shapes, most = peaks(row, v)
        assert sum(flying) == top
        assert flying in shapes
        if stage == p - 1 and not SCHEDULES[name].folds:
            assert flying[-1] == most[-1]  # only there is a chunk larger than the others: it has the logits


@pytest.mark.parametrize("p", [2, 4, 8])
@pytest.mark.parametrize("v", [1, 2, 4])
def test_the_first_stage_keeps_p_microbatches_and_interleaving_1_plus_p_minus_1_over_p_v(p: int, v: int) -> None:
    flying = sum(SCHEDULES["1f1b"].in_flight(0, p, 8 * p, v)) / v
    assert flying == (p if v == 1 else p * (1 + (p - 1) / (p * v)))


@pytest.mark.parametrize("p", [2, 4, 8])
def test_1f1b_keeps_one_microbatch_less_on_each_later_stage(p: int) -> None:
    assert [SCHEDULES["1f1b"].in_flight(s, p, 64, 1)[0] for s in range(p)] == list(range(p, 0, -1))


def test_gpipe_keeps_every_microbatch() -> None:
    assert all(SCHEDULES["gpipe"].in_flight(s, 4, 17, 1) == (17,) for s in range(4))
    assert all(SCHEDULES["gpipe"].in_flight(s, 4, 16, 3) == (16, 16, 16) for s in range(4))


def test_gpipe_of_one_stage_accumulates_gradients() -> None:
    assert blocks("gpipe", 1, 3, 1) == blocks("1f1b", 1, 3, 1)
    assert SCHEDULES["gpipe"].in_flight(0, 1, 3, 1) == (1,)


def test_gpipe_goes_through_its_chunks_breadth_first() -> None:
    order = blocks("gpipe", 2, 2, 2)
    forward, backward = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)], [(0, 1, 1), (1, 1, 1), (0, 0, 1), (1, 0, 1)]
    assert order == [forward + backward] * 2


def test_no_more_is_in_flight_than_there_is() -> None:
    assert sum(SCHEDULES["1f1b"].in_flight(0, 8, 3, 1)) == 3
    assert sum(SCHEDULES["1f1b"].in_flight(0, 4, 4, 2)) == 8


@given(st.sampled_from(["1f1b", "gpipe"]), st.integers(1, 12), st.integers(1, 12), st.integers(1, 4))
def test_orders_of_any_size_run_and_have_the_ideal_time(name: str, p: int, rounds: int, v: int) -> None:
    v = v if p > 1 else 1
    m = rounds * p if v > 1 else rounds
    order = blocks(name, p, m, v)
    # Forward and backward of one unit each: 2 m v of work and a bubble of 2 (p - 1), whatever the number of chunks.
    assert replay(name, order, p, v)[0] == 2 * m * v + 2 * (p - 1)


# V-shaped schedules: with forward, input gradient and weight gradients of one unit each


@pytest.mark.parametrize("name", ["zbv", "dualpipe-v"])
@pytest.mark.parametrize(("p", "rounds"), [(2, 2), (3, 2), (4, 3), (5, 4), (8, 3), (16, 2)])
def test_with_equal_blocks_no_stage_waits_once_it_has_begun(name: str, p: int, rounds: int) -> None:
    m = rounds * p
    assert replay(name, blocks(name, p, m, 2), p, 2)[0] == 6 * m + p - 1


@pytest.mark.parametrize("name", [name for name, one in SCHEDULES.items() if one.pairs is None])
def test_only_a_schedule_that_takes_turns_has_blocks_in_no_pair(name: str) -> None:
    assert not (SCHEDULES[name].order(4, 8, chunks_of(name)) >> 1 & code.ALONE).any()


@pytest.mark.parametrize(("p", "m", "v"), [(1, 4, 1), (2, 4, 2), (4, 16, 2), (4, 4, 3), (8, 64, 1)])
def test_1f1b_pairs_all_blocks_but_those_of_the_warm_up_and_as_many_at_the_end(p: int, m: int, v: int) -> None:
    for stage, row in enumerate(SCHEDULES["1f1b"].order(p, m, v).tolist()):
        warm = min(p - stage - 1 if v == 1 else 2 * (p - stage - 1) + (v - 1) * p, m * v)
        alone = [c >> 1 & code.ALONE > 0 for c in row]
        assert alone == [True] * warm + [False] * (2 * (m * v - warm)) + [True] * warm
        assert [c & 1 for c in row] == [0] * warm + [0, 1] * (m * v - warm) + [1] * warm


@pytest.mark.parametrize(("p", "m"), [(2, 4), (3, 7), (4, 8), (8, 40)])
def test_dualpipe_v_pairs_all_blocks_but_those_that_fill_and_drain(p: int, m: int) -> None:
    for stage, row in enumerate(SCHEDULES["dualpipe-v"].order(p, m, 2).tolist()):
        paired = [c for c in row if not c >> 1 & (code.ALONE | code.WEIGHTS)]
        # Steps 4 and 5 of DeepSeek's own order; on the last stage one pair of them runs apart, for a shorter bubble.
        pairs = 2 * (m - 2 * p + stage + 1) + (p - stage - 1) - (stage == p - 1)
        assert len(paired) == 2 * pairs
        for forward, backward in zip(paired[::2], paired[1::2], strict=True):
            assert (forward & 1, backward & 1) == (0, 1)
            assert row.index(backward) == row.index(forward) + 1
            assert (forward >> 1 & code.CHUNK_MASK) + (backward >> 1 & code.CHUNK_MASK) == 1


@pytest.mark.parametrize("p", [2, 3, 4, 5, 6, 8, 12, 16])
def test_bubbles_of_v_half_and_v_min_lie_between_those_of_zbv_and_1f1b(p: int) -> None:
    m = 4 * p
    bubbles = [replay(name, blocks(name, p, m, 2), p, 2)[0] - 6 * m for name in ("zbv", "v-half", "v-min")]
    whole = 6 * (p - 1)  # of 1F1B: p - 1 times forward and backward of both chunks
    assert bubbles[0] <= bubbles[1] <= bubbles[2] + 1 <= whole


@pytest.mark.parametrize("p", [2, 3, 4, 5, 6, 8, 12, 16, 24])
def test_v_schedules_keep_what_1f1b_keeps_half_of_it_and_a_third(p: int) -> None:
    def most(name: str) -> int:
        return max(sum(SCHEDULES[name].in_flight(s, p, 6 * p, 2)) for s in range(p))

    assert most("zbv") == 2 * p  # chunks, two to a microbatch
    assert most("dualpipe-v") == 2 * p + 1
    assert p <= most("v-half") <= p + 3
    assert 2 * p / 3 <= most("v-min") <= 2 * p / 3 + 8 / 3


def test_the_pipeline_folds_in_a_v() -> None:
    assert SCHEDULES["zbv"].path(3, 2).tolist() == [0, 1, 2, 5, 4, 3]
    assert SCHEDULES["1f1b"].path(3, 2).tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("name", ["zbv", "v-half", "v-min", "dualpipe-v"])
def test_embedding_and_head_are_on_the_first_stage_and_nothing_is_sent_where_the_pipeline_folds(name: str) -> None:
    parallelism = {"pipeline": 4, "interleave": 2, "schedule": name}
    design = design_from(training(parallelism, [dimension(size=4)], workload={"model": model(layers=8)}))
    program, lowering = transformer_program(design), Lowering(design, place(design)[0], times_of(design))
    kinds = [{s.name for s in program.parts[part].forward} for part in program.part_of]
    assert kinds == [{"embedding", "layer"}, *[{"layer"}] * 3, {"layer", "head"}, *[{"layer"}] * 3]
    choices = lowering.add(program)
    sent = [[sum(lowering.issues(block).values()) for block in row] for row in choices[:, :, :2].reshape(8, 2).tolist()]
    # [forward, backward] of stage 0 chunk 0, stage 0 chunk 1, stage 1 chunk 0, ...
    assert sent == [[1, 0], [0, 1], [1, 1], [1, 1], [1, 1], [1, 1], [0, 1], [1, 0]]


# Bubbles, timed by the engine


def balanced(
    name: str, p: int, m: int, v: int, forward: float, backward: float, weights: float = 0.0
) -> tuple[Design, Timing]:
    """A pipeline of equal stages that sends nothing, with FLOPs of a microbatch on a stage.

    `weights` are the FLOPs of the weight gradients, where `backward` computes input gradients alone.
    """
    parallelism = {"pipeline": p, "interleave": v, "schedule": name}
    network = [dimension(size=p, bandwidth="1000000 EB/s", latency="0 s")]
    workload = {"model": model(layers=64), "global_batch": m}
    design = design_from(training(parallelism, network, workload=workload, system={"chunks": 1}))
    steps = [Segment("block", (Compute("block", "gemm", flops / v, 0.0),)) for flops in (forward, backward, weights)]
    part = ModelPart((steps[0],), (steps[1],), (steps[1],), parameters=1.0, activations=1.0, working=1.0)
    if weights:
        part = replace(part, weights=(steps[2],), last_weights=(steps[2],))
    program = replace(
        transformer_program(design), parts=(part,), part_of=(0,) * (p * v), final=((),) * p, send_bytes=0.0
    )
    return design, time_program(design, program, place(design)[0])[0]


@pytest.mark.parametrize("name", ["gpipe", "1f1b"])
@pytest.mark.parametrize(("p", "m"), [(2, 2), (4, 4), (4, 16), (8, 3), (8, 64), (1, 5)])
def test_the_bubble_of_equal_stages_is_p_minus_1_over_m_plus_p_minus_1(name: str, p: int, m: int) -> None:
    _, timing = balanced(name, p, m, 1, 1e14, 2e14)  # 1 s forward, 2 s backward
    assert timing.total / 1e12 == pytest.approx(3 * (m + p - 1), rel=1e-9)
    assert timing.bubble / timing.total == pytest.approx((p - 1) / (m + p - 1), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("p", "m"), [(2, 2), (4, 4), (4, 16), (8, 64)])
@pytest.mark.parametrize("v", [2, 4, 8])
@pytest.mark.parametrize("name", ["gpipe", "1f1b"])
def test_interleaving_divides_the_bubble_by_the_chunks(name: str, p: int, m: int, v: int) -> None:
    _, timing = balanced(name, p, m, v, 1e14, 2e14)
    assert timing.bubble / 1e12 == pytest.approx(3 * (p - 1) / v, rel=1e-9)
    assert timing.total / 1e12 == pytest.approx(3 * m + 3 * (p - 1) / v, rel=1e-9)


@pytest.mark.parametrize(("p", "m"), [(1, 5), (2, 4), (4, 4), (4, 16), (8, 8), (8, 64)])
@pytest.mark.parametrize(("f", "b", "w"), [(1, 1, 1), (1.0, 1.2, 0.8), (1, 2, 1)])
def test_zero_bubble_leaves_p_minus_1_times_forward_and_input_less_weight_gradients(
    p: int, m: int, f: float, b: float, w: float
) -> None:
    _, timing = balanced("zero_bubble", p, m, 1, f * 1e14, b * 1e14, w * 1e14)
    assert timing.total / 1e12 == pytest.approx(m * (f + b + w) + (p - 1) * (f + b - w), rel=1e-9)
    _, whole = balanced("1f1b", p, m, 1, f * 1e14, (b + w) * 1e14)
    assert whole.total / 1e12 == pytest.approx((m + p - 1) * (f + b + w), rel=1e-9)


@pytest.mark.parametrize("p", [2, 4, 8])
@pytest.mark.parametrize(("f", "b", "w"), [(1, 1, 1), (1.0, 1.2, 0.8), (1, 2, 1), (2, 1, 1)])
def test_dualpipe_v_waits_for_no_longer_than_its_authors_say(p: int, f: float, b: float, w: float) -> None:
    """(PP / 2 - 1) (F&B + B - 3 W) over PP = 2 p stages (DeepSeek-AI 2024, table 2), B a whole backward pass.

    They let both blocks of a pair end together; here the forward one, which is before the other, sends when it ends.
    """
    _, timing = balanced("dualpipe-v", p, 4 * p, 2, f * 1e14, b * 1e14, w * 1e14)
    bubble = timing.total / 1e12 - 4 * p * (f + b + w)
    published = (p - 1) * ((f + b + w) + (b + w) - 3 * w) / 2  # of chunks, two to a microbatch
    assert published - (p - 1) * f / 2 - 1e-9 <= bubble + (p - 1) * max(0.0, b - f) / 2 <= published + 1e-9


@pytest.mark.parametrize("p", [2, 4, 8])
def test_zero_bubble_keeps_on_every_stage_what_1f1b_keeps_on_the_first(p: int) -> None:
    kept = [SCHEDULES["zero_bubble"].in_flight(s, p, 64, 1) for s in range(p)]
    assert kept == [SCHEDULES["1f1b"].in_flight(0, p, 64, 1)] * p


def test_splitting_the_backward_pass_changes_no_flops_and_reduces_all_gradients_once() -> None:
    def part_of(name: str) -> ModelPart:
        document = training({"data": 4, "tensor": 2, "schedule": name, "bucket": "1 B"}, [dimension(size=8)])
        return transformer_program(design_from(document)).parts[0]

    def flops(*segments: Segment) -> float:
        return sum(op.flops * s.repeat for s in segments for op in s.operators if isinstance(op, Compute))

    def reduced(*segments: Segment) -> float:
        starts = [
            (op, s.repeat) for s in segments for op in s.operators if isinstance(op, Start) and op.group == "data"
        ]
        return sum(op.size * times for op, times in starts)

    whole, split = part_of("1f1b"), part_of("zero_bubble")
    assert flops(*split.backward) + flops(*split.weights) == pytest.approx(flops(*whole.backward))
    assert reduced(*split.last_weights) == pytest.approx(reduced(*whole.last_backward))
    assert reduced(*split.last_backward, *split.weights) == 0
    tensor = [op for s in split.weights for op in s.operators if isinstance(op, Start)]
    assert tensor == []


@pytest.mark.parametrize(("p", "m"), [(2, 4), (4, 8), (8, 32)])
def test_a_whole_design_without_communication_cost_has_the_same_bubble(p: int, m: int) -> None:
    # Layers so wide that embedding, head, optimizer and norms are lost beside them: what is left of a difference.
    sizes = model(hidden=65536, heads=64, layers=8, vocabulary=128, sequence_length=256)
    fast_memory = npu(memory={"capacity": "80 GB", "bandwidth": "1000 EB/s", "efficiency": 1.0})
    network = [dimension(size=p, bandwidth="1000 EB/s", latency="0 s")]
    workload = {"model": sizes, "global_batch": m}
    document = training({"pipeline": p}, network, workload=workload, system={"chunks": 1}, accelerator=fast_memory)
    result = simulate(design_from(document))
    assert result.bubble_s / result.iteration_time_s == pytest.approx((p - 1) / (m + p - 1), rel=1e-3)


@pytest.mark.parametrize("name", list(SCHEDULES))
@pytest.mark.parametrize("p", [2, 4])
def test_a_run_that_skips_its_steady_phase_takes_as_long_as_one_that_plays_it(name: str, p: int) -> None:
    parallelism = {"pipeline": p, "data": 2, "schedule": name, "bucket": "1 kB", "interleave": chunks_of(name)}
    workload = {"model": model(layers=8), "global_batch": 2 * 20 * p}
    design = design_from(training(parallelism, [dimension(size=2 * p)], workload=workload))
    program, placement = transformer_program(design), place(design)[0]
    skipped, played = (time_program(design, program, placement, trace)[0] for trace in (False, True))
    assert skipped == played


@pytest.mark.parametrize("name", list(SCHEDULES))
def test_an_order_is_an_array_of_stages_by_blocks(name: str) -> None:
    order = SCHEDULES[name].order(4, 8, chunks_of(name))
    assert order.shape == (4, 8 * len(kinds(name)) * chunks_of(name))
    assert order.dtype == np.int64


def test_a_table_of_layers_has_no_blocks_of_weight_gradients_on_any_number_of_stages() -> None:
    workload = {"layers": [{"name": "one", "m": 8, "n": 8, "k": 8}], "global_batch": 8}
    document = training({"schedule": "zero_bubble"}, [dimension(size=8)]) | {"workload": workload}
    with pytest.raises(InputError, match="expected 1f1b or gpipe for a table of layers"):
        design_from(document)


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("stages", [1, 2, 3, 4, 8])
def test_as_many_microbatches_as_tell_all_keep_at_the_most_what_all_keep(name: str, stages: int) -> None:
    schedule = SCHEDULES[name]
    several = (1, 2, 3) if schedule.interleaves and stages > 1 else (1,)
    for chunks, microbatches in product((schedule.chunks,) if schedule.chunks else several, (24, 48, 96, 120)):
        fewer = schedule.shortened(stages, microbatches, chunks)
        assert fewer <= microbatches
        kept = [
            code.kept_after(schedule.order(stages, m, chunks), np.arange(1.0, 1.0 + chunks), schedule.splits).max(
                axis=1
            )
            for m in (fewer, microbatches)
        ]
        assert kept[0].tolist() == kept[1].tolist()


@pytest.mark.parametrize("stages", [1, 2, 3, 8])
@pytest.mark.parametrize("chunks", [1, 2, 4])
def test_where_forward_blocks_lead_backward_blocks_are_not_far_behind(stages: int, chunks: int) -> None:
    schedule = SCHEDULES["1f1b"]
    chunks = 1 if stages == 1 else chunks
    steady = schedule.steady(stages, chunks)
    assert steady is not None
    assert steady.leads
    order = schedule.order(stages, 12 * stages, chunks)
    far = steady.cool // steady.period
    for blocks in order:
        read = [code.read_block(each) for each in blocks.tolist()]
        last_forward = max(place for place, block in enumerate(read) if block.direction == 0)
        for before, block in pairwise(read[: last_forward + 2]):
            forward, backward = (before, block) if block.direction else (block, before)
            if block.direction == 0 and block.microbatch < steady.warm:
                continue
            assert (forward.direction, backward.direction) == (0, 1)
            assert 0 <= forward.microbatch // steady.period - backward.microbatch // steady.period <= far
