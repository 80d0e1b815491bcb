"""The layers of each stage and those that recompute, for a design that leaves them open.

1. Without chunks, the exact minimum of the slowest stage under the memory of each (`simcore.layout.boundaries`); what
   fits nowhere is laid out such that the fullest stage needs least.
2. Chunks of a stage share its memory. There the slowest virtual stage is minimised without it, and the fullest one; of
   the first of these and of the even ones, layers leave stages that do not fit (`simcore.layout.lighten`).
3. The slowest stage is not all of an iteration: the pipeline fills and drains, gradients follow. So from these layouts
   and from the even one single layers move to other stages while the iteration by the times of its stages
   (`simcore.layout.play`) gets shorter, as far as memory lets them, and the best is taken. Then each stage of chunks
   gets the best of what it may recompute (`simcore.layout.fillings`).
4. Where there are no more than `WAYS` ways to put layers on stages, all are tried in place of that, of chunks with all
   that may recompute.
5. The fast engine plays what is hardly longer than the best: the even split, with chunks in any case, and of all ways a
   few.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from simcore.design.design import Design
from simcore.design.layer_range import LayerRange, write_numbers
from simcore.design.parallelism import Parallelism
from simcore.engine.fast.iteration import time_program
from simcore.layout.boundaries import least_slowest, sum_stages
from simcore.layout.costs import OPEN, Costs, Floats, Ints, costs_of
from simcore.layout.fill import fill
from simcore.layout.fillings import refine, time_fillings
from simcore.layout.improve import best_ways, count_ways, improve
from simcore.layout.lighten import lighten
from simcore.layout.play import Blocks
from simcore.layout.stage import FREE_DENSE, FREE_EXPERTS
from simcore.memory.expanded import own_capacity
from simcore.memory.reserved import bytes_beside_tensors, slack_of
from simcore.schedule import SCHEDULES
from simcore.schedule.base import PipelineSchedule
from simcore.system.placement import place
from simcore.workload.transformer.document import TransformerWorkload
from simcore.workload.transformer.program import transformer_program
from simcore.workload.transformer.stages import even_layers, open_kinds, stage_layers

MOST_PLAYED = 2
"""Microbatches a stage of the pipeline that are played; the rest take what the slowest stage does."""
MOST_BLOCKS = 2048
"""Forward passes of chunks up to which all are played: chunks may go on in step slower than any stage alone."""
CLOSE = 0.01
"""Relative: times of stages know an iteration to so much. Where two layouts are closer the fast engine plays both."""
CLOSE_CHUNKS = 0.03
"""The same of chunks, which wait for each other."""
WAYS = 256
"""Ways to put layers on stages up to which all are tried."""
MOST_COMPARED = 12
"""Most ways, the shortest ones, that the fast engine plays."""
NEARLY_FULL = 0.95
"""Share of the memory: a fuller one has no room for what is not predicted, such as fragments or uneven loads of
experts. Layers recompute until it is no fuller."""
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
    costs: Costs
    """What its layers and stages take and hold."""
    share: float = 1.0
    """The share of the memory that it may fill."""

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
        room = own_capacity(self.design) * self.share * _SURE - bytes_beside_tensors(self.design)
        return np.array([slack_of(self.design), room])

    def solve(self) -> Layout:
        """The layout that is taken."""
        given, chunks = self._given, self.design.parallelism.interleave > 1
        if not self.design.parallelism.solves_stages:
            return self._shortest(*self._filled(given)) if chunks else self.fill(given)
        if 0 < count_ways(len(self.costs.layers), len(given)) <= WAYS:
            return self._best_of_all()
        if chunks:
            fast, small = self._slowest(np.array([1.0, inf]), False), self._slowest(self.limits, True)
            starts = (self._lighten(given), self._lighten(fast), small)
            return self._best(self.fill(given), *map(self._improve, starts))
        ends = self._slowest(self.limits, False)
        if ends[-1] < 0:
            return self._fullest(self._slowest(self.limits, True))
        return self._best(self.fill(given), self._improve(ends), self._improve(given))

    def _best_of_all(self) -> Layout:
        """The shortest of all layouts: by the engine, of those that the times of stages do not tell apart."""
        arrays = self.costs.layers, self.costs.stages, self.limits, self._blocks
        found = best_ways(*arrays, count_ways(len(self.costs.layers), len(self._given)), MOST_COMPARED)
        layouts = [Layout(ends, again, float(time)) for ends, again, time in zip(*found, strict=True) if time < inf]
        if not layouts:
            return self._fullest(self._slowest(self.limits, True))
        if not any((layout.ends == self._given).all() for layout in layouts):
            layouts.append(self.fill(self._given))
        return self._shortest(*layouts)

    def _filled(self, ends: Ints) -> tuple[Layout, ...]:
        """The shortest layouts with these stages; one that does not fit where none does."""
        found = time_fillings(self.costs.layers, self.costs.stages, self.limits, self._blocks, ends)
        each = [Layout(ends, again, float(time)) for again, time in zip(*found, strict=True)]
        return tuple(sorted(each, key=lambda layout: layout.seconds)[:MOST_COMPARED]) or (self._fullest(ends),)

    def _shortest(self, *layouts: Layout) -> Layout:
        """The shortest of layouts, by the engine of those that the times of stages do not tell apart."""
        least = min(layout.seconds for layout in layouts)
        near = [layout for layout in layouts if layout.seconds <= least * (1 + self._close)]
        return near[0] if len(near) == 1 or least == inf else min(near, key=self._simulate)

    @property
    def seconds_of_even(self) -> float:
        """The iteration of the even split, where other stages may be taken in its place; else infinity."""
        return self.fill(self._given).seconds if self.design.parallelism.solves_stages else inf

    @property
    def _close(self) -> float:
        return CLOSE_CHUNKS if self.design.parallelism.interleave > 1 else CLOSE

    def _slowest(self, limits: Floats, by_memory: bool) -> Ints:
        ends: Ints = least_slowest(self.costs.layers, self.costs.stages, limits, by_memory)
        return ends

    @cached_property
    def _given(self) -> Ints:
        """The stages as they are given, or even ones."""
        p, model = self.design.parallelism, TransformerWorkload.of(self.design.workload).model
        return np.cumsum(even_layers(model.layers, p) if p.solves_stages else stage_layers(model, p))

    def _best(self, even: Layout, *others: Layout) -> Layout:
        """The shortest; where another is hardly shorter than the even one, the engine says which is.

        Of chunks it always does: what a stage without layers in one of them waits for, its times do not tell.
        """
        best = min((even, *others), key=lambda layout: layout.seconds)
        if best.seconds == inf:
            return self._fullest(self._given)
        near = best.seconds > even.seconds * (1 - CLOSE) or self.design.parallelism.interleave > 1
        if best.seconds < even.seconds < inf and near:
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
        """A layout with these stages and the least that must recompute in them; of chunks the best that was found."""
        chosen = np.zeros((len(ends), 2))
        if not fill(self.costs.layers, self.costs.stages, self.limits, self._blocks, ends, chosen):
            return self._fullest(ends)
        seconds = refine(self.costs.layers, self.costs.stages, self.limits, self._blocks, ends, chosen)
        return Layout(ends, chosen, float(seconds))

    @cached_property
    def played(self) -> int:
        """Microbatches of a batch that are played."""
        p, microbatches = self.design.parallelism, self.design.microbatches
        schedule = self.schedule
        few = MOST_PLAYED * p.pipeline
        few -= few % schedule.round(p.pipeline, p.interleave)
        if p.interleave > 1 and microbatches * p.pipeline * p.interleave <= MOST_BLOCKS:
            return microbatches
        return few if schedule.least(p.pipeline) <= few < microbatches else microbatches

    @cached_property
    def _blocks(self) -> Blocks:
        p, microbatches, schedule = self.design.parallelism, self.design.microbatches, self.schedule
        batch = played = self.played
        between = 0 if schedule.flushes else batch // schedule.updates(batch)
        if between:
            played = (4 + 2 * p.pipeline // batch) * batch + p.pipeline
        beside = bool(p.expert_overlap and schedule.pairs) and microbatches > 1
        sizes = (p.pipeline, played, p.interleave)
        order, sequence = schedule.order(*sizes), schedule.sequence(*sizes)
        return order, sequence, (played, batch, microbatches, between), (schedule.splits, beside)

    def _lighten(self, ends: Ints) -> Ints:
        """These stages of chunks, or the nearest to them that fit."""
        ends = ends.copy()
        lighten(self.costs.layers, self.costs.stages, self.limits, self._blocks, ends)
        return ends

    def _improve(self, ends: Ints) -> Layout:
        """These stages, and what single layers on other ones make shorter of them."""
        costs, ends, again = self.costs, ends.copy(), np.zeros((len(ends), 2))
        seconds = improve(costs.layers, costs.stages, self.limits, self._blocks, ends, again)
        if seconds < inf:
            seconds = refine(costs.layers, costs.stages, self.limits, self._blocks, ends, again)
        return Layout(ends, again, float(seconds))


def settled_parallelism(design: Design) -> Parallelism:
    """The parallelism of a checked design with numbers in place of what is to be solved.

    Where that is which layers recompute, the memory is no more than `NEARLY_FULL`, if that can be, and not in more time
    than the even split takes without.
    """
    solver = Solver(design, costs_of(design))
    if design.parallelism.recompute == "solve":
        roomy = replace(solver, share=NEARLY_FULL).solve()
        if roomy.seconds < inf and roomy.seconds <= solver.seconds_of_even:
            return solver.parallelism_with(roomy)
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
