"""What an NPU does in an iteration, as far as that decides what it draws.

An engine says how long an NPU computes, waits and idles. What of its computing is arithmetic and what moves bytes
follows from the operators of its stage, by the side of the roofline that each is on: both engines give the same.
"""

from __future__ import annotations

from functools import lru_cache

from simcore.compute import OperatorTimes, is_bound_by_arithmetic, times_of
from simcore.design.design import Design
from simcore.design.npu import Npu
from simcore.design.same import Same
from simcore.program import Category, Compute, Operator, Program, Segment
from simcore.system.chunks import picoseconds


def share_of_arithmetic(design: Design, program: Program, stage: int) -> float:
    """The share of the time in which an NPU of a stage computes that arithmetic bounds; the rest moves bytes.

    Collectives beside operators slow all of them alike.
    """
    tensor, memory = _split(design, program, stage)
    return tensor / (tensor + memory) if tensor else 0.0


def _split(design: Design, program: Program, stage: int) -> tuple[int, int]:
    """Time of a stage's operators that arithmetic bounds, and of the others [ps]."""
    asked = Same(times_of(design)), Same(design.cluster.running_npu), design.workload.precision
    tensor = memory = 0
    for segments, times in program.passes_of(stage):
        if segments:
            one, other = _split_segments(Same(segments), *asked)
            tensor += times * one
            memory += times * other
    return tensor, memory


@lru_cache(maxsize=4096)
def _split_segments(
    segments: Same[tuple[Segment, ...]], times: Same[OperatorTimes], npu: Same[Npu], precision: str
) -> tuple[int, int]:
    tensor = memory = 0
    for segment in segments.value:
        one, other = _split_operators(Same(segment.operators), times, npu, precision)
        tensor += segment.repeat * one
        memory += segment.repeat * other
    return tensor, memory


@lru_cache(maxsize=8192)
def _split_operators(
    operators: Same[tuple[Operator, ...]], times: Same[OperatorTimes], npu: Same[Npu], precision: str
) -> tuple[int, int]:
    spent = [0, 0]
    for operator in operators.value:
        if isinstance(operator, Compute) and operator.category == Category.COMPUTE:
            side = not is_bound_by_arithmetic(npu.value, precision, operator)
            spent[side] += picoseconds(times.value.seconds(operator))
    return spent[0], spent[1]
