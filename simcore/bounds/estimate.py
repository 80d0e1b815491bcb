"""An estimate of the iteration time where the proven bound leaves something out: nothing proven, to rank designs by.

The bound of `simcore.bounds.design` counts what must happen one after the other. Gradient buckets and prefetched
parameters run beside it as far as the network lets them. The estimate takes a segment to last as long as the longest of
three: its operators and blocking collectives one after the other, its other collectives one after the other, and the
service of its busiest dimension. What the other collectives cost the operators beside them is added to these. Over the
designs of a space it is an order of magnitude nearer to the simulated time than the bound is where the two differ, and
takes half the work: what the bound sums up besides does not show in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from simcore.bounds.compute import mean_work, mean_work_of_microbatch
from simcore.bounds.design import Bounds, bound, bound_iteration, bounds_at, serving_bounds
from simcore.bounds.iteration import IterationBound
from simcore.compute import OperatorTimes, times_of
from simcore.design.design import Design
from simcore.design.jobs import shares_of
from simcore.design.npu import Npu
from simcore.design.same import Same
from simcore.engine.fast.lower import Lowering
from simcore.memory.plan import program_of, sample_of
from simcore.metrics import METRICS
from simcore.power.draw import joules_of
from simcore.program import ModelPart, Program
from simcore.system.chunks import PICOSECONDS, Chunks
from simcore.system.interference import UNIT, slowdowns
from simcore.system.placement import place
from simcore.workload.base import Sample

_TIME = "iteration_time"
_POWER = ("power", "power.mean")
_LARGEST = 1 << 62
"""What sums in 64 bits stay below [ps]."""


def estimate(design: Design, named: Collection[str] = METRICS) -> Bounds:
    """The metrics of a checked design at the estimate of its iteration time; its bounds where it trains nothing.

    At least those `named`: whoever asks for the time alone does not wait for the others. Of several jobs the time is
    that of the slowest one alone.
    """
    if design.jobs is not None:
        alone = [estimate(share.design, (_TIME,))[_TIME] for share in shares_of(design)[0]]
        return bound(design) | {_TIME: max((time for time in alone if time is not None), default=None)}
    if (known := sample_of(design)) is not None:
        return _estimate_sample(design, known, named)
    program = program_of(design)
    if not program.trained:
        return bound(design)
    lowering = Lowering(design, place(design)[0], times_of(design))
    programs = lowering.add(program).tolist()
    seconds = max(_Overlap(program, lowering, programs).sums()) / PICOSECONDS
    if all(name == _TIME for name in named):
        return {_TIME: seconds}
    joules = program.microbatches * _joules_of_microbatch(design, program, lowering) / PICOSECONDS
    found = bounds_at(design, {_TIME: seconds}, joules, program, {*named, "energy"})
    drawn = found["energy"]
    return found | dict.fromkeys(_POWER, None if drawn is None else drawn / seconds)


def _estimate_sample(design: Design, known: Sample, named: Collection[str]) -> Bounds:
    """Estimate of a model that serves, from some of its tokens."""
    lowering, _, iteration = bound_iteration(design, known.program)
    times = serving_bounds(known.program, lowering, iteration, known.repeats)
    joules = mean_work(known.program, joules_of(design, lowering.duration), known.repeats) / PICOSECONDS
    return bounds_at(design, times, joules, known.program, named)


@dataclass(frozen=True)
class _Alike:
    """A microbatch takes the same of an NPU where these are equal: many designs differ in their network alone."""

    parts: Same[tuple[ModelPart, ...]]
    part_of: tuple[int, ...]
    stages: int
    compute: Same[OperatorTimes]
    npu: Same[Npu]
    precision: str
    design: Design = field(compare=False)
    program: Program = field(compare=False)
    lowering: Lowering = field(compare=False)


def _joules_of_microbatch(design: Design, program: Program, lowering: Lowering) -> float:
    """What one microbatch takes of an NPU above idle [pJ]."""
    asked = Same(program.parts), program.part_of, program.stages, Same(lowering.compute)
    own = Same(design.cluster.running_npu), design.workload.precision
    return _joules(_Alike(*asked, *own, design, program, lowering))


@lru_cache(maxsize=256)
def _joules(alike: _Alike) -> float:
    found: float = mean_work_of_microbatch(alike.program, joules_of(alike.design, alike.lowering.duration))
    return found


class _Overlap(IterationBound):
    """An iteration whose segments last as long as what overlaps in them."""

    def __init__(self, program: Program, lowering: Lowering, programs: list[list[list[int]]]) -> None:
        super().__init__(program, lowering, programs, ())
        self._blocks = _block_times(lowering)

    def sums(self) -> Iterator[int]:
        """The schedule of blocks alone: what overlaps is in them."""
        yield from self._schedule_sums(self.block_time)

    def block_time(self, block: int) -> int:
        """A block: for each segment the longest of the three (see the module), one segment after the other."""
        return self._blocks[block]


def _block_times(lowering: Lowering) -> list[int]:
    """What each block takes, every collective as it goes alone [ps]."""
    its, slowed = lowering.instructions.counted(), slowdowns(lowering.design)
    least, busy = _times_alone([split for _, split in lowering.types], len(slowed))
    most = max(least, default=0) * int((its.blocking + its.started).sum()) + int(its.computed.sum())
    fits = most * max(UNIT + max(slowed), int(its.repeats.sum(axis=1).max(initial=1))) < _LARGEST
    computed, blocking, started, repeats = its if fits else (table.astype(object) for table in its)
    alone, service, slow = (np.array(table, np.int64 if fits else object) for table in (least, busy, slowed))
    service = service.reshape(len(least), len(slowed))
    beside = started @ service
    lost = np.minimum(beside * slow // (UNIT + slow), computed[:, None] * slow // UNIT).max(axis=1)
    longest = np.maximum(computed + lost + blocking @ alone, started @ alone)
    longest = np.maximum(longest, (blocking @ service + beside).max(axis=1))
    times: list[int] = (repeats @ longest).tolist()
    return times


def _times_alone(splits: Sequence[Chunks], queues: int) -> tuple[list[int], list[list[int]]]:
    """What each collective takes alone, and the service of each queue `[collectives, queues]` [ps]."""
    least, busy = [], []
    for split in splits:
        ways, service = [], [0] * queues
        for path, often in split.count_paths():
            way = 0
            for phase in path:
                way += phase.serialization + phase.latency
                service[phase.dimension] += often * phase.serialization
            ways.append(way)
        least.append(max(min(ways), *service))
        busy.append(service)
    return least, busy
