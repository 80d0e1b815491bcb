"""What is sharded in memory between two uses was moved between them: the traffic of a design against its memory."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pytest
from designs import dimension, model, training, trainings
from hypothesis import given

from simcore.check.check import check
from simcore.check.load import design_from, parse_design
from simcore.design.design import Design
from simcore.document.field import BYTES
from simcore.memory.footprint import stage_memory
from simcore.memory.plan import program_of
from simcore.program import ModelPart, Program, Segment, Start, Waits
from simcore.schedule import SCHEDULES
from simcore.simulate import simulate
from simcore.system.placement import place
from simcore.workload.held import gathered_bytes, held_bytes
from simcore.workload.transformer.activations import layer_kept
from simcore.workload.transformer.document import TransformerWorkload
from simcore.workload.transformer.layer import layer_passes, usual_kind
from simcore.workload.transformer.program import shapes_of

COPIES = ("data", "data_context", "expert_data", "shard", "expert_shard")
"""Groups whose NPUs share states."""


def moved(design: Design, segments: Iterable[Segment], kind: str, groups: tuple[str, ...] = COPIES) -> float:
    """Bytes of the whole buffers of a kind of collective over some groups."""
    placement = place(design)[0]
    total = 0.0
    for segment in segments:
        for operator in segment.operators:
            if isinstance(operator, Start) and operator.kind == kind and operator.group in groups:
                members = math.prod(where.part.members for where in placement[operator.group])
                total += segment.repeat * operator.size * (members if kind == "all_gather" else 1)
    return total


def of_stage(program: Program, stage: int) -> list[ModelPart]:
    return [program.parts[program.part_of[chunk * program.stages + stage]] for chunk in range(program.chunks)]


def backwards_of(design: Design, part: ModelPart) -> tuple[tuple[Segment, ...], tuple[Segment, ...]]:
    """What computes weight gradients: of a microbatch, and of the last one."""
    split = SCHEDULES[design.parallelism.schedule].splits
    return (part.weights, part.last_weights) if split else (part.backward, part.last_backward)


def spread(design: Design, part: ModelPart) -> float:
    """Parameters of a part that more than one NPU has."""
    own = part.parameters - part.expert_parameters if design.sharding_npus > 1 else 0.0
    return own + (part.expert_parameters if design.sharding_npus // design.parallelism.expert > 1 else 0.0)


def near(value: float) -> object:
    return pytest.approx(value, rel=1e-9, abs=1.0)


@given(trainings())
def test_states_in_shards_are_moved_between_their_uses(design: Design) -> None:
    workload, program = design.workload, program_of(design)
    assert isinstance(workload, TransformerWorkload)
    width, gradient = gathered_bytes(design), BYTES[workload.gradient_precision]
    for stage in range(program.stages):
        memory, parts = stage_memory(design, program, stage), of_stage(program, stage)
        whole = sum(part.parameters for part in parts)
        shared = sum(spread(design, part) for part in parts)
        if not shared:
            continue
        weights_in_shards = memory.weights < 0.999 * whole * held_bytes(design)
        gradients_in_shards = memory.gradients < 0.999 * whole * gradient
        optimizer_in_shards = memory.optimizer < 0.999 * whole * 12
        gathered = [moved(design, part.forward, "all_gather") for part in parts]
        again = [moved(design, part.backward, "all_gather") for part in parts]
        if weights_in_shards:
            assert sum(gathered) == near(shared * width)
            assert sum(again) == near(shared * width)
        usual, last = (
            sum(moved(design, backwards_of(design, part)[i], kind) for part in parts for kind in REDUCTIONS)
            for i in range(2)
        )
        late = sum(moved(design, program.final[stage], kind) for kind in REDUCTIONS)
        assert last + late == near(shared * gradient)
        assert usual == near(shared * gradient if gradients_in_shards else 0.0)
        if optimizer_in_shards:
            first = sum(moved(design, part.first_pass, "all_gather") for part in parts)
            assert first + moved(design, program.final[stage], "all_gather") >= 0.999 * shared * width


REDUCTIONS = ("reduce_scatter", "all_reduce")


@given(trainings())
def test_shards_are_reduced_between_shard_groups_as_often_as_they_are_made(design: Design) -> None:
    program = program_of(design)
    replicas = design.copies // design.sharding_npus
    for part in program.parts:
        for segments in backwards_of(design, part):
            scattered = sum(
                operator.size * segment.repeat / (design.sharding_npus if operator.group == "shard" else 1)
                for segment in segments
                for operator in segment.operators
                if isinstance(operator, Start) and operator.group == "shard" and operator.kind == "reduce_scatter"
            )
            if replicas > 1 and not part.expert_parameters:
                assert moved(design, segments, "all_reduce", ("replica",)) == near(scattered)


@given(trainings())
def test_inputs_kept_in_shares_are_gathered_for_weight_gradients(design: Design) -> None:
    shapes = shapes_of(design)
    if shapes.shared == 1 or shapes.model.mixture_of_experts or design.parallelism.recompute == "full":
        return
    kept = layer_kept(shapes)
    gathered = sum(
        operator.size
        for operator in layer_passes(shapes, usual_kind(shapes))[1]
        if isinstance(operator, Start) and operator.kind == "all_gather" and operator.waits == Waits.OVERLAP
    )
    assert gathered == near(kept["attention product input"] + kept["mlp product input"])


MICROBATCHES = 4


def sent(**parallelism: object) -> float:
    """Bytes that an NPU sends for data parallelism over 8 NPUs, in units of its 16-bit parameters x 7/8."""
    document = training(
        {"bucket": "1 kB", **parallelism},
        [dimension(size=8)],
        workload={"model": model(position="rotary"), "global_batch": 8 * MICROBATCHES},
        system={"collective": ["ring"]},
    )
    design = design_from(document)
    result, part = simulate(design), program_of(design).parts[0]
    return result.network[0].bytes_per_npu / (2 * part.parameters * 7 / 8)


@pytest.mark.parametrize(
    ("parallelism", "passes"),
    [
        ({"zero": 0}, 2),
        ({"zero": 1}, 2),
        ({"zero": 2}, MICROBATCHES + 1),
        ({"zero": 2, "data_overlap": False}, MICROBATCHES + 1),
        ({"zero": 2, "accumulate": "local"}, 2),
        ({"zero": 3}, 3 * MICROBATCHES),
        ({"zero": 3, "data_overlap": False}, 3 * MICROBATCHES),
        ({"zero": 3, "gather": "microbatch"}, 2 * MICROBATCHES),
        ({"zero": 3, "gather": "once"}, MICROBATCHES + 1),
        ({"zero": 3, "accumulate": "local"}, 2 * MICROBATCHES + 1),
        ({"zero": 3, "accumulate": "local", "gather": "once"}, 2),
    ],
)
def test_each_stage_sends_parameters_as_often_as_its_memory_needs(parallelism: dict[str, object], passes: int) -> None:
    assert sent(**parallelism) == pytest.approx(passes)


def test_shard_groups_reduce_the_shards_between_them() -> None:
    groups = sent(zero=2, shard_group=2)
    inside = (MICROBATCHES + 1) * 1 / 2  # a reduce-scatter a microbatch, a gather
    between = MICROBATCHES * 2 * 3 / 4 / 2  # all-reduces of halves over 4
    assert groups == pytest.approx((inside + between) / (7 / 8))


@pytest.mark.parametrize(
    ("parallelism", "rule"),
    [
        ({"zero": 1, "accumulate": "sharded"}, "gradients to shard"),
        ({"zero": 2, "gather": "once"}, "parameters to gather"),
        ({"zero": 0, "shard_group": 2}, "shard group"),
        ({"zero": 1, "shard_group": 3}, "shard group"),
        ({"zero": 2, "pipeline": 2}, "ZeRO-2 under a pipeline"),
        ({"zero": 3, "pipeline": 2, "accumulate": "sharded"}, "sharded gradients under a pipeline"),
        ({"zero": 3, "pipeline": 2, "gather": "twice"}, "gathers under a pipeline"),
    ],
)
def test_what_no_stack_does_is_refused(parallelism: dict[str, object], rule: str) -> None:
    design, _ = parse_design(training(parallelism, [dimension(size=8)]))
    assert design is not None
    assert [problem.rule for problem in check(design)] == [rule]


def test_under_a_pipeline_gradients_accumulate_locally_and_parameters_stay_gathered() -> None:
    document = design_from(training({"zero": 3, "pipeline": 2}, [dimension(size=8)])).document()
    assert document["parallelism"]["accumulate"] == "local"
    assert document["parallelism"]["gather"] == "once"
