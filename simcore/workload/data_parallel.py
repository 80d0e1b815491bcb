"""What data parallelism adds to a stage: gradient buckets, ZeRO's gathers of parameters, the optimizer step.

Gradients of all but the routed experts are reduced over data x context, those of an expert over the NPUs that have the
same one, data x context / expert. ZeRO (Rajbhandari et al. 2020, arXiv 1910.02054) shards states over the same groups:
from stage 1 gradients are reduce-scattered and the updated parameters gathered; stage 3 gathers each layer's parameters
in every forward and backward, one layer ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from simcore.design import Design, TransformerWorkload
from simcore.program import Category, Compute, Operator, Segment, Start, Wait, Waits
from simcore.spec import BYTES

MASTER_BYTES = 12
"""fp32 master copy, momentum and variance of a parameter (Adam)."""


class Amount(NamedTuple):
    """Parameters per NPU: of what data parallelism copies everywhere, and of routed experts."""

    own: float
    experts: float = 0.0

    @property
    def total(self) -> float:
        """Both."""
        return self.own + self.experts


class Unit(NamedTuple):
    """A run of `repeat` equal pieces of a part, each with `parameters` per NPU."""

    name: str
    operators: tuple[Operator, ...]
    parameters: Amount
    repeat: int = 1


@dataclass(frozen=True)
class DataParallel:
    """Adds to the units of a part what `design` does over data-parallel NPUs."""

    design: Design

    @cached_property
    def _groups(self) -> tuple[tuple[str, int], tuple[str, int]]:
        """Name and size of the groups over which parameters, and those of experts, are copies."""
        p, size = self.design.parallelism, self.design.copies
        own = "data" if p.context == 1 else "data_context"
        return (own, size), (own if p.expert == 1 else "expert_data", size // p.expert)

    def _each(self, amount: Amount) -> list[tuple[str, int, float]]:
        """Group, its size and the parameters of each share that several NPUs have."""
        return [
            (group, size, parameters)
            for (group, size), parameters in zip(self._groups, amount, strict=True)
            if size > 1 and parameters
        ]

    def _gradient_bytes(self, parameters: float) -> float:
        workload = self.design.workload
        assert isinstance(workload, TransformerWorkload)
        return parameters * BYTES[workload.gradient_precision]

    def _reduce(self, amount: Amount) -> tuple[Operator, ...]:
        kind = "reduce_scatter" if self.design.parallelism.zero else "all_reduce"
        return tuple(
            Start(kind, group, self._gradient_bytes(parameters), Waits.GRADIENTS)
            for group, _, parameters in self._each(amount)
        )

    def _gather(self, amount: Amount, waits: Waits) -> tuple[Operator, ...]:
        """The whole parameters, of which each NPU has updated (or keeps) its shard."""
        workload = self.design.workload
        assert isinstance(workload, TransformerWorkload)
        width = BYTES[workload.precision]
        return tuple(
            Start("all_gather", group, parameters / size * width, waits)
            for group, size, parameters in self._each(amount)
        )

    def reducing(self, units: Sequence[Unit]) -> list[Unit]:
        """The last microbatch's backward: once a bucket is full, the next unit starts with its reduction.

        That a reduction stands at the start of the following unit, and not at the end of its own, changes nothing in
        time, and lets a run of equal layers meet an idle network again where the reduction is faster than the layer.
        """
        if self.design.copies == 1 or not self.design.parallelism.data_overlap:
            return list(units)
        least = self.design.parallelism.bucket / self._gradient_bytes(1.0)
        pieces: list[tuple[int, float, float]] = []
        own = experts = 0.0
        for index, unit in enumerate(units):
            for _ in range(unit.repeat):
                full = own if own >= least else 0.0, experts if experts >= least else 0.0
                pieces.append((index, *full))
                own = (0.0 if full[0] else own) + unit.parameters.own
                experts = (0.0 if full[1] else experts) + unit.parameters.experts
        out = []
        for (index, *found), run in groupby(pieces):
            unit = units[index]
            bucket = self._reduce(Amount(*found))
            out.append(Unit(unit.name, bucket + unit.operators, unit.parameters, len(list(run))))
        return [*out, Unit("gradients", self._reduce(Amount(own, experts)), Amount(0.0))]

    def plain(self, units: Sequence[Unit]) -> tuple[Segment, ...]:
        """Segments of units that need no parameters."""
        return tuple(Segment(unit.name, unit.operators, unit.repeat) for unit in units if unit.operators)

    def gathering(self, units: Sequence[Unit]) -> tuple[Segment, ...]:
        """Segments of the units; ZeRO-3 gathers each piece's parameters while the piece before it runs."""
        p = self.design.parallelism
        if p.zero < 3 or self.design.copies == 1:
            return self.plain(units)
        if not p.data_overlap:
            return tuple(
                Segment(unit.name, (*self._gathered_first(unit.parameters), *unit.operators), unit.repeat)
                for unit in units
                if unit.operators
            )
        pieces = [unit for unit in units if unit.parameters.total]
        segments = [Segment("gather", self._gather(pieces[0].parameters, Waits.PREFETCH))] if pieces else []
        arrived = Wait(Waits.PREFETCH, Category.DATA)
        for i, unit in enumerate(units):
            following = next((later.parameters for later in units[i + 1 :] if later.parameters.total), Amount(0.0))
            if not unit.parameters.total:
                segments.append(Segment(unit.name, unit.operators, unit.repeat))
                continue
            if unit.repeat > 1:
                ahead = (arrived, *self._gather(unit.parameters, Waits.PREFETCH), *unit.operators)
                segments.append(Segment(unit.name, ahead, unit.repeat - 1))
            ending = self._gather(following, Waits.PREFETCH)
            segments.append(Segment(unit.name, (arrived, *ending, *unit.operators)))
        return tuple(segments)

    def _gathered_first(self, amount: Amount) -> tuple[Operator, ...]:
        starts = self._gather(amount, Waits.PREFETCH)
        return (*starts, Wait(Waits.PREFETCH, Category.DATA)) if starts else ()

    def final(self, held: Amount) -> tuple[Segment, ...]:
        """Wait for the gradients, step the optimizer, gather the parameters that ZeRO-1 and 2 updated in shards."""
        workload, p = self.design.workload, self.design.parallelism
        assert isinstance(workload, TransformerWorkload)
        operators: list[Operator] = [] if p.data_overlap else [*self._reduce(held)]
        operators.append(Wait(Waits.GRADIENTS, Category.DATA))
        own = self.sharded(held) if p.zero else held.total
        traffic = own * (BYTES[workload.gradient_precision] + 2 * MASTER_BYTES + BYTES[workload.precision])
        operators.append(Compute("optimizer", "memory", 0.0, traffic, Category.OPTIMIZER))
        if p.zero in (1, 2):
            for start in self._gather(held, Waits.NOW):
                operators += [start, Wait(Waits.NOW, Category.DATA)]
        return (Segment("optimizer", tuple(operators)),)

    def sharded(self, held: Amount) -> float:
        """Parameters of an NPU's shard."""
        (_, own), (_, experts) = self._groups
        return held.own / own + held.experts / experts
