"""What an iteration computes at least, whatever its network: of a program, and of layers before there is one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

from simcore.compute import operator_times
from simcore.design.design import CollectiveWorkload, Design, TransformerWorkload
from simcore.program import Category, Compute, Operator, Program, Segment
from simcore.schedule import ORDERS
from simcore.workload.transformer.kind import layers_of, shapes_of
from simcore.workload.transformer.stages import stage_runs

_SAFE = 1 - 1e-12

Time = Callable[[Compute], Any]
"""Of an operator, in whichever unit."""


def compute_seconds(design: Design, program: Program) -> float:
    """Least time of an iteration whatever its network: the compute of the busiest stage, and of those it waits for [s].

    The first microbatch passes the stages in front (the first virtual stage of each), the last one passes them back,
    unless the schedule leaves the weight gradients for then.
    """
    workload = design.workload
    assert not isinstance(workload, CollectiveWorkload)
    time = operator_times(design.cluster.npu, workload.precision).seconds
    passes = [
        [sum(_compute(segment, time) for segment in way) for way in (part.forward, part.backward, part.weights)]
        for part in program.parts
    ]
    split = ORDERS[program.schedule].splits
    p, m = program.stages, program.microbatches
    own = [[passes[program.part_of[chunk * p + s]] for chunk in range(program.chunks)] for s in range(p)]
    least = around = 0.0
    for chunks in own:
        least = max(least, around + m * sum(sum(way) for way in chunks))
        around += chunks[0][0] if split else sum(chunks[0])
    return least * _SAFE - 1e-9  # durations are rounded to picoseconds


def busy_seconds(design: Design, program: Program) -> float:
    """Least time that the NPUs of a stage compute in an iteration, whatever its network [s]: what energy counts."""
    workload = design.workload
    assert not isinstance(workload, CollectiveWorkload)
    least: float = least_busy(program, operator_times(design.cluster.npu, workload.precision).seconds)
    return least * _SAFE - 1e-9


def least_busy(program: Program, time: Time) -> Any:
    """Compute time of the stage that computes least, in the unit of `time`.

    What a collective does in memory is communication.
    """
    p = program.stages
    passes = [
        sum(
            _busy(segment.operators, time) * segment.repeat
            for way in (part.forward, part.backward, part.weights)
            for segment in way
        )
        for part in program.parts
    ]
    own = [sum(passes[program.part_of[chunk * p + stage]] for chunk in range(program.chunks)) for stage in range(p)]
    return program.microbatches * min(own)


def layers_seconds(design: Design, known: dict[Hashable, float]) -> float:
    """Less than `compute_seconds`, from the time of one layer alone, before there is a program [s].

    The busiest stage has at least an even share of the layers; the last one waits for one part of each in front of it.
    0 where the schedule splits the backward pass, or for a workload that is no transformer. `known` keeps what layers
    take on the design's NPU.
    """
    workload, p = design.workload, design.parallelism
    if not isinstance(workload, TransformerWorkload) or ORDERS[p.schedule].splits:
        return 0.0
    least, fewest = _least_layer(design, known, _operators)
    even = design.microbatches * workload.model.layers / p.pipeline
    last = fewest * (p.pipeline - 1 + design.microbatches * p.interleave)
    return max(even, last) * least * _SAFE - 1e-9


def layers_busy(design: Design, known: dict[Hashable, float]) -> float:
    """Less than `busy_seconds`, likewise: no stage has fewer layers than `interleave` of its smallest parts [s]."""
    if not isinstance(design.workload, TransformerWorkload):
        return 0.0
    least, fewest = _least_layer(design, known, _busy)
    return fewest * design.microbatches * design.parallelism.interleave * least * _SAFE - 1e-9


def _least_layer(
    design: Design, known: dict[Hashable, float], total: Callable[[Iterable[Operator], Time], float]
) -> tuple[float, int]:
    """What the quickest layer takes, forward and backward [s], and the fewest layers of a virtual stage."""
    workload = design.workload
    assert isinstance(workload, TransformerWorkload)
    layers = layers_of(shapes_of(design))
    time = operator_times(design.cluster.npu, workload.precision).seconds
    runs = stage_runs(workload.model, design.parallelism)
    each = []
    for kind in dict.fromkeys(kind for run in runs for kind, _ in run):
        key = layers, kind, total
        if key not in known:
            layer = layers[kind]
            known[key] = total((*layer.forward, *layer.backward), time)
        each.append(known[key])
    return min(each), min(sum(count for _, count in run) for run in runs)


def _busy(operators: Iterable[Operator], time: Time) -> Any:
    """Time of the operators that are computing, not moving data."""
    return sum(time(op) for op in operators if isinstance(op, Compute) and op.category == Category.COMPUTE)


def _compute(segment: Segment, time: Time) -> Any:
    return _operators(segment.operators, time) * segment.repeat


def _operators(operators: Iterable[Operator], time: Time) -> Any:
    return sum(time(op) for op in operators if isinstance(op, Compute))
