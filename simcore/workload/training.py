"""Training of a list of units that all differ: what `simcore.workload.transformer` does for equal layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from simcore.design.design import Design
from simcore.program import ModelPart, Operator, Segment
from simcore.workload import data_parallel
from simcore.workload.data_parallel import Amount, DataParallel


@dataclass(frozen=True)
class ModelUnit:
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

    @cached_property
    def _data(self) -> DataParallel:
        return DataParallel(self.design)

    def part(
        self,
        units: Sequence[ModelUnit],
        activations: float,
        working: float,
        resident: float = 0.0,
        most_kept: float | None = None,
    ) -> ModelPart:
        """The part with `units` in the order of the forward pass; what it keeps, works in and holds in [B] per NPU."""
        ahead = [data_parallel.Unit(u.name, u.forward, Amount(u.parameters), times=u.times) for u in units]
        back = [data_parallel.Unit(u.name, u.backward, Amount(u.parameters), times=u.times) for u in reversed(units)]
        forward, first = self._data.forward(ahead)
        backward, last = self._data.backward(back)
        largest = max((unit.parameters for unit in units), default=0.0)
        return ModelPart(
            forward=forward,
            first_forward=first,
            backward=backward,
            last_backward=last,
            parameters=sum(unit.parameters for unit in units),
            activations=activations,
            working=working + self._data.moving.largest(largest),
            most_kept=most_kept,
            resident=resident,
        )

    def final(self, parameters: float) -> tuple[Segment, ...]:
        """Wait for the gradients, step the optimizer, gather what ZeRO-1 and 2 updated in shards."""
        return self._data.final(Amount(parameters))
