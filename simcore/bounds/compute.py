"""What an iteration computes at least, whatever its network: of a program, and of layers before there is one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from simcore.bounds.rounding import SAFE
from simcore.compute import times_of
from simcore.design.design import Design
from simcore.power.draw import draws_of, joules_of
from simcore.program import Category, Compute, Operator, Program, Segment
from simcore.schedule import ORDERS
from simcore.workload.base import LayersAlone, kind_of

Time = Callable[[Compute], Any]
"""Time or energy of an operator, in whichever unit."""


def compute_seconds(design: Design, program: Program) -> float:
    """Least time of an iteration whatever its network: the compute of the busiest stage, and of those it waits for [s].

    The first microbatch passes the stages in front (the first virtual stage of each), the last one passes them back,
    unless the schedule leaves the weight gradients for then. Where it never flushes, a stage waits for none.
    """
    time = times_of(design).seconds
    passes = [
        [sum(_segment_time(segment, time) for segment in way) for way in (part.forward, part.backward, part.weights)]
        for part in program.parts
    ]
    split = ORDERS[program.schedule].splits
    p, m = program.stages, program.microbatches
    own = [[passes[program.part_of[chunk * p + s]] for chunk in range(program.chunks)] for s in range(p)]
    least = around = 0.0
    for chunks in own:
        least = max(least, around + m * sum(sum(way) for way in chunks))
        if ORDERS[program.schedule].flushes:
            around += chunks[0][0] if split else sum(chunks[0])
    return least * SAFE - 1e-9  # durations are rounded to picoseconds


def shared_seconds(design: Design) -> float:
    """Least time of an iteration whatever its network and whichever layers its stages have: an even share of all [s].

    Of a design whose stages, or recomputation, are to be solved; what is open then does not recompute.
    """
    p, kind = design.parallelism, kind_of(design.workload)
    time, count = times_of(design).seconds, p.pipeline * p.interleave
    layers = kind.layers(design)
    assert layers is not None
    base, more = divmod(layers.total, count)
    even = tuple(base + (stage < more) for stage in range(count)) if p.solves_stages else p.stages
    recompute = "none" if p.recompute == "solve" else p.recompute
    plain = p.model_copy(update={"stages": even, "recompute": recompute})
    program = kind.program(design.model_copy(update={"parallelism": plain}))
    passes = [
        sum(_segment_time(segment, time) for way in (part.forward, part.backward, part.weights) for segment in way)
        for part in program.parts
    ]
    whole: float = sum(passes[part] for part in program.part_of) * program.microbatches
    return whole / p.pipeline * SAFE - 1e-9


def work_joules(design: Design, program: Program) -> float:
    """What an NPU takes at least above idle for what it computes, on average, whatever its network [J]."""
    least: float = mean_work(program, joules_of(design, times_of(design).seconds))
    return least * SAFE - draws_of(design).tensor * 1e-9


def mean_work(program: Program, work: Time, repeats: Sequence[float] | None = None) -> Any:
    """What the operators of a stage are on average, in the unit of `work`, which says what one is.

    What a collective does in memory is communication. Chunks are played as often as `repeats` says, once unless given.
    """
    return program.microbatches * mean_work_of_microbatch(program, work, repeats)


def mean_work_of_microbatch(program: Program, work: Time, repeats: Sequence[float] | None = None) -> Any:
    """The same for one microbatch."""
    return sum(stages_work(program, work, repeats)) / program.stages


def stages_work(program: Program, work: Time, repeats: Sequence[float] | None = None) -> list[Any]:
    """The same for one microbatch of each stage."""
    p = program.stages
    passes = [
        sum(
            _computed(segment.operators, work) * segment.repeat
            for way in (part.forward, part.backward, part.weights)
            for segment in way
        )
        for part in program.parts
    ]
    often = repeats or [1] * program.chunks
    return [
        sum(times * passes[program.part_of[chunk * p + stage]] for chunk, times in enumerate(often))
        for stage in range(p)
    ]


def layers_seconds(design: Design, known: dict[Hashable, float]) -> float:
    """Less than `compute_seconds`, from the time of one layer alone, before there is a program [s].

    The busiest stage has at least an even share of the layers; the last one waits for one part of each in front of it,
    unless weight gradients may come after it. 0 for a workload without layers that are alike. `known` keeps what layers
    take on the design's NPU.
    """
    p, layers = design.parallelism, kind_of(design.workload).layers(design)
    if layers is None:
        return 0.0
    least = _least_layer(layers, known, _operators_time, times_of(design).seconds)
    even = design.microbatches * layers.total / p.pipeline
    order = ORDERS[p.schedule]
    around = p.pipeline - 1 if order.flushes and not order.splits else 0
    last = layers.fewest * (around + design.microbatches * p.interleave)
    return max(even, last) * least * SAFE - 1e-9


def layers_joules(design: Design, known: dict[Hashable, float]) -> float:
    """Less than `work_joules`, likewise [J]."""
    layers = kind_of(design.workload).layers(design)
    if layers is None:
        return 0.0
    least = _least_layer(layers, known, _computed, joules_of(design, times_of(design).seconds))
    joules = layers.total / design.parallelism.pipeline * design.microbatches * least
    return joules * SAFE - draws_of(design).tensor * 1e-9


def _least_layer(
    layers: LayersAlone,
    known: dict[Hashable, float],
    total: Callable[[Iterable[Operator], Time], float],
    time: Time,
) -> float:
    """What the quickest layer takes, forward and backward, in the unit of `time`."""
    each = []
    for kind in layers.kinds:
        if (kind, total) not in known:
            known[kind, total] = total(layers.operators(kind), time)
        each.append(known[kind, total])
    return min(each)


def _computed(operators: Iterable[Operator], work: Time) -> Any:
    """Work of the operators that are computing, not moving data."""
    return sum(work(op) for op in operators if isinstance(op, Compute) and op.category == Category.COMPUTE)


def _segment_time(segment: Segment, time: Time) -> Any:
    return _operators_time(segment.operators, time) * segment.repeat


def _operators_time(operators: Iterable[Operator], time: Time) -> Any:
    return sum(time(op) for op in operators if isinstance(op, Compute))
