"""Decisions out: a design as the arguments or the configuration of a program that runs it. One file a program."""

from __future__ import annotations

from dse.export.base import Exported, Target, Unsaid
from dse.export.compare import read_back, unsaid
from dse.export.deepspeed import DeepSpeed
from dse.export.megatron import Megatron
from dse.export.torchtitan import TorchTitan
from dse.export.vllm import Vllm
from simcore.catalog.preset import preset
from simcore.design.design import Design
from simcore.design.jobs import lone_job
from simcore.design.software import Software, usual_software
from simcore.design.workload import USUAL, workload_tag
from simcore.document.problem import InputError, Problem
from simcore.layout.settle import settle

TARGETS: dict[str, Target] = {target.name: target for target in (Megatron(), TorchTitan(), DeepSpeed(), Vllm())}
"""Programs by the name that `--for` has."""

__all__ = ["TARGETS", "Exported", "Target", "Unsaid", "as_run", "export", "target_of"]


def export(design: Design, target: str) -> Exported:
    """A checked design as a file that runs it, with what that program cannot be told.

    Raises `InputError` where the design is not one transformer in training, or served if the program serves, or the
    program has no such model, or does not run on its NPUs.
    """
    design, text = _write(design, target)
    program = TARGETS[target]
    left = unsaid(design, program, program.read(text))
    return Exported(program.name, program.file, text, left, tuple(_notes(design, program)))


def target_of(software: str) -> str | None:
    """The program that is known to be the software stack of that name, and trains; None without any."""
    found = (target for target in TARGETS.values() if target.workload == USUAL)
    return next((target.name for target in found if software in target.software), None)


def as_run(design: Design, target: str) -> Design:
    """A checked design as the program runs it, told what it can be told. Raises `InputError` as `export` does."""
    design, text = _write(design, target)
    return read_back(design, TARGETS[target], TARGETS[target].read(text))


def _write(design: Design, target: str) -> tuple[Design, str]:
    """A design, its degrees settled, and the file of a program that runs it."""
    program = TARGETS[target]
    design = lone_job(design)
    if (tag := workload_tag(design.workload)) != program.workload:
        runs = f"a {USUAL} in training" if program.workload == USUAL else f"kind '{program.workload}'"
        raise InputError([Problem(("workload",), f"{runs}, which {target} runs", f"kind '{tag}'")])
    npu, stacks = design.cluster.npu.programmed, [preset(Software, "software", name) for name in program.software]
    if not any(stack.is_made_for(npu) for stack in stacks):
        fix = f"name another program, or a stack that is made for {npu.name}, such as {usual_software(npu).name}"
        raise InputError([Problem(("cluster", "npu"), f"an NPU that {target} runs on", npu.name, fix)])
    design = settle(design)
    if design.parallelism.other_degrees:
        expected = f"the degrees of the section in all layers: {target} makes one set of groups for the whole model"
        found = "layers with tensor or expert degrees of their own"
        raise InputError([Problem(("parallelism", "layers"), expected, found, "export a design without them")])
    return design, program.write(design)


def _notes(design: Design, program: Target) -> list[str]:
    named = design.software.name
    foreign = named not in program.software
    first = f"the prediction is of software '{named}', not of {' or '.join(program.software)}: kernels differ"
    return [*([first] if foreign else []), *program.notes(design)]
