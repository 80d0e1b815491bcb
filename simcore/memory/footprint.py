"""What fits: memory per NPU of each pipeline stage, and the fullest stage.

Model states of P parameters per NPU of the tensor-pipeline shard, sharded over d (Rajbhandari et al. 2020, Figure 1),
fp16 gradients: ZeRO-0 16 P; 1: 4 P + 12 P/d; 2: 2 P + 14 P/d; 3: 16 P/d. Megatron's fp32 gradients make it 18 P.
Gradients that accumulate locally are whole in every stage, and so are parameters that stay gathered, beside their shard
(`simcore.workload.data_parallel`). Parameters of all but routed experts are sharded over data x context, those of
experts over the NPUs that have the same ones, or over the part of either that is a shard group.
Activations: what one microbatch keeps x the microbatches in flight under the pipeline schedule; of chunks that keep
different amounts, the most at any time. With `expert_overlap` a chunk of one microbatch more is in flight, unless the
schedule counts it (`PipelineSchedule.pairs`).
Activations that lie in an expanded memory are here while a layer makes them and while they leave: of two layers, as
double buffers hold (an assumption; whole microbatches of parts whose layers nobody tells).
A pipeline that never empties keeps several versions of its weights (`PipelineSchedule.versions`), and one of the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from simcore.design.design import Design
from simcore.design.same import Same
from simcore.document.field import BYTES
from simcore.memory.serving import serving_memory
from simcore.program import ModelPart, Program
from simcore.result import Memory
from simcore.schedule import SCHEDULES
from simcore.schedule.base import kept_after
from simcore.workload.data_parallel import optimizer_bytes
from simcore.workload.held import held_bytes, held_gradient_bytes


@dataclass(frozen=True, slots=True)
class States:
    """Bytes of the model states of one NPU."""

    weights: float
    gradients: float
    optimizer: float


def model_states(
    parameters: float,
    data: int,
    zero: int,
    weight_bytes: float,
    gradient_bytes: float,
    optimizer_bytes: float,
    local_gradients: bool = False,
    stays_gathered: bool = False,
) -> States:
    """States of `parameters` (per tensor-pipeline shard) under ZeRO stage `zero` over `data` NPUs.

    Of each `weight_bytes` for itself and its copies (`simcore.workload.held`), `gradient_bytes` for its gradient, and
    `optimizer_bytes` that its optimizer keeps (`simcore.workload.data_parallel.optimizer_bytes`).
    """
    gathered = 1.0 if stays_gathered and zero >= 3 and data > 1 else 0.0
    return States(
        weights=parameters * weight_bytes * (gathered + 1 / (data if zero >= 3 else 1)),
        gradients=parameters * gradient_bytes / (data if zero >= 2 and not local_gradients else 1),
        optimizer=parameters * optimizer_bytes / (data if zero >= 1 else 1),
    )


def stage_memory(design: Design, program: Program, stage: int) -> Memory:
    """Memory of an NPU of `stage` at its peak."""
    workload, p = design.workload, design.parallelism
    parts = program.parts_of(stage)
    experts = sum(part.expert_parameters for part in parts)
    apart = [states for part in parts for states in part.apart]
    own = sum(part.parameters for part in parts) - experts - sum(parameters for parameters, _ in apart)
    each = held_bytes(design), held_gradient_bytes(design), optimizer_bytes(BYTES[workload.precision])
    local, stays = not p.reduces_each, p.gathers in ("microbatch", "once")
    shared = [(own, design.sharding_npus), (experts, design.expert_sharding_npus), *apart]
    states = [model_states(held, over, p.zero, *each, local, stays) for held, over in shared]
    activations = _kept_bytes(program, stage, parts)
    if p.expert_overlap and program.microbatches > 1:  # a forward pass beside each backward pass
        activations += (SCHEDULES[program.schedule].pairs or 0) * max(part.activations for part in parts)
    working = max(part.working for part in parts)
    if offloads_activations(design):
        working += 2 * max(part.largest_kept for part in parts)
    versions = SCHEDULES[program.schedule].versions(stage, program.stages)
    weights = versions * sum(its.weights for its in states) + sum(part.resident for part in parts)
    gradients, optimizer = sum(its.gradients for its in states), sum(its.optimizer for its in states)
    return Memory(
        weights=weights,
        gradients=gradients,
        optimizer=optimizer,
        activations=activations,
        peak=weights + gradients + optimizer + activations + working,
    )


def offloads_activations(design: Design) -> bool:
    """Whether activations lie in the design's expanded memory."""
    memory = design.expanded_memory
    return memory is not None and "activations" in memory.place


def _kept_bytes(program: Program, stage: int, parts: list[ModelPart]) -> float:
    """Bytes that all microbatches in flight keep, at the moment when it is most."""
    schedule, sizes = SCHEDULES[program.schedule], (program.stages, program.microbatches, program.chunks)
    each = [part.activations for part in parts]
    if len(set(each)) > 1:  # which chunks are in flight matters, not only how many: follow the blocks of the stage
        return float(kept_after(schedule.order(*sizes)[stage], np.array(each), schedule.splits).max())
    return sum(count * size for count, size in zip(schedule.in_flight(stage, *sizes), each, strict=True))


def footprint(design: Design, program: Program) -> Memory:
    """Memory of the fullest stage."""
    if not program.trained:
        return serving_memory(program, BYTES[design.workload.precision])
    workload, p = design.workload, design.parallelism
    sizes = (program.part_of, program.stages, program.chunks, _telling_microbatches(program), program.schedule)
    held = (workload.precision, held_gradient_bytes(design), design.sharding_npus, design.expert_sharding_npus)
    kept = (p.zero, p.reduces_each, p.gathers, p.expert_overlap, offloads_activations(design))
    return _fullest_stage(_Alike(Same(program.parts), (*sizes, *held, *kept), design, program))


def first_stage_memory(design: Design, program: Program) -> Memory:
    """Memory of the first stage."""
    return stage_memory(design, replace(program, microbatches=_telling_microbatches(program)), 0)


def _telling_microbatches(program: Program) -> int:
    """So many microbatches keep at the most what all of the program's do: in the steady phase it is the same.

    Bytes that are no whole numbers would add up to other digits.
    """
    if not all(float(part.activations).is_integer() for part in program.parts):
        return program.microbatches
    return SCHEDULES[program.schedule].shortened(program.stages, program.microbatches, program.chunks)


@dataclass(frozen=True)
class _Alike:
    """Designs hold the same where these are equal: many of a search differ in their network alone."""

    parts: Same[tuple[ModelPart, ...]]
    others: tuple[object, ...]
    """All else that `stage_memory` looks at."""
    design: Design = field(compare=False)
    program: Program = field(compare=False)


@lru_cache(maxsize=1024)
def _fullest_stage(alike: _Alike) -> Memory:
    program = replace(alike.program, microbatches=_telling_microbatches(alike.program))
    stages = (stage_memory(alike.design, program, stage) for stage in _candidate_stages(program))
    return max(stages, key=lambda memory: memory.peak)


def _candidate_stages(program: Program) -> list[int]:
    """Stages that can be the fullest: of equal parts, the earliest keeps most in flight, unless the pipeline folds."""
    if SCHEDULES[program.schedule].folds:
        return list(range(program.stages))
    seen: dict[tuple[int, ...], int] = {}
    for stage in range(program.stages):
        seen.setdefault(program.part_of[stage :: program.stages], stage)
    return list(seen.values())
