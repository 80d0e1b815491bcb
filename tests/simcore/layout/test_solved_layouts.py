"""Stages and recomputation that are solved: exact for the slowest stage, never behind the even split, as written."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from random import Random

import numpy as np
import pytest
from drawn_layouts import Document, all_stages, between_memories, drawn, fullness, shortest, with_parallelism

from simcore.check.check import check
from simcore.check.load import load_design, parse_design
from simcore.document.problem import InputError
from simcore.layout.boundaries import bytes_of_stage, least_slowest, sum_stages, time_stages
from simcore.layout.costs import (
    AGAIN,
    BACKWARD,
    EXPERTS,
    FLIGHT,
    FORWARD,
    KEPT,
    LAYER_COLUMNS,
    MOMENT,
    OPEN,
    SAVED,
    STAGE_COLUMNS,
    STATES,
    TABLE,
    Floats,
    costs_of,
)  # fmt: skip
from simcore.layout.settle import settle
from simcore.layout.solve import NEARLY_FULL, Solver
from simcore.memory.expanded import fits, reserve
from simcore.memory.footprint import stage_memory
from simcore.memory.plan import memory_needed, program_of
from simcore.memory.reserved import bytes_beside_tensors
from simcore.simulate import simulate
from simcore.workload.transformer.document import TransformerWorkload
from simcore.workload.transformer.stages import stage_layers

SOLVE = {"solve": True}


def random_costs(seed: int) -> tuple[Floats, Floats, Floats]:
    """Layers, stages and limits of a small pipeline in which memory matters."""
    draw = np.random.default_rng(seed)
    layers, stages = np.zeros((6, LAYER_COLUMNS)), np.zeros((3, STAGE_COLUMNS))
    experts = draw.integers(0, 2, 6)
    for kind in (0, 1):
        mine = experts == kind
        layers[mine, FORWARD], layers[mine, BACKWARD] = draw.integers(5, 9), draw.integers(10, 20)
        layers[mine, AGAIN], layers[mine, STATES] = draw.integers(4, 9), draw.integers(3, 9)
        layers[mine, KEPT], layers[mine, OPEN] = draw.integers(6, 12), 1.0
        layers[mine, SAVED] = layers[mine, KEPT] - draw.integers(1, 5)
    layers[:, EXPERTS] = experts
    stages[:, FLIGHT], stages[:, TABLE], stages[:, MOMENT] = (3, 2, 1), -np.inf, -np.inf
    stages[0, STATES], stages[2, FORWARD] = 10, draw.integers(1, 30)
    return layers, stages, np.array([1.1, float(draw.integers(15, 45))])


@pytest.mark.parametrize("seed", range(40))
def test_the_slowest_stage_is_the_least_of_all_ways_that_fit(seed: int) -> None:
    layers, stages, limits = random_costs(seed)
    best = np.inf
    for sizes in all_stages(6, 3):
        times = []
        for sums, stage in zip(sum_stages(layers, stages, np.cumsum(sizes)), stages, strict=True):
            dense, experts = int(sums[7]), int(sums[8])
            each = [
                sums[0] + x * sums[11] + y * sums[12]
                for x, y in product(range(dense + 1), range(experts + 1))
                if bytes_of_stage(sums, stage, x, y, limits[0]) <= limits[1]
            ]
            times.append(min(each, default=np.inf))
        best = min(best, max(times))
    ends = least_slowest(layers, stages, limits, False)
    if np.isinf(best):
        assert ends[-1] == -1
    else:
        assert time_stages(layers, stages, limits, ends, np.zeros((3, 2))).max() == pytest.approx(best, rel=1e-12)


def test_some_random_costs_fit_and_some_do_not() -> None:
    ends = [least_slowest(*random_costs(seed), False)[-1] for seed in range(40)]
    assert 5 < sum(end < 0 for end in ends) < 35


@pytest.mark.parametrize("document", list(drawn(12, seed=3)))
def test_the_solver_counts_the_memory_of_each_stage_as_the_memory_rule_does(document: Document) -> None:
    given, opened = with_parallelism(document), with_parallelism(document, stages=SOLVE)
    solver, program = Solver(opened, costs_of(opened)), program_of(given)
    even = np.cumsum(stage_layers(TransformerWorkload.of(given.workload).model, given.parallelism))
    for stage, sums in enumerate(solver.sums(even)):
        found = bytes_of_stage(sums, solver.costs.stages[stage], 0.0, 0.0, solver.limits[0])
        expected = reserve(given, stage_memory(given, program, stage)).reserved
        assert found + bytes_beside_tensors(given) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("document", list(drawn(14, seed=7)))
def test_solved_stages_are_never_behind_the_even_split(document: Document) -> None:
    even, solved = simulate(with_parallelism(document)), simulate(with_parallelism(document, stages=SOLVE))
    if even.fits:
        assert solved.fits
        assert solved.iteration_time_s <= even.iteration_time_s * (1 + 1e-9)


def test_a_chunk_without_layers_is_not_taken_for_shorter_than_it_is() -> None:
    *_, document = drawn(140, seed=1002, interleave=2)  # times of stages say 6 % less than the even split takes
    even, solved = simulate(with_parallelism(document)), simulate(with_parallelism(document, stages=SOLVE))
    assert solved.iteration_time_s <= even.iteration_time_s


def test_solved_stages_are_often_faster_than_the_even_split() -> None:
    gains = [
        simulate(with_parallelism(document, stages=SOLVE)).iteration_time_s
        / simulate(with_parallelism(document)).iteration_time_s
        for document in drawn(8, seed=7)
    ]
    assert min(gains) < 0.95


def _hardly_different() -> list[Document]:
    """Designs of which the times of stages take another layout for the shortest."""
    drawn_before = list(drawn(43, seed=3000, most_layers=9))
    return [drawn_before[number] for number in (24, 42)]


@pytest.mark.parametrize("document", [*drawn(4, seed=21, most_layers=6), *_hardly_different()])
def test_no_other_stages_of_a_small_pipeline_are_faster(document: Document) -> None:
    layers, pipeline = document["workload"]["model"]["layers"], document["parallelism"]["pipeline"]
    each = [simulate(with_parallelism(document, stages=sizes)) for sizes in all_stages(layers, pipeline)]
    best = min(result.iteration_time_s for result in each if result.fits)
    solved = simulate(with_parallelism(document, stages=SOLVE))
    assert solved.iteration_time_s == pytest.approx(best, rel=1e-9)


def unflushed(count: int, seed: int) -> Iterator[Document]:
    """Drawn designs of pipelines that never empty, of both kinds in turn."""
    for number, document in enumerate(drawn(8 * count, seed, most_layers=6)):
        document["parallelism"]["schedule"] = ("pipedream", "pipedream_2bw")[number % 2]
        parsed, _ = parse_design(document)
        if parsed is not None and not check(parsed) and count:
            count -= 1
            yield document


@pytest.mark.parametrize("document", list(unflushed(6, seed=99)))
def test_stages_of_a_pipeline_that_never_empties_are_the_best_and_hold_all_versions(document: Document) -> None:
    layers, pipeline = document["workload"]["model"]["layers"], document["parallelism"]["pipeline"]
    each = [simulate(with_parallelism(document, stages=sizes)) for sizes in all_stages(layers, pipeline)]
    best = min(result.iteration_time_s for result in each if result.fits)
    opened, given = with_parallelism(document, stages=SOLVE), with_parallelism(document)
    assert simulate(opened).iteration_time_s == pytest.approx(best, rel=1e-9)
    solver, program = Solver(opened, costs_of(opened)), program_of(given)
    even = np.cumsum(stage_layers(TransformerWorkload.of(given.workload).model, given.parallelism))
    for stage, sums in enumerate(solver.sums(even)):
        found = bytes_of_stage(sums, solver.costs.stages[stage], 0.0, 0.0, solver.limits[0])
        expected = reserve(given, stage_memory(given, program, stage)).reserved
        assert found + bytes_beside_tensors(given) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", [4602, 4603, 4612, 4624])
def test_chunks_share_the_memory_of_their_stage_in_the_best_of_all_ways(seed: int) -> None:
    document = full_memory(seed, most_layers=4, interleave=2)
    best = fastest_of_all(document, document["parallelism"]["pipeline"] * 2)
    solved = simulate(with_parallelism(document, stages=SOLVE, recompute="solve"))
    assert solved.fits is (best < np.inf)
    if solved.fits:
        assert solved.iteration_time_s <= best * (1 + 1e-9)


def test_given_stages_of_chunks_recompute_in_the_best_of_all_ways() -> None:
    document = full_memory(4603, most_layers=4, interleave=2)
    sizes = [1, 1, 1, 1]
    solved = simulate(with_parallelism(document, stages=sizes, recompute="solve"))
    assert solved.fits
    assert solved.iteration_time_s <= fastest_of_all(document, 4, sizes) * (1 + 1e-9)


def fastest_of_all(document: Document, virtual: int, sizes: list[int] | None = None) -> float:
    """The shortest iteration of all stages, or of these, with any number of layers that recompute on each [s]."""
    return shortest(document, [sizes] if sizes else all_stages(document["workload"]["model"]["layers"], virtual))


def full_memory(seed: int, most_layers: int | None = None, share: float | None = None, interleave: int = 1) -> Document:
    """A training that does not fit unless layers recompute."""
    draw = Random(seed)
    for document in drawn(100, seed, most_layers, interleave):
        document["workload"]["model"].pop("mixture_of_experts", None)
        document["parallelism"] |= {"recompute": "none", "schedule": "1f1b"}
        if (found := between_memories(document, draw.random() if share is None else share)) is not None:
            return found
    raise AssertionError("no such design")


@pytest.mark.parametrize("seed", [1, 2])
def test_no_other_stages_and_no_other_recomputation_of_a_small_pipeline_are_faster(seed: int) -> None:
    document = full_memory(seed, most_layers=4)
    best = fastest_of_all(document, document["parallelism"]["pipeline"])
    solved = simulate(with_parallelism(document, stages=SOLVE, recompute="solve"))
    assert solved.fits
    assert solved.iteration_time_s <= best * (1 + 1e-9)


@pytest.mark.parametrize("interleave", [1, 2])
def test_layers_recompute_where_memory_asks_for_it_and_no_more_than_all(interleave: int) -> None:
    seen = 0
    for document in drawn(12, seed=5, interleave=interleave):
        document["parallelism"]["recompute"] = "none"
        full = between_memories(document, 0.5)
        if full is None:
            continue
        solved = simulate(with_parallelism(full, recompute="solve"))
        assert solved.fits
        assert not simulate(with_parallelism(full)).fits
        all_of_them = simulate(with_parallelism(full, recompute="full"))
        assert solved.iteration_time_s <= all_of_them.iteration_time_s
        assert fullness(solved) <= NEARLY_FULL or fullness(all_of_them) > NEARLY_FULL
        seen += 1
    assert seen > 3


def test_what_is_solved_is_written_and_reads_as_the_same_design() -> None:
    document = full_memory(3)
    solved = settle(with_parallelism(document, stages=SOLVE, recompute="solve"))
    written = solved.document()
    section = written["parallelism"]
    assert sum(section["stages"]) == document["workload"]["model"]["layers"]
    assert section["recompute"] == "none"
    assert {row["recompute"] for row in section["layers"]} == {"none", "full"}
    again = load_design(json.loads(json.dumps(written)))
    assert again.key == solved.key
    assert settle(again) is again
    asked = simulate(with_parallelism(document, stages=SOLVE, recompute="solve"))
    assert asked.solved == {key: section[key] for key in ("stages", "layers", "recompute")}
    assert simulate(again) == replace(asked, solved={})


def test_layers_recompute_the_modules_that_are_named() -> None:
    document = full_memory(3, share=0.95)
    solved = settle(with_parallelism(document, recompute="solve", recompute_modules=["mlp", "layernorm"]))
    ranges = solved.parallelism.layers
    assert ranges is not None
    assert {its.recompute_modules for its in ranges if its.recompute == "selective"} == {("layernorm", "mlp")}


def test_what_fits_nowhere_gets_the_stages_that_need_least_memory() -> None:
    document = next(iter(drawn(1, seed=2)))
    document["cluster"]["memory"] = {"fragmentation": 0.99}
    document["parallelism"]["recompute"] = "full"
    solved = simulate(with_parallelism(document, stages=SOLVE))
    assert not solved.fits
    even = simulate(with_parallelism(document))
    assert solved.memory_bytes is not None
    assert even.memory_bytes is not None
    assert solved.memory_bytes.reserved < even.memory_bytes.reserved


def bad_input(**keys: object) -> str:
    document = {
        "workload": {"model": {"layers": 12, "hidden": 256, "heads": 8, "vocabulary": 1000, "sequence_length": 64},
                     "global_batch": 16},
        "parallelism": {"pipeline": 4, **keys},
        "cluster": {"npu": "a100-80gb", "dimensions": [
            {"topology": "switch", "size": 8, "bandwidth": "25 GB/s", "latency": "1 us"}]},
        "hypothetical": True,
    }  # fmt: skip
    with pytest.raises(InputError) as error:
        load_design(copy.deepcopy(document))
    return str(error.value)


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"stages": [3, 3, 3]}, "expected 4 numbers of layers, one a virtual stage (pipeline 4), got 3 (3, 3, 3)"),
        ({"stages": [3, 3, 3, 4]}, "stages: expected numbers that add up to the 12 layers, got 13 (3, 3, 3, 4)"),
        ({"stages": [6, 0, 3, 3]}, "expected layers on every virtual stage but the first and the last, got 6, 0, 3, 3"),
        ({"stages": "even"}, "stages: expected numbers of layers, one a virtual stage, or {solve: true}, got 'even'"),
        ({"stages": {"solve": False}}, "or {solve: true}, got {'solve': False}"),
        ({"stages": [3] * 4, "first_stage_layers": 3}, "first_stage_layers: expected nothing beside stages, got 3"),
        (
            {"layers": [{"layers": "0-5"}, {"layers": "4-8, 12"}]},
            "layers: expected every layer from 0 to 11 in one range, got 9-11 in no range; 4-5 in more than one; "
            "12 beyond the model",
        ),
        ({"layers": [{"layers": "5-0"}, {"layers": "6-11"}]}, "from the lower number to the higher one, got '5-0'"),
        ({"layers": [{"layers": "all"}]}, "layers[0].layers: expected numbers of layers, counted from 0, got 'all'"),
        (
            {"layers": [{"layers": "0-11", "recompute": "selective", "recompute_modules": ["moe"]}]},
            "layers[0].recompute_modules: expected modules of the model, which has no experts, got moe",
        ),
        ({"layers": [{"layers": "0-11", "context": 2}]}, "layers[0].context: expected the degree of the section"),
        (
            {"stages": {"solve": True}, "layers": [{"layers": "0-11", "tensor": 4}]},
            "stages: expected numbers beside layers with degrees of their own",
        ),
        (
            {"stages": {"solve": True}, "recompute": "full", "recompute_layers": 1},
            "recompute_layers: expected nothing beside stages: {solve: true}, got 1; use recompute: solve",
        ),
        ({"recompute": "solve", "recompute_layers": 1}, "recompute_layers: expected nothing unless recompute is full"),
    ],
)  # fmt: skip
def test_bad_stages_and_ranges_are_told(keys: Document, told: str) -> None:
    assert told in bad_input(**keys)


def test_several_problems_are_told_at_once() -> None:
    text = bad_input(stages=[3, 3, 3], layers=[{"layers": "0-3"}], recompute_layers=2)
    assert text.startswith("4 problems")


def test_chunks_that_just_do_not_fit_evenly_are_not_laid_out_by_memory_alone() -> None:
    """Of Qwen3 235B the even split, and the one whose slowest stage takes least, need a few percent too much."""
    document: Document = {
        "workload": {"model": "qwen3-235b-a22b", "global_batch": 4096, "sequence_length": 4096, "precision": "bf16"},
        "parallelism": {
            "tensor": 2,
            "pipeline": 16,
            "data": 64,
            "expert": 8,
            "expert_tensor": 1,
            "zero": 1,
            "interleave": 2,
            "sequence_parallel": True,
            "flash_attention": True,
            "cross_entropy_fusion": True,
        },
        "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 2048},
        "software": "megatron-core",
    }
    by_hand = with_parallelism(document, stages=[2, 2, 2, *[3] * 27, 4, 3])
    assert fits(by_hand, memory_needed(by_hand))
    even = with_parallelism(document, stages=[2, *[3] * 30, 2])
    assert not fits(even, memory_needed(even))
    solved = settle(with_parallelism(document, stages={"solve": True}))
    assert fits(solved, memory_needed(solved))
    assert simulate(solved).iteration_time_s < simulate(by_hand).iteration_time_s
