"""The layers of each stage and those that recompute, for a design that leaves them open.

1. Without chunks, the exact minimum of the slowest stage under the memory of each (`simcore.layout.boundaries`); what
   fits nowhere is laid out such that the fullest stage needs least.
2. Chunks of a stage share its memory. There the slowest virtual stage is minimised without it, and layers recompute,
   one after the other where most microbatches keep theirs, until the stage fits.
3. The slowest stage is not all of an iteration: the pipeline fills and drains, gradients follow. So from this layout
   and from the even one single layers move to other stages while the iteration by the times of its stages
   (`simcore.layout.play`) gets shorter, and the better of the two is taken.
4. Where that is hardly shorter than the even split, the fast engine plays both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.design.design import Design
from simcore.design.layer_range import LayerRange, write_numbers
from simcore.design.parallelism import Parallelism
from simcore.engine.fast.iteration import time_program
from simcore.layout.boundaries import bytes_of_stage, least_slowest, sum_stages, time_stages
from simcore.layout.costs import ENDS, FLIGHT, OPEN, PLACE, Costs, Floats, Ints, costs_of
from simcore.layout.improve import improve
from simcore.layout.play import time_layout
from simcore.layout.stage import AGAIN_DENSE, FREE_DENSE, FREE_EXPERTS, HELD, SAVED_DENSE, SAVED_EXPERTS, STORED
from simcore.memory.expanded import own_capacity
from simcore.memory.reserved import bytes_beside_tensors, slack_of
from simcore.schedule import SCHEDULES
from simcore.schedule.base import PipelineSchedule, kept_after
from simcore.system.placement import place
from simcore.workload.transformer.document import TransformerWorkload
from simcore.workload.transformer.program import transformer_program
from simcore.workload.transformer.stages import even_layers, open_kinds, stage_layers

MOST_PLAYED = 2
"""Microbatches a stage of the pipeline that are played; the rest take what the slowest stage does."""
CLOSE = 0.01
"""Relative: times of stages know an iteration to so much. Where two layouts are closer the fast engine plays both."""
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

    @property
    def schedule(self) -> PipelineSchedule:
        """Its schedule."""
        return SCHEDULES[self.design.parallelism.schedule]

    def sums(self, ends: Ints) -> Floats:
        """What is added up over the layers of each virtual stage, `[virtual stages, SUMS]`."""
        found: Floats = sum_stages(self.costs.layers, self.costs.stages, ends)
        return found

    @cached_property
    def limits(self) -> Floats:
        """What is reserved over what is allocated and freed, and bytes for tensors and what is lost around them."""
        room = own_capacity(self.design) * _SURE - bytes_beside_tensors(self.design)
        return np.array([slack_of(self.design), room])

    def solve(self) -> Layout:
        """The layout that is taken."""
        given = self._given
        if not self.design.parallelism.solves_stages:
            return self.fill(given)
        if self.design.parallelism.interleave > 1:
            return self._best(self.fill(given), self.fill(self._slowest(np.array([1.0, inf]), False)))
        ends = self._slowest(self.limits, False)
        if ends[-1] < 0:
            return self._fullest(self._slowest(self.limits, True))
        return self._best(self.fill(given), self._improve(ends), self._improve(given))

    def _slowest(self, limits: Floats, by_memory: bool) -> Ints:
        ends: Ints = least_slowest(self.costs.layers, self.costs.stages, limits, by_memory)
        return ends

    @cached_property
    def _given(self) -> Ints:
        """The stages as they are given, or even ones."""
        p, model = self.design.parallelism, TransformerWorkload.of(self.design.workload).model
        return np.cumsum(even_layers(model.layers, p) if p.solves_stages else stage_layers(model, p))

    def _best(self, even: Layout, *others: Layout) -> Layout:
        """The shortest; where another is hardly shorter than the even one, the engine says which is."""
        best = min((even, *others), key=lambda layout: layout.seconds)
        if best.seconds == inf:
            return self._fullest(self._given)
        if even.seconds < inf and even.seconds > best.seconds > even.seconds * (1 - CLOSE):
            return min(even, best, key=self._simulate)
        return best

    def _simulate(self, layout: Layout) -> int:
        """The iteration of a layout by the fast engine [ps]."""
        design = self.design.model_copy(update={"parallelism": self.parallelism_with(layout)})
        return time_program(design, transformer_program(design), place(design)[0])[0].total

    def parallelism_with(self, layout: Layout) -> Parallelism:
        """The parallelism of the design with the numbers of a layout."""
        p = self.design.parallelism
        sizes = np.diff(layout.ends, prepend=0).tolist()
        changes: dict[str, Any] = {"stages": tuple(sizes) if len(sizes) > 1 else None} if p.solves_stages else {}
        if p.recompute == "solve":
            changes |= _settled_recompute(self, layout)
        return p.model_copy(update=changes)

    def _fullest(self, ends: Ints) -> Layout:
        """A layout that does not fit even if all layers recompute that may."""
        return Layout(ends, self._free_of(ends), inf)

    def _free_of(self, ends: Ints) -> Floats:
        """Open layers of each virtual stage: dense ones and those of experts."""
        found: Floats = self.sums(ends)[:, FREE_DENSE : FREE_EXPERTS + 1]
        return found

    def fill(self, ends: Ints) -> Layout:
        """A layout with these stages and the least that must recompute in them."""
        if self.design.parallelism.interleave > 1:
            return self._fill_chunks(ends)
        chosen = np.zeros((len(ends), 2))
        times = time_stages(self.costs.layers, self.costs.stages, self.limits, ends, chosen)
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

    @property
    def _schedule(self) -> tuple[Ints, NDArray[np.int32], tuple[int, int]]:
        """What the times of stages are played with; see `time_layout`."""
        p = self.design.parallelism
        sizes = (p.pipeline, self.played, p.interleave)
        return self.schedule.order(*sizes), self.schedule.sequence(*sizes), (self.played, self.design.microbatches)

    def _play(self, ends: Ints, again: Floats) -> float:
        """The iteration by the times of its stages [s]."""
        return float(time_layout(self.costs.layers, self.costs.stages, *self._schedule, ends, again))

    def _improve(self, ends: Ints) -> Layout:
        """These stages, and what single layers on other ones make shorter of them."""
        costs, ends, again = self.costs, ends.copy(), np.zeros((len(ends), 2))
        seconds = improve(costs.layers, costs.stages, self.limits, *self._schedule, ends, again)
        return Layout(ends, again, float(seconds))


@dataclass(frozen=True)
class _ChunkedStage:
    """A stage of several chunks, with given layers."""

    solver: Solver
    stage: int
    ends: Ints

    @cached_property
    def _virtual(self) -> Ints:
        """Its virtual stages, by chunk."""
        places = self.solver.costs.stages[:, PLACE]
        mine = np.flatnonzero(places % self.solver.design.parallelism.pipeline == self.stage)
        return mine[np.argsort(places[mine])]

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
        flights = self.solver.costs.stages[self._virtual, FLIGHT]
        ranked = sorted(
            (sums[AGAIN_DENSE + kind] / (sums[SAVED_DENSE + kind] * flights[chunk]), chunk, kind)
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
            row[FLIGHT] = 0.0
            working = max(working, bytes_of_stage(its, row, dense, experts, 1.0) - its[HELD])
        p = solver.design.parallelism
        codes = solver.schedule.order(p.pipeline, solver.played, p.interleave)[self.stage]
        most = kept_after(codes, kept, solver.schedule.splits).max()
        beside = kept.max() if p.expert_overlap and solver.design.microbatches > 1 else 0.0
        return bool(held + solver.limits[0] * (most + beside + working) <= solver.limits[1])


def settled_parallelism(design: Design) -> Parallelism:
    """The parallelism of a checked design with numbers in place of what is to be solved."""
    solver = Solver(design)
    return solver.parallelism_with(solver.solve())


def _settled_recompute(solver: Solver, layout: Layout) -> dict[str, Any]:
    """The keys that say which layers recompute: of each virtual stage the first ones of their kind."""
    design = solver.design
    workload = TransformerWorkload.of(design.workload)
    plain, again = open_kinds(workload.model, design.parallelism, workload.sequence)
    kinds, first = list(plain), 0
    for end, counts in zip(layout.ends.tolist(), layout.again, strict=True):
        for experts in (False, True):
            mine = [i for i in range(first, end) if solver.costs.layers[i, OPEN] and plain[i].experts == experts]
            for layer in mine[: int(counts[int(experts)])]:
                kinds[layer] = again[layer]
        first = end
    ways: dict[tuple[str, frozenset[str] | None], list[int]] = {}
    for layer, kind in enumerate(kinds):
        ways.setdefault((kind.recompute, kind.modules), []).append(layer)
    if len(ways) == 1:
        ((how, modules),) = ways
        return {"recompute": how, "layers": None, "recompute_modules": _listed(modules)}
    ranges = [
        LayerRange.model_validate({"layers": write_numbers(n), "recompute": how, "recompute_modules": _listed(modules)})
        for (how, modules), n in ways.items()
    ]
    return {"recompute": "none", "layers": tuple(ranges), "recompute_modules": None}


def _listed(modules: frozenset[str] | None) -> Any:
    return None if modules is None else tuple(sorted(modules))
