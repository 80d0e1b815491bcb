"""The estimated time of a design in many draws at once, over its time where all is as predicted.

A design is lowered once, and its operators and the phases of its collectives are timed in all draws together. The time
of an iteration is then the estimate of `simcore.bounds.estimate`, with vectors `[1 + count]` in place of numbers.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from simcore.bounds.collective import CollectiveTime
from simcore.bounds.graph import longest_of
from simcore.bounds.iteration import IterationBound
from simcore.design.design import Design
from simcore.engine.fast import pipeline
from simcore.engine.fast.lower import Lowering
from simcore.engine.graph.run import arguments
from simcore.engine.graph.tables import pack_graph
from simcore.memory.plan import program_of
from simcore.program import Program
from simcore.system.placement import place
from simcore.uncertainty.draws import Draws, Floats
from simcore.uncertainty.network import DrawnNetwork
from simcore.uncertainty.operators import DrawnOperators, Places


def estimate_times(design: Design, draws: Draws) -> Floats:
    """The estimated iteration time of a checked design `[1 + count]` [ps], the first as predicted."""
    program, placement, places = program_of(design), place(design)[0], Places()
    lowering, network = Lowering(design, placement, places), DrawnNetwork(design, draws)
    if (alone := program.single) is not None:
        for group in placement:
            lowering.collective(alone.kind, group, alone.size)
        longest: Floats = np.maximum.reduce([network.time(key[0], split).least for key, (_, split) in lowering.keyed()])
        return longest
    if program.graph is not None:
        packed = pack_graph(program.graph, arguments(design, program.graph, lowering))
        times = [network.time(key[0], split) for key, (_, split) in lowering.keyed()]
        drawn_operators = DrawnOperators(design, draws).times(tuple(places.operators))
        way: Floats = longest_of(packed, program.graph, times, drawn_operators.__getitem__)
        return way + np.zeros(1 + draws.count)
    programs = lowering.add(program).tolist()
    drawn = [network.time(key[0], split) for key, (_, split) in lowering.keyed()]
    operators = DrawnOperators(design, draws).times(tuple(places.operators))
    return _DrawnIteration(program, lowering, programs, drawn, operators, network.slowdowns()).time()


class _DrawnIteration(IterationBound):
    """An iteration whose operators and collectives take vectors of times."""

    def __init__(
        self,
        program: Program,
        lowering: Lowering,
        programs: list[list[list[int]]],
        drawn: list[CollectiveTime],
        operators: Floats,
        slowdowns: tuple[Floats, ...],
    ) -> None:
        super().__init__(program, lowering, programs, drawn, 1.0)
        self._operators, self._slowed_by = operators, slowdowns

    def time(self) -> Floats:
        """The time of the iteration `[1 + count]` [ps]."""
        sums = list(self._schedule_sums(self.block_time)) if self.program.trained else self._forward_sums()
        longest: Floats = np.maximum.reduce(sums)
        return longest

    def _forward_sums(self) -> list[Any]:
        """Of a program without training, as `serving_time`: one microbatch through all, or one stage with all."""
        blocks = [[self.block_time(chunk[pipeline.FORWARD]) for chunk in stage] for stage in self.programs]
        found = [sum(sum(stage) for stage in blocks)]
        fill, drain = 0.0, sum(stage[-1] for stage in blocks)
        for stage in blocks:
            drain = drain - stage[-1]
            found.append(fill + self.program.microbatches * sum(stage) + drain)
            fill = fill + stage[0]
        return found

    def block_time(self, block: int) -> Any:
        """A block: for each segment what takes longest in it (see `simcore.bounds.estimate`), one after the other."""
        if ("drawn", block) not in self._known:
            total = self._zero
            for segment in range(*self.lowering.blocks[block]):
                first, end, repeat = self.lowering.segments[segment]
                if first < end:
                    total = total + repeat * self._longest_time(first, end)
            self._known["drawn", block] = total
        return self._known["drawn", block]

    @cached_property
    def _zero(self) -> Floats:
        return np.zeros(self._operators.shape[1])

    def _longest_time(self, first: int, end: int) -> Floats:
        if ("longest", first) not in self._known:
            rows = self.lowering.operators[first:end]
            computed = self._operators[[row for code, row, _ in rows if code == pipeline.COMPUTE]].sum(axis=0)
            blocked = self._time_of(rows, pipeline.BLOCKING)
            beside = self._time_of(rows, pipeline.START)
            busy = self._busy_times(rows, (pipeline.BLOCKING, pipeline.START))
            lost = self._lost_time(computed, self._busy_times(rows, (pipeline.START,)))
            self._known["longest", first] = np.maximum.reduce([computed + lost + blocked, beside, *busy.values()])
        found: Floats = self._known["longest", first]
        return found

    def _time_of(self, rows: list[tuple[int, int, int]], wanted: int) -> Floats:
        return sum((self._least[kind] for code, kind, _ in rows if code == wanted), start=self._zero)

    def _busy_times(self, rows: list[tuple[int, int, int]], wanted: tuple[int, ...]) -> dict[int, Floats]:
        """How long collectives keep each dimension busy."""
        busy: dict[int, Floats] = {}
        for code, kind, _ in rows:
            for dimension, time in self._busy[kind].items() if code in wanted else ():
                busy[dimension] = busy.get(dimension, self._zero) + time
        return busy

    def _lost_time(self, computed: Floats, beside: dict[int, Floats]) -> Floats:
        """What the computation of a segment loses to the longest service beside it."""
        lost = self._zero
        for dimension, time in beside.items():
            slow = self._slowed_by[dimension]
            lost = np.maximum(lost, np.minimum(time * slow / (1.0 + slow), computed * slow))
        return lost
