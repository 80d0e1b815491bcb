"""The memory of each pipeline stage of a design, not only of the fullest one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.design.jobs import lone_job
from simcore.document.problem import InputError, Problem
from simcore.memory.expanded import capacity, reserve
from simcore.memory.footprint import stage_memory
from simcore.memory.plan import memory_needed, program_of
from simcore.result import Memory


@dataclass(frozen=True, slots=True)
class StageMemory:
    """Stages `first` to `last` (counted from 0), whose NPUs all hold as much as this one [B]."""

    first: int
    last: int
    memory: Memory


@dataclass(frozen=True, slots=True)
class MemoryOfStages:
    """All stages of a design, and what an NPU can hold [B]."""

    stages: tuple[StageMemory, ...]
    capacity: float


def memory_of_stages(document: Mapping[str, Any]) -> MemoryOfStages:
    """The memory of each stage of a design document; of served models that of the fullest one.

    Raises `InputError` where nothing is held: a single collective.
    """
    design = lone_job(design_from(document))
    fullest = memory_needed(design)
    if fullest is None:
        raise InputError([Problem(("workload",), "a workload of which it is known what it holds in memory", "another")])
    if not program_of(design).trained:
        return MemoryOfStages((StageMemory(0, design.parallelism.pipeline - 1, fullest),), capacity(design))
    return MemoryOfStages(tuple(_group(design)), capacity(design))


def _group(design: Design) -> Iterator[StageMemory]:
    program = program_of(design)
    first, known = 0, reserve(design, stage_memory(design, program, 0))
    for stage in range(1, program.stages):
        memory = reserve(design, stage_memory(design, program, stage))
        if memory != known:
            yield StageMemory(first, stage - 1, known)
            first, known = stage, memory
    yield StageMemory(first, program.stages - 1, known)
