"""The Program of a design: what its workload does, as it runs with the memory that the cluster has."""

from __future__ import annotations

from simcore.design.design import Design
from simcore.design.once import once
from simcore.memory.expanded import memory_of, with_expanded
from simcore.program import Program
from simcore.result import Memory
from simcore.workload.registry import workload_program


@once
def program_of(design: Design) -> Program:
    """The Program of a checked design; a single collective has none."""
    return with_expanded(design, workload_program(design))


@once
def memory_needed(design: Design) -> Memory:
    """Memory of the fullest stage of a design that has a Program."""
    return memory_of(design, program_of(design))
