"""Data-parallel training of a list of units: gradients in buckets, ZeRO, the optimizer step.

What `simcore.workload.transformer` does for equal layers, for units that all differ. Once a bucket is full, the next
unit of the backward pass starts with its reduction. ZeRO (Rajbhandari et al. 2020): from stage 1 gradients are
reduce-scattered and the updated parameters gathered; stage 3 gathers each unit's parameters in every forward and
backward, one unit ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simcore.design import CollectiveWorkload, Design
from simcore.program import Category, Compute, Operator, Part, Segment, Start, Wait, Waits
from simcore.spec import BYTES
from simcore.workload.data_parallel import MASTER_BYTES
from simcore.workload_spec import InferenceWorkload


@dataclass(frozen=True)
class Unit:
    """A piece of the model on one NPU: its operators for one microbatch, `times` in a row, and its parameters."""

    name: str
    forward: tuple[Operator, ...]
    backward: tuple[Operator, ...]
    parameters: float = 0.0
    times: int = 1


@dataclass(frozen=True)
class Trainer:
    """Builds parts of a design whose gradients are reduced over the data-parallel group."""

    design: Design

    @property
    def _width(self) -> int:
        assert not isinstance(self.design.workload, CollectiveWorkload)
        return BYTES[self.design.workload.precision]

    @property
    def _gradient_width(self) -> int:
        assert not isinstance(self.design.workload, CollectiveWorkload | InferenceWorkload)
        return BYTES[self.design.workload.gradient_precision]

    def part(self, units: Sequence[Unit], activations: float, working: float, resident: float = 0.0) -> Part:
        """The part with `units` in the order of the forward pass; what it keeps, works in and holds in [B] per NPU."""
        forward = [(unit.name, unit.forward, unit.times, unit.parameters) for unit in units]
        backward = [(unit.name, unit.backward, unit.times, unit.parameters) for unit in reversed(units)]
        zero = self.design.parallelism.zero
        gathered = 2 * self._width * max((unit.parameters for unit in units), default=0.0) if zero == 3 else 0.0
        return Part(
            forward=self._segments(forward, reduces=False),
            backward=self._segments(backward, reduces=False),
            last_backward=self._segments(backward, reduces=self.design.parallelism.data_overlap),
            parameters=sum(unit.parameters for unit in units),
            activations=activations,
            working=working + gathered,
            resident=resident,
        )

    def _segments(
        self, pieces: Sequence[tuple[str, tuple[Operator, ...], int, float]], reduces: bool
    ) -> tuple[Segment, ...]:
        alone = self.design.data == 1
        out: list[Segment] = []
        held = [parameters for _, _, _, parameters in pieces if parameters]
        gathers = self.design.parallelism.zero == 3 and not alone
        if gathers and held:
            out.append(Segment("gather", (self._gather(held[0]),)))
        waiting, met = 0.0, 0
        for name, operators, times, parameters in pieces:
            before: tuple[Operator, ...] = ()
            if reduces and not alone and waiting and waiting * self._gradient_width >= self.design.parallelism.bucket:
                before += (self.reduce(waiting),)
                waiting = 0.0
            if gathers and parameters:
                met += 1
                before += (Wait(Waits.PREFETCH, Category.DATA),)
                before += (self._gather(held[met]),) if met < len(held) else ()
            waiting += parameters
            if before:
                out.append(Segment(f"{name}-communication", before))
            if operators:
                out.append(Segment(name, operators, times))
        if reduces and not alone and waiting:
            out.append(Segment("gradients", (self.reduce(waiting),)))
        return tuple(out)

    def reduce(self, parameters: float) -> Start:
        """The reduction of a bucket of gradients."""
        kind = "reduce_scatter" if self.design.parallelism.zero else "all_reduce"
        return Start(kind, "data", parameters * self._gradient_width, Waits.GRADIENTS)

    def _gather(self, parameters: float) -> Start:
        return Start("all_gather", "data", parameters * self._width / self.design.data, Waits.PREFETCH)

    def final(self, parameters: float) -> tuple[Segment, ...]:
        """Wait for the gradients, step the optimizer, gather what ZeRO-1 and 2 updated in shards."""
        zero, data = self.design.parallelism.zero, self.design.data
        own = parameters / (data if zero else 1)
        traffic = own * (self._gradient_width + 2 * MASTER_BYTES + self._width)
        operators: list[Operator] = [Wait(Waits.GRADIENTS, Category.DATA)]
        if data > 1 and not self.design.parallelism.data_overlap:
            operators.insert(0, self.reduce(parameters))
        operators.append(Compute("optimizer", "memory", 0.0, traffic, Category.OPTIMIZER))
        if zero in (1, 2) and data > 1:
            operators.append(Start("all_gather", "data", own * self._width, Waits.NOW))
            operators.append(Wait(Waits.NOW, Category.DATA))
        return (Segment("optimizer", tuple(operators)),)
