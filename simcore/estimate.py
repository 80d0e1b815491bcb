"""An estimate of the iteration time where the proven bound leaves something out: nothing proven, to rank designs by.

The bound of `simcore.bound` counts what must happen one after the other. Gradient buckets and prefetched parameters run
beside it as far as the network lets them. The estimate takes a segment to last as long as the longest of three: its
operators and blocking collectives one after the other, its other collectives one after the other, and the service of
its busiest dimension. Over the designs of a space it is an order of magnitude nearer to the simulated time than the
bound is where the two differ.
"""

from __future__ import annotations

from collections.abc import Sequence

from simcore.bound import Bounds, IterationBound, bound, bound_lowered, collective_least
from simcore.compute import operator_times
from simcore.design import CollectiveWorkload, Design
from simcore.engine import pipeline
from simcore.engine.lower import Lowering, lower_schedule
from simcore.plan import program_of
from simcore.system.chunks import PICOSECONDS, Chunks
from simcore.system.placement import place


def estimate(design: Design) -> tuple[Bounds, float | None]:
    """The bounds of a checked design, and the estimate of its iteration time [s]; None where the bound is as good."""
    if isinstance(design.workload, CollectiveWorkload) or not program_of(design).trained:
        return bound(design), None
    program = program_of(design)
    lowering = Lowering(design, place(design)[0], operator_times(design.cluster.npu, design.workload.precision))
    programs = lower_schedule(lowering, program).tolist()
    proven = bound_lowered(design, program, lowering, programs)
    overlapping = _Overlap([split for _, split in lowering.types])
    seconds = IterationBound(program, lowering, programs, overlapping.segment).least() / PICOSECONDS
    return proven, max(seconds, proven["iteration_time"] or 0.0)


class _Overlap:
    """Time of a segment whose collectives overlap with its operators [ps]."""

    def __init__(self, types: Sequence[Chunks]) -> None:
        self._alone = [collective_least(split) for split in types]
        self._service = [_service(split) for split in types]

    def segment(self, operators: Sequence[tuple[int, int, int]]) -> int:
        """The longest of the three (see the module)."""
        serial = beside = 0
        busy: dict[int, int] = {}
        for code, argument, _ in operators:
            if code == pipeline.COMPUTE:
                serial += argument
            elif code in (pipeline.BLOCKING, pipeline.START):
                if code == pipeline.BLOCKING:
                    serial += self._alone[argument]
                else:
                    beside += self._alone[argument]
                for dimension, time in self._service[argument].items():
                    busy[dimension] = busy.get(dimension, 0) + time
        return max(serial, beside, *busy.values())


def _service(split: Chunks) -> dict[int, int]:
    """Time that each dimension serves a collective [ps]."""
    busy: dict[int, int] = {}
    for path, times in split.counted():
        for phase in path:
            busy[phase.dimension] = busy.get(phase.dimension, 0) + times * phase.serialization
    return busy
