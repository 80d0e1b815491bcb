"""Operator times that are remembered from design to design: a search asks for the same operators over and over."""

from __future__ import annotations

from dataclasses import dataclass, field

from simcore.compute.base import OperatorTimes
from simcore.program import Compute

MOST = 16384
"""Operators that are remembered, some 10 MB; then all are forgotten."""


@dataclass(frozen=True)
class RememberedTimes(OperatorTimes):
    """The times of another model, each asked for once."""

    times: OperatorTimes
    _known: dict[Compute, float] = field(default_factory=dict, compare=False, repr=False)

    def seconds(self, operator: Compute) -> float:
        """See `OperatorTimes.seconds`; raises what the model raises."""
        found = self._known.get(operator)
        if found is None:
            found = self.times.seconds(operator) if operator.recorded is None else operator.recorded
            if len(self._known) == MOST:
                self._known.clear()
            self._known[operator] = found
        return found

    def least(self, flops: float) -> float:
        """See `OperatorTimes.least`."""
        return self.times.least(flops)
