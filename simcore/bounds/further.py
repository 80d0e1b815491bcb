"""What the further tokens of a served model take at least, by a program of its first two.

Each further token attends to a longer cache, and takes no less for that but by a curve of attention, which cuts its
keys into parts (`simcore.compute.attention`): at the first multiple of `LEAST_KEYS` keys it may take less than before,
and after that no less any more. So a further token takes the lesser of that and of what the second one takes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from simcore.compute import times_of
from simcore.compute.attention import LEAST_KEYS
from simcore.design.design import Design
from simcore.memory.plan import program_of
from simcore.program import Compute, ModelPart, Operator, Program
from simcore.workload.serving.document import InferenceWorkload


def least_further(design: Design, program: Program, tokens: int) -> Program | None:
    """A program of two tokens whose second has the operators of the least time of any further one up to `tokens`.

    None where the program of a longer cache has other operators.
    """
    workload, whole = InferenceWorkload.of(design.workload), int(LEAST_KEYS)
    second = workload.prompt_length + 1
    cut = -(-second // whole) * whole
    if program.chunks == 1 or cut == second or cut >= workload.prompt_length + tokens:
        return program
    longer = workload.model_copy(update={"prompt_length": cut - 1})
    later = program_of(design.model_copy(update={"workload": longer}))
    if list(map(_form, program.parts)) != list(map(_form, later.parts)):
        return None
    first, seconds = {*program.part_of[: program.stages]}, times_of(design).seconds
    parts = zip(program.parts, later.parts, strict=True)
    return replace(
        program,
        parts=tuple(one if i in first else _least_part(one, other, seconds) for i, (one, other) in enumerate(parts)),
    )


def _form(part: ModelPart) -> list[tuple[int, list[str]]]:
    """How often each segment of a forward pass is repeated, and the names of its operators."""
    return [(each.repeat, [getattr(op, "name", "") for op in each.operators]) for each in part.forward]


def _lesser(one: Operator, other: Operator, seconds: Callable[[Compute], float]) -> Operator:
    if isinstance(one, Compute) and isinstance(other, Compute) and seconds(other) < seconds(one):
        return other
    return one


def _least_part(one: ModelPart, other: ModelPart, seconds: Callable[[Compute], float]) -> ModelPart:
    """A part whose operators take the lesser of their times in two parts of one form."""
    segments = []
    for its, others in zip(one.forward, other.forward, strict=True):
        pairs = zip(its.operators, others.operators, strict=True)
        segments.append(its._replace(operators=tuple(_lesser(*pair, seconds) for pair in pairs)))
    return replace(one, forward=tuple(segments))
