"""Layers whose times are known: a kind of workload."""

from __future__ import annotations

from collections.abc import Iterator

from simcore.design.design import Design
from simcore.document.problem import Problem
from simcore.program import (
    Category,
    Compute,
    ModelPart,
    Operator,
    Program,
    Segment,
    Start,
    Wait,
    Waits,
    blocking_collective,
)
from simcore.workload.base import WorkloadKind
from simcore.workload.rules import unused_problems
from simcore.workload.timed.document import Pass, TimedLayer, TimedWorkload

_UNUSED = (
    "pipeline",
    "context",
    "expert",
    "expert_tensor",
    "expert_overlap",
    "interleave",
    "microbatch",
    "recompute",
    "sequence_parallel",
    "zero",
)


class TimedTraining(WorkloadKind):
    """An iteration of layers whose times and collectives are given."""

    section = TimedWorkload
    exact = True
    keys = frozenset({"timed_layers"})
    rows = {"timed_layers": TimedLayer}  # noqa: RUF012
    holds = False

    def problems(self, design: Design) -> Iterator[Problem]:
        """See `WorkloadKind.problems`."""
        yield from unused_problems(design, _UNUSED)
        if (own := TimedWorkload.of(design.workload).recorded_on) != design.cluster.npu.name:
            expected = f"{own}, which the table's times are of"
            yield Problem(
                ("cluster", "npu"), expected, design.cluster.npu.name or "another one", rule="NPU of the table"
            )
        workload, found = TimedWorkload.of(design.workload), _members(design)
        for group, degree in (("tensor", workload.tensor), ("data", workload.data)):
            if found[group] != degree:
                expected = f"{degree}, which the table's times and sizes are of"
                yield Problem(("parallelism", group), expected, str(found[group]), rule="degrees of the table")

    def program(self, design: Design) -> Program:
        """See `WorkloadKind.program`."""
        layers, alone = TimedWorkload.of(design.workload).timed_layers, _members(design)
        overlaps = design.parallelism.data_overlap
        forward = tuple(_segment(layer, _blocking(layer.name, layer.passes[0], alone)) for layer in layers)
        backward = tuple(_segment(layer, _backward(layer, alone, overlaps)) for layer in reversed(layers))
        return Program(
            parts=(ModelPart(forward, backward, backward, 0.0, 0.0, 0.0),),
            part_of=(0,),
            stages=1,
            chunks=1,
            microbatches=1,
            schedule="1f1b",
            send_bytes=0.0,
            final=((Segment("gradients", (Wait(Waits.GRADIENTS, Category.DATA),)),),),
            model_flops=0.0,
            tokens=0,
        )

    def unmodelled(self, design: Design) -> tuple[str, ...]:
        """See `WorkloadKind.unmodelled`."""
        return ("memory: not known of layers with given times, so that nothing says whether it fits",)

    def reductions(self, design: Design) -> tuple[tuple[str, int], ...]:
        """See `WorkloadKind.reductions`."""
        return (("chunks", 8), ("chunks", 1))


def _members(design: Design) -> dict[str, int]:
    return {"tensor": design.parallelism.tensor, "data": design.data}


def _segment(layer: TimedLayer, operators: tuple[Operator, ...]) -> Segment:
    return Segment(layer.name or "layer", operators, layer.repeat)


def _compute(name: str, step: Pass) -> tuple[Operator, ...]:
    return (Compute(name or "layer", "memory", 0.0, 0.0, recorded=step.seconds),) if step.seconds else ()


def _blocking(name: str, step: Pass, members: dict[str, int]) -> tuple[Operator, ...]:
    sent = blocking_collective(step.kind, step.over, step.size) if _is_sent(step, members) else ()
    return (*_compute(name, step), *sent)


def _backward(layer: TimedLayer, members: dict[str, int], overlaps: bool) -> tuple[Operator, ...]:
    """The gradient of the input, which the row before waits for, then that of the weights."""
    _, inputs, weights = layer.passes
    first = _blocking(layer.name, inputs, members)
    if not overlaps or not _is_sent(weights, members):
        return (*first, *_blocking(layer.name, weights, members))
    return (*first, *_compute(layer.name, weights), Start(weights.kind, weights.over, weights.size, Waits.GRADIENTS))


def _is_sent(step: Pass, members: dict[str, int]) -> bool:
    return step.size > 0 and members[step.over] > 1


KIND = TimedTraining()
