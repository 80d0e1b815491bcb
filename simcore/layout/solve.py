"""The layers of each stage and those that recompute, for a design that leaves them open.

1. Without chunks, the exact minimum of the slowest stage under the memory of each (`simcore.layout.boundaries`); what
   fits nowhere is laid out such that the fullest stage needs least.
2. Chunks of a stage share its memory. There the slowest virtual stage is minimised without it, and layers recompute, one
   after the other where most microbatches keep theirs, until the stage fits.
3. The slowest stage is not all of an iteration: the pipeline fills and drains, gradients follow. So from this layout and
   from the even one single layers move to other stages while the iteration by the times of its stages
   (`simcore.layout.play`) gets shorter, and the better of the two is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from simcore.design.design import Design
from simcore.design.layer_range import LayerRange, write_numbers
from simcore.design.parallelism import Parallelism
from simcore.layout.boundaries import bytes_of_stage, least_slowest, sum_stages, time_stages
from simcore.layout.costs import (
    AGAIN,
    ENDS,
    Costs,
    Floats,
    Ints,
    costs_of,
    layer_kind_lists,
)
from simcore.layout.improve import improve
from simcore.layout.play import time_layout
from simcore.layout.stage import FREE_DENSE, HELD, SAVED_DENSE, SAVED_EXPERTS, STORED
from simcore.memory.expanded import own_capacity
from simcore.memory.reserved import bytes_beside_tensors, slack_of
from simcore.schedule import SCHEDULES
from simcore.schedule.base import PipelineSchedule, kept_after
from simcore.workload.transformer.document import TransformerWorkload
from simcore.workload.transformer.stages import part_layers, stage_layers

MOST_ROUNDS = 4
"""Moves of single layers, each the best of a round."""
MOST_PLAYED = 2
"""Microbatches a stage of the pipeline that are played; the rest take what the slowest stage does."""
_SURE = 1 - 1e-12
"""What is within this of the memory is taken to need more of it: sums differ in their last digits."""


@dataclass(frozen=True)
class Layout:
    """Layers over stages, and what follows from it."""

    ends: Ints
    """The number of layers up to the last one of each virtual stage."""
    again: Floats
    """Dense layers and layers of experts that recompute, of each virtual stage `[virtual stages, 2]`."""
    seconds: float
    """The iteration by the times of its stages; infinity where it does not fit."""


@dataclass(frozen=True)
class Solver:
    """Solves one design."""

    design: Design

    @cached_property
    def costs(self) -> Costs:
        """What its layers and stages take and hold."""
        return costs_of(self.design)

    @cached_property
    def _which(self) -> Ints:
        return self.costs.experts.astype(np.int64) + 2 * self.costs.free

    @cached_property
    def flights(self) -> Floats:
        """Microbatches in flight on each virtual stage."""
        p, sizes = self.design.parallelism, (self.design.parallelism.pipeline, self.design.microbatches)
        each = [self.schedule.in_flight(stage, *sizes, p.interleave) for stage in range(p.pipeline)]
        beside = 1.0 if p.expert_overlap and self.design.microbatches > 1 else 0.0
        found = [each[place % p.pipeline][place // p.pipeline] + beside for place in self.costs.path.tolist()]
        return np.array(found, float)

    @property
    def schedule(self) -> PipelineSchedule:
        """Its schedule."""
        return SCHEDULES[self.design.parallelism.schedule]

    def sums(self, ends: Ints) -> Floats:
        """What is added up over the layers of each virtual stage, `[virtual stages, SUMS]`."""
        costs = self.costs
        found: Floats = sum_stages(costs.layers, self._which, costs.stages, ends)
        return found

    @cached_property
    def slack(self) -> float:
        return slack_of(self.design)

    @cached_property
    def room(self) -> float:
        """Bytes of an NPU for tensors and what is lost around them."""
        return own_capacity(self.design) * _SURE - bytes_beside_tensors(self.design)

    def solve(self) -> Layout:
        """The layout that is taken."""
        given = self._given
        if not self.design.parallelism.solves_stages:
            return self.fill(given)
        if self.design.parallelism.interleave > 1:
            return self._best([self.fill(given), self.fill(self._slowest(inf, False))])
        ends = self._slowest(self.room, False)
        if ends[-1] < 0:
            return self._fullest(self._slowest(self.room, True))
        return self._best([self._improve(ends), self._improve(given)])

    def _slowest(self, room: float, by_memory: bool) -> Ints:
        costs = self.costs
        ends: Ints = least_slowest(
            costs.layers, self._which, costs.stages, self.flights, self.slack, room, by_memory
        )
        return ends

    @cached_property
    def _given(self) -> Ints:
        """The stages as they are given, or even ones."""
        p, model = self.design.parallelism, TransformerWorkload.of(self.design.workload).model
        if p.solves_stages:
            counts = part_layers(model.layers, p.pipeline * p.interleave)
        else:
            counts = stage_layers(model, p)
        return np.cumsum(counts)

    def _best(self, layouts: list[Layout]) -> Layout:
        """The shortest; of equal ones the first."""
        best = min(layouts, key=lambda layout: layout.seconds)
        return best if best.seconds < inf else self._fullest(self._given)

    def _fullest(self, ends: Ints) -> Layout:
        """A layout that does not fit even if all layers recompute that may."""
        return Layout(ends, self._free_of(ends), inf)

    def _free_of(self, ends: Ints) -> Floats:
        """Open layers of each virtual stage: dense ones and those of experts."""
        free, experts = self.costs.free, self.costs.experts
        counted = np.vstack([[0, 0], np.cumsum(np.stack([free & ~experts, free & experts], 1), axis=0)])
        found: Floats = np.diff(counted[ends], axis=0, prepend=0).astype(float)
        return found

    def fill(self, ends: Ints) -> Layout:
        """A layout with these stages and the least that must recompute in them."""
        if self.design.parallelism.interleave > 1:
            return self._fill_chunks(ends)
        costs, chosen = self.costs, np.zeros((len(ends), 2))
        times = time_stages(
            costs.layers, self._which, costs.stages, self.flights, self.slack, self.room, ends, chosen
        )
        if not np.isfinite(times).all():
            return self._fullest(ends)
        return Layout(ends, chosen, self._play(ends, chosen))

    def _fill_chunks(self, ends: Ints) -> Layout:
        """As `fill`, where the chunks of a stage share its memory."""
        again = np.zeros((len(ends), 2))
        for stage in range(self.design.parallelism.pipeline):
            if not _ChunkedStage(self, stage, ends).fill(again):
                return self._fullest(ends)
        return Layout(ends, again, self._play(ends, again))

    @cached_property
    def played(self) -> int:
        """Microbatches that are played."""
        p, microbatches = self.design.parallelism, self.design.microbatches
        schedule = self.schedule
        few = MOST_PLAYED * p.pipeline
        few -= few % schedule.round(p.pipeline, p.interleave)
        return few if schedule.least(p.pipeline) <= few < microbatches else microbatches

    @cached_property
    def again_seconds(self) -> Floats:
        """What a dense layer and one of experts take longer if they recompute [s]."""
        costs = self.costs
        return np.array(
            [max(costs.layers[costs.free & (costs.experts == kind), AGAIN], default=0.0) for kind in (False, True)]
        )

    def _play(self, ends: Ints, again: Floats) -> float:
        """The iteration by the times of its stages [s]."""
        costs = self.costs
        return float(time_layout(costs.layers, costs.stages, *self._times, ends, again))

    @property
    def _times(self) -> tuple[Any, ...]:
        """What times of stages are played with; see `time_layout`."""
        p = self.design.parallelism
        sizes = (p.pipeline, self.played, p.interleave)
        order, sequence = self.schedule.order(*sizes), self.schedule.sequence(*sizes)
        return self.again_seconds, order, sequence, self.costs.path, self.played, self.design.microbatches

    def _improve(self, ends: Ints) -> Layout:
        """These stages, and what single layers on other ones make shorter of them."""
        costs, ends, again = self.costs, ends.copy(), np.zeros((len(ends), 2))
        memory = (costs.layers, self._which, costs.stages, self.flights, self.slack, self.room)
        return Layout(ends, again, float(improve(*memory, *self._times, ends, again, MOST_ROUNDS)))


@dataclass(frozen=True)
class _ChunkedStage:
    """A stage of several chunks, with given layers."""

    solver: Solver
    stage: int
    ends: Ints

    @cached_property
    def _virtual(self) -> Ints:
        """Its virtual stages, by chunk."""
        costs, p = self.solver.costs, self.solver.design.parallelism
        mine = np.flatnonzero(costs.path % p.pipeline == self.stage)
        return mine[np.argsort(costs.path[mine])]

    @cached_property
    def _sums(self) -> Floats:
        """What is added up over the layers of each chunk, `[chunks, SUMS]`."""
        return self.solver.sums(self.ends)[self._virtual]

    def fill(self, again: Floats) -> bool:
        """Let the fewest layers recompute, those that save most for their time first; whether it then fits."""
        order = self._in_order()
        few, most = 0, len(order)
        if self._fits(order):
            while few < most:
                middle = (few + most) // 2
                few, most = (few, middle) if self._fits(order[:middle]) else (middle + 1, most)
        elif not self._fits([]):
            return False
        else:
            few = 0
        for chunk, kind in order[:few]:
            again[self._virtual[chunk], kind] += 1
        return True

    def _in_order(self) -> list[tuple[int, int]]:
        """Chunk and kind of each open layer, by the time that it takes for what it saves."""
        flights, seconds = self.solver.flights[self._virtual], self.solver.again_seconds
        ranked = sorted(
            (seconds[kind] / (sums[SAVED_DENSE + kind] * flights[chunk]), chunk, kind)
            for chunk, sums in enumerate(self._sums)
            for kind in (0, 1)
            if sums[FREE_DENSE + kind]
        )
        return [(c, kind) for _, c, kind in ranked for _ in range(int(self._sums[c, FREE_DENSE + kind]))]

    def _fits(self, recomputing: list[tuple[int, int]]) -> bool:
        """Whether it fits where these layers recompute."""
        solver, sums = self.solver, self._sums
        counts = np.zeros((len(sums), 2))
        for chunk, kind in recomputing:
            counts[chunk, kind] += 1
        stages = solver.costs.stages[self._virtual]
        kept = sums[:, STORED] - (counts * sums[:, SAVED_DENSE : SAVED_EXPERTS + 1]).sum(axis=1) + stages[:, ENDS]
        held, working = sums[:, HELD].sum(), 0.0
        for its, row, (dense, experts) in zip(sums, stages, counts, strict=True):
            whole = bytes_of_stage(its, row, 0.0, dense, experts, 1.0)
            working = max(working, whole - its[HELD])
        p = solver.design.parallelism
        codes = solver.schedule.order(p.pipeline, solver.played, p.interleave)[self.stage]
        most = kept_after(codes, kept, solver.schedule.splits).max()
        beside = kept.max() if p.expert_overlap and solver.design.microbatches > 1 else 0.0
        return bool(held + solver.slack * (most + beside + working) <= solver.room)


def settled_parallelism(design: Design) -> Parallelism:
    """The parallelism of a checked design with numbers in place of what is to be solved."""
    p, solver = design.parallelism, Solver(design)
    layout = solver.solve()
    sizes = np.diff(layout.ends, prepend=0).tolist()
    changes: dict[str, Any] = {"stages": tuple(sizes) if p.solves_stages else p.stages}
    if p.recompute == "solve":
        changes |= _settled_recompute(design, solver, layout)
    return p.model_copy(update=changes)


def _settled_recompute(design: Design, solver: Solver, layout: Layout) -> dict[str, Any]:
    """The keys that say which layers recompute: of each virtual stage the first ones of their kind."""
    p, (plain, again) = design.parallelism, layer_kind_lists(design)
    kinds, first = list(plain), 0
    for end, counts in zip(layout.ends.tolist(), layout.again, strict=True):
        for experts in (False, True):
            mine = [i for i in range(first, end) if solver.costs.free[i] and plain[i].experts == experts]
            for layer in mine[: int(counts[experts])]:
                kinds[layer] = again[layer]
        first = end
    ways: dict[tuple[str, frozenset[str] | None], list[int]] = {}
    for layer, kind in enumerate(kinds):
        ways.setdefault((kind.recompute, kind.modules), []).append(layer)
    if len(ways) == 1:
        ((how, modules),) = ways
        return {"recompute": how, "layers": None, "recompute_modules": _listed(modules)}
    ranges = [
        LayerRange(layers=write_numbers(numbers), recompute=how, recompute_modules=_listed(modules))
        for (how, modules), numbers in ways.items()
    ]
    return {"recompute": "none", "layers": tuple(ranges), "recompute_modules": None}


def _listed(modules: frozenset[str] | None) -> Any:
    return None if modules is None else tuple(sorted(modules))
