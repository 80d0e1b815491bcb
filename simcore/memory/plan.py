"""The Program of a design: what its workload does, as it runs with the memory that the cluster has."""

from __future__ import annotations

from simcore.design.design import Design
from simcore.design.jobs import lone_job, shares_of
from simcore.design.once import once
from simcore.document.problem import InputError, Problem
from simcore.layout.settle import settle
from simcore.memory.expanded import apply_expanded_memory, memory_of
from simcore.program import Program
from simcore.result import Memory
from simcore.workload.base import Sample, kind_of, workload_program


@once
def program_of(design: Design) -> Program:
    """The Program of a checked design of one job, what it asks to be solved included (`simcore.layout`).

    Raises `InputError` for `jobs`: several have a Program each, and a single one that of `lone_job`.
    """
    if lone_job(design) is not design:
        raise InputError([Problem(("jobs",), "a design without 'jobs'", "one", "take the design of the job alone")])
    design = settle(design)
    program = workload_program(design)
    return program if program.graph else apply_expanded_memory(design, program)


@once
def sample_of(design: Design) -> Sample | None:
    """Some chunks of the Program of a checked design of one job (`WorkloadKind.sample`); None where all are needed."""
    design = settle(design)
    found = None if lone_job(design) is not design else kind_of(design.workload).sample(design)
    return None if found is None else found._replace(program=apply_expanded_memory(design, found.program))


@once
def memory_needed(design: Design) -> Memory | None:
    """Memory of the fullest stage of a design; None of a collective, which holds nothing, and where nobody knows.

    Nobody knows it of a trace, and of layers with given times.

    Of several jobs it is that of the one that needs the most.
    """
    if design.jobs is not None:
        of_jobs = [memory_needed(share.design) for share in shares_of(design)[0]]
        return max(filter(None, of_jobs), key=lambda memory: memory.reserved, default=None)
    known = sample_of(design)
    program = program_of(design) if known is None else known.program
    design = settle(design)
    return memory_of(design, program) if kind_of(design.workload).holds and not program.single else None
