"""An estimate of the iteration time where the proven bound leaves something out: nothing proven, to rank designs by.

The bound of `simcore.bounds.design` counts what must happen one after the other. Gradient buckets and prefetched
parameters run beside it as far as the network lets them. The estimate takes a segment to last as long as the longest of
three: its operators and blocking collectives one after the other, its other collectives one after the other, and the
service of its busiest dimension. What the other collectives cost the operators beside them is added to these. Over the
designs of a space it is an order of magnitude nearer to the simulated time than the bound is where the two differ, and
takes half the work: what the bound sums up besides does not show in it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import cached_property
from typing import Any

from simcore.bounds.collective import collective_time
from simcore.bounds.compute import least_work
from simcore.bounds.design import Bounds, bound, bounds_at
from simcore.bounds.iteration import IterationBound
from simcore.compute import times_of
from simcore.design.design import Design
from simcore.design.jobs import shares_of
from simcore.engine.fast.lower import Lowering
from simcore.memory.plan import program_of
from simcore.metrics import METRICS
from simcore.power.draw import joules_of
from simcore.program import Program
from simcore.system.chunks import PICOSECONDS
from simcore.system.interference import UNIT, slowdowns
from simcore.system.placement import place

_TIME = "iteration_time"
_POWER = ("power", "power.mean")


def estimate(design: Design, named: Collection[str] = METRICS) -> Bounds:
    """The metrics of a checked design at the estimate of its iteration time; its bounds where it trains nothing.

    At least those `named`: whoever asks for the time alone does not wait for the others. Of several jobs the time is
    that of the slowest one alone.
    """
    if design.jobs is not None:
        alone = [estimate(share.design, (_TIME,))[_TIME] for share in shares_of(design)[0]]
        return bound(design) | {_TIME: max((time for time in alone if time is not None), default=None)}
    program = program_of(design)
    if not program.trained:
        return bound(design)
    lowering = Lowering(design, place(design)[0], times_of(design))
    programs = lowering.add(program).tolist()
    seconds = max(_Overlap.of(program, lowering, programs).sums()) / PICOSECONDS
    if all(name == _TIME for name in named):
        return {_TIME: seconds}
    joules = least_work(program, joules_of(design, lowering.duration)) / PICOSECONDS
    found = bounds_at(design, {_TIME: seconds}, joules, program, {*named, "energy"})
    drawn = found["energy"]
    return found | dict.fromkeys(_POWER, None if drawn is None else drawn / seconds)


class _Overlap(IterationBound):
    """An iteration whose segments last as long as what overlaps in them."""

    @classmethod
    def of(cls, program: Program, lowering: Lowering, programs: list[list[list[int]]]) -> _Overlap:
        """The estimate of a lowered iteration: every collective as it goes, alone."""
        times = []
        for _, split in lowering.types:
            counted = split.count_paths()
            times.append(collective_time([path for path, _ in counted], [often for _, often in counted], ()))
        return cls(program, lowering, programs, times)

    @cached_property
    def _own(self) -> dict[Any, int]:
        """What stages with these blocks take [ps]."""
        return {}

    @cached_property
    def _slowdowns(self) -> tuple[int, ...]:
        return slowdowns(self.lowering.design)

    def sums(self) -> Iterator[int]:
        """The schedule of blocks alone: what overlaps is in them."""
        yield from self._schedule_sums(self.block_time)

    def _add_blocks(self, before: int, s: int, worth: Callable[[int], int]) -> int:
        """As for bounds; stages of the same blocks take the same, and integers add up alike in any order."""
        chunks = tuple(map(tuple, self.programs[s]))
        if chunks not in self._own:
            self._own[chunks] = super()._add_blocks(0, s, worth)
        return before + self._own[chunks]

    def block_time(self, block: int) -> int:
        """A block: for each segment the longest of the three (see the module), one segment after the other."""
        if ("overlap", block) not in self._known:
            first, end = self.lowering.blocks[block]
            self._known["overlap", block] = sum(map(self._segment_time, range(first, end)))
        found: int = self._known["overlap", block]
        return found

    def _segment_time(self, segment: int) -> int:
        first, end, repeat = self.lowering.segments[segment]
        if first == end:
            return 0
        if ("longest", first) not in self._known:
            self._known["longest", first] = self._longest_time(first, end)
        found: int = self._known["longest", first] * repeat
        return found

    def _longest_time(self, first: int, end: int) -> int:
        computed, blocking, started = self.lowering.instructions.use(first, end)
        busy, slowing = [0] * len(self._slowdowns), [0] * len(self._slowdowns)
        blocked = sum(often * self._least[kind] for kind, often in blocking)
        beside = sum(often * self._least[kind] for kind, often in started)
        for kind, often in (*blocking, *started):
            for dimension, time in self._busy[kind].items():
                busy[dimension] += often * time
        for kind, often in started:
            for dimension, time in self._busy[kind].items():
                slowing[dimension] += often * time
        longest: int = max(computed + self._lost_time(computed, slowing) + blocked, beside, *busy)
        return longest

    def _lost_time(self, computed: int, slowing: list[int]) -> int:
        """What the computation of a segment loses to the longest service beside it."""
        return max(
            min(time * slow // (UNIT + slow), computed * slow // UNIT)
            for time, slow in zip(slowing, self._slowdowns, strict=True)
        )
