"""What an NPU does in an iteration, as far as that decides what it draws.

An engine says how long an NPU computes, waits and idles. What of its computing is arithmetic and what moves bytes
follows from the operators of its stage, by the side of the roofline that each is on: both engines give the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from operator import mul

from simcore.compute import OperatorTimes, is_bound_by_arithmetic, times_of
from simcore.design.design import Design
from simcore.design.npu import Npu
from simcore.design.same import Same
from simcore.program import Category, Compute, ModelPart, Operator, Program, Segment
from simcore.system.chunks import picoseconds

_Times = tuple[int, int]
"""Time of operators that arithmetic bounds, and of the others [ps]."""


def shares_of_arithmetic(design: Design, program: Program, stages: Iterable[int]) -> dict[int, float]:
    """The share of an NPU's computing that arithmetic bounds, for each of these stages; the rest moves bytes.

    Collectives beside operators slow all of them alike.
    """
    asked = Same(times_of(design)), Same(design.cluster.running_npu), design.workload.precision
    of_parts, of_finals = _split_program(Same(program.parts), Same(program.final), *asked)
    often, updates = program.how_often, program.updates
    parts = [[sum(map(mul, often, side)) for side in sides] for sides in of_parts]
    shares = {}
    for stage in stages:
        tensor, memory = (updates * time for time in of_finals[stage])
        for part in program.part_of[stage :: program.stages]:
            tensor += parts[part][0]
            memory += parts[part][1]
        shares[stage] = tensor / (tensor + memory) if tensor else 0.0
    return shares


@lru_cache(maxsize=512)
def _split_program(
    parts: Same[tuple[ModelPart, ...]],
    finals: Same[tuple[tuple[Segment, ...], ...]],
    times: Same[OperatorTimes],
    npu: Same[Npu],
    precision: str,
) -> tuple[list[list[tuple[int, ...]]], list[_Times]]:
    """Of each part both sides of its `played` passes, `[2, passes]`, and of each stage those of what follows."""
    asked = times, npu, precision
    of_parts = [[_split_segments(Same(segments), *asked) for segments in part.played] for part in parts.value]
    return [[*zip(*sides, strict=True)] for sides in of_parts], [
        _split_segments(Same(segments), *asked) for segments in finals.value
    ]


@lru_cache(maxsize=4096)
def _split_segments(
    segments: Same[tuple[Segment, ...]], times: Same[OperatorTimes], npu: Same[Npu], precision: str
) -> _Times:
    counts = Counter(map(id, segments.value))  # layers of two kinds may take turns
    tensor = memory = 0
    for segment in dict(zip(map(id, segments.value), segments.value, strict=True)).values():
        one, other = _split_operators(Same(segment.operators), times, npu, precision)
        often = counts[id(segment)] * segment.repeat
        tensor += often * one
        memory += often * other
    return tensor, memory


@lru_cache(maxsize=8192)
def _split_operators(
    operators: Same[tuple[Operator, ...]], times: Same[OperatorTimes], npu: Same[Npu], precision: str
) -> _Times:
    spent = [0, 0]
    for operator in operators.value:
        if isinstance(operator, Compute) and operator.category == Category.COMPUTE:
            side, time = _split_operator(Same(operator), times, npu, precision)
            spent[side] += time
    return spent[0], spent[1]


@lru_cache(maxsize=16384)
def _split_operator(
    operator: Same[Compute], times: Same[OperatorTimes], npu: Same[Npu], precision: str
) -> tuple[bool, int]:
    """Whether an operator moves bytes more than it computes, and its time [ps]."""
    moves = not is_bound_by_arithmetic(npu.value, precision, operator.value)
    return moves, picoseconds(times.value.seconds(operator.value))
