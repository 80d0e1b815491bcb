"""Memory per NPU: ZeRO's states, the published footprints, what is in flight under each schedule."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from designs import UNFUSED, dimension, model, training, trainings
from hypothesis import given
from hypothesis import strategies as st

from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.memory.footprint import footprint, model_states, stage_memory
from simcore.program import Compute, Program
from simcore.schedule import SCHEDULES
from simcore.schedule.base import CHUNK_MASK, WEIGHTS
from simcore.simulate import simulate
from simcore.workload.transformer.program import transformer_program

GIB = 2.0**30
DATA = Path(__file__).parents[1] / "data"


def states(parameters: float, data: int, zero: int, gradient: int = 2) -> float:
    found = model_states(parameters, data, zero, 2, gradient, 12)
    return found.weights + found.gradients + found.optimizer


@given(st.floats(1e6, 1e12), st.integers(1, 1024))
def test_states_follow_zero_for_fp16_gradients(p: float, d: int) -> None:
    expected = (16 * p, 4 * p + 12 * p / d, 2 * p + 14 * p / d, 16 * p / d)
    for zero, total in enumerate(expected):
        assert states(p, d, zero) == pytest.approx(total)


@given(st.floats(1e6, 1e12), st.integers(1, 1024))
def test_states_of_fp32_gradients_are_megatrons(p: float, d: int) -> None:
    assert states(p, d, 0, gradient=4) == pytest.approx(18 * p)
    assert states(p, d, 1, gradient=4) == pytest.approx(6 * p + 12 * p / d)


@pytest.mark.parametrize("software", ["megatron-core", "deepspeed"])
def test_fp32_weights_are_their_own_master_copy(software: str) -> None:
    """16 bytes: weight, gradient and two moments; a step reads the gradient, reads and writes the other three."""
    workload = {"model": "gpt3-1.3b", "global_batch": 8, "precision": "fp32"}
    document = training({"data": 8}, [dimension(size=8)], workload=workload, accelerator="a100-80gb")
    design = design_from(document | {"software": software})
    program = transformer_program(design)
    memory, held = footprint(design, program), program.parts[0].parameters
    assert design.workload.gradient_precision == "fp32"
    assert memory.weights + memory.gradients + memory.optimizer == pytest.approx(16 * held)
    (step,) = (op for op in program.final[0][0].operators if isinstance(op, Compute))
    assert step.bytes == pytest.approx((4 + 2 * 12) * held)


@pytest.mark.parametrize(("tensor", "data", "gigabytes"), [(8, 128, 265.8), (32, 32, 76.8), (64, 16, 45.3)])
def test_transformer_1t_under_zero_2_needs_the_published_states(tensor: int, data: int, gigabytes: float) -> None:
    assert states(1.008e12 / tensor, data, 2) / 1e9 == pytest.approx(gigabytes, rel=2e-3)


@pytest.mark.parametrize(("tensor", "data", "gigabytes"), [(8, 128, 265.8), (32, 32, 76.8)])
def test_the_model_transformer_1t_needs_the_same_states(tensor: int, data: int, gigabytes: float) -> None:
    document = training(
        {"tensor": tensor, "data": data, "zero": 2},
        [dimension(size=tensor), dimension(size=data)],
        workload={"model": "transformer-1t", "global_batch": data},
        accelerator="a100-80gb",
    )
    design = design_from(document)
    memory = footprint(design, transformer_program(design))
    assert (memory.weights + memory.gradients + memory.optimizer) / 1e9 == pytest.approx(gigabytes, rel=0.02)


PUBLISHED = {
    # case of the table: model, tensor, pipeline, interleave, microbatch, global batch (arXiv 2205.05198, Table 3)
    "megatron-22B": ("megatron-22b", 8, 1, 1, 4, 4),
    "gpt3-175B": ("gpt3-175b", 8, 8, 3, 1, 64),
    "turing-530B": ("mt-nlg-530b", 8, 35, 3, 1, 280),
    "megatron-1T": ("transformer-1t", 8, 64, 1, 1, 512),
}


def published() -> list[Any]:
    with (DATA / "megatron2022_memory_fig1.csv").open() as file:
        return [pytest.param(row, id=row["model"]) for row in csv.DictReader(file)]


def megatron(case: str, **more: Any) -> tuple[Design, Program]:
    name, tensor, pipeline, interleave, microbatch, batch = PUBLISHED[case]
    parallelism = {
        "tensor": tensor, "pipeline": pipeline, "interleave": interleave, "microbatch": microbatch, "data": 1,
        **UNFUSED, **more
    }  # fmt: skip
    network = [dimension(size=tensor)] + ([dimension(size=pipeline, collective="ring")] if pipeline > 1 else [])
    document = training(
        parallelism,
        network,
        workload={"model": name, "global_batch": batch, "gradient_precision": "fp32"},
        accelerator="a100-80gb",
    )
    design = design_from(document)
    return design, transformer_program(design)


@pytest.mark.parametrize("row", published())
def test_states_of_megatrons_models_are_the_published_ones(row: dict[str, str]) -> None:
    design, program = megatron(row["model"])
    stages = [stage_memory(design, program, s) for s in range(program.stages)]
    average = sum(m.weights + m.gradients + m.optimizer for m in stages) / len(stages)
    assert average / GIB == pytest.approx(float(row["param_opt_GiB"]), rel=0.02)


@pytest.mark.parametrize("row", published())
@pytest.mark.parametrize(
    ("column", "saving"),
    [("act_none_GiB", {}), ("act_seqsel_GiB", {"recompute": "selective", "sequence_parallel": True})],
)
def test_activations_of_megatrons_models_are_the_published_ones(
    row: dict[str, str], column: str, saving: dict[str, Any]
) -> None:
    design, program = megatron(row["model"], **saving)
    found = stage_memory(design, program, 0).activations
    if program.stages == 1:  # the figure counts layers only: not the logits, which are on the one stage here
        found = program.parts[0].activations - logits(design)
    assert found / GIB == pytest.approx(float(row[column]), rel=0.02)


def logits(design: Design) -> float:
    bare = design.document()
    bare["workload"]["model"] = {**model_document(design), "layers": 1}
    one = transformer_program(design_from(bare)).parts[0].activations
    bare["workload"]["model"]["layers"] = 2
    two = transformer_program(design_from(bare)).parts[0].activations
    return 2 * one - two


def model_document(design: Design) -> dict[str, Any]:
    found: dict[str, Any] = design.workload.model.model_dump(mode="json", exclude_defaults=True)  # type: ignore[union-attr]
    return found


@given(trainings(zero=(0,)))
def test_memory_falls_with_the_zero_stage(design: Design) -> None:
    def memory(zero: int) -> tuple[float, float]:
        parallelism = design.parallelism.model_copy(update={"zero": zero})
        other = design.model_copy(update={"parallelism": parallelism})
        found = stage_memory(other, transformer_program(other), 0)
        return found.weights + found.gradients + found.optimizer, found.peak

    by_stage = [memory(zero) for zero in range(4)]
    totals = [total for total, _ in by_stage]
    peaks = [peak for _, peak in by_stage]
    if design.copies == 1:
        assert len(set(totals)) == len(set(peaks)) == 1
    elif design.parallelism.pipeline == 1:
        assert totals[0] > totals[1] > totals[2] > totals[3]
    else:  # gradients accumulate locally, parameters stay gathered beside their shards
        assert totals[0] > totals[1] == totals[2] < totals[3]


@given(trainings())
def test_the_peak_is_that_of_the_fullest_stage(design: Design) -> None:
    program = transformer_program(design)
    stages = [stage_memory(design, program, s).peak for s in range(program.stages)]
    assert footprint(design, program).peak == max(stages)
    memory = simulate(design).memory_bytes
    assert memory is not None
    assert memory.peak == max(stages)


def activations(parallelism: dict[str, Any], stage: int = 0, batch: int = 32) -> float:
    network = [dimension(size=4)]
    workload = {"model": model(layers=16), "global_batch": batch}
    design = design_from(training({**UNFUSED, **parallelism}, network, workload=workload))
    return stage_memory(design, transformer_program(design), stage).activations


def test_1f1b_keeps_as_many_microbatches_as_stages_follow() -> None:
    kept = [activations({"pipeline": 4}, stage) for stage in range(3)]
    assert kept == pytest.approx([4 * kept[0] / 4, 3 * kept[0] / 4, 2 * kept[0] / 4])


def test_gpipe_keeps_all_microbatches() -> None:
    assert activations({"pipeline": 4, "schedule": "gpipe"}) == pytest.approx(32 / 4 * activations({"pipeline": 4}))


@pytest.mark.parametrize("v", [2, 4])
def test_interleaving_multiplies_the_first_stages_activations_by_1_plus_p_minus_1_over_p_v(v: int) -> None:
    plain, interleaved = activations({"pipeline": 4}), activations({"pipeline": 4, "interleave": v})
    assert interleaved == pytest.approx(plain * (1 + 3 / (4 * v)))


def test_recomputation_orders_activations_full_below_selective_below_none() -> None:
    none, selective, full = (activations({"recompute": r}) for r in ("none", "selective", "full"))
    assert full < selective < none


def test_a_larger_microbatch_keeps_proportionally_more() -> None:
    one, two = (activations({"pipeline": 4, "microbatch": b}) for b in (1, 2))
    assert two == pytest.approx(2 * one)


@given(trainings())
def test_activations_are_the_most_that_the_blocks_of_any_stage_keep(design: Design) -> None:
    """The order of the schedule, block by block: a forward keeps its chunk's activations until its last backward."""
    program = transformer_program(design)
    p, m, v = program.stages, program.microbatches, program.chunks
    for stage, row in enumerate(SCHEDULES[program.schedule].order(p, m, v).tolist()):
        now = most = 0.0
        for code in row:
            chunk, weights = code >> 1 & CHUNK_MASK, code >> 1 & WEIGHTS
            kept = program.parts[program.part_of[chunk * p + stage]].activations
            if not code & 1:
                now += kept
            elif weights or not SCHEDULES[program.schedule].splits:
                now -= kept
            most = max(most, now)
        assert stage_memory(design, program, stage).activations == pytest.approx(most)
