"""What an NPU does in an iteration, as far as that decides what it draws.

An engine says how long an NPU computes, waits and idles. What of its computing is arithmetic and what moves bytes
follows from the operators of its stage, by the side of the roofline that each is on: both engines give the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
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
    split = _Split(times.value, npu.value, precision)
    of_parts = [[split.segments(segments) for segments in part.played] for part in parts.value]
    return [[*zip(*sides, strict=True)] for sides in of_parts], [split.segments(each) for each in finals.value]


@dataclass(frozen=True)
class _Split:
    """Both sides of operators, each asked for once: thousands of tokens that are served share nearly all of theirs."""

    times: OperatorTimes
    npu: Npu
    precision: str
    _known: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By the identity of an operator: on which side it is, and its time [ps]."""
    _of_passes: dict[int, _Times] = field(default_factory=dict)
    _of_operators: dict[int, _Times] = field(default_factory=dict)

    def segments(self, segments: tuple[Segment, ...]) -> _Times:
        """Of a pass."""
        found = self._of_passes.get(id(segments))
        if found is None:
            counts = Counter(map(id, segments))  # layers of two kinds may take turns
            tensor = memory = 0
            for segment in dict(zip(map(id, segments), segments, strict=True)).values():
                one, other = self._operators(segment.operators)
                often = counts[id(segment)] * segment.repeat
                tensor += often * one
                memory += often * other
            found = self._of_passes[id(segments)] = tensor, memory
        return found

    def _operators(self, operators: tuple[Operator, ...]) -> _Times:
        found = self._of_operators.get(id(operators))
        if found is None:
            spent, known = [0, 0], self._known
            for operator in operators:
                side, time = known.get(id(operator)) or self._operator(operator)
                spent[side] += time
            found = self._of_operators[id(operators)] = spent[0], spent[1]
        return found

    def _operator(self, operator: Operator) -> tuple[int, int]:
        """1 where it moves bytes more than it computes, else 0, and its time [ps]; 0 of what is no computing."""
        found = (0, 0)
        if isinstance(operator, Compute) and operator.category == Category.COMPUTE:
            moves = not is_bound_by_arithmetic(self.npu, self.precision, operator)
            found = int(moves), picoseconds(self.times.seconds(operator))
        self._known[id(operator)] = found
        return found
