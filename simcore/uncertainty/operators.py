"""The times of operators in all draws at once: each its own time, times what may be wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log

import numpy as np

from simcore.compute import OperatorTimes, operator_times
from simcore.design.design import Design
from simcore.program import Compute
from simcore.provenance import Evidence, evidence
from simcore.system.chunks import PICOSECONDS
from simcore.uncertainty import parameters
from simcore.uncertainty.draws import Draws, Floats
from simcore.uncertainty.parameters import Unknown


class Places(OperatorTimes):
    """Not times but places: the first operator that is asked for takes 1 ps, the second 2 ps, and so on.

    A design that is lowered with it has in each of its operators the row of the matrix that has their times.
    """

    def __init__(self) -> None:
        self.operators: dict[Compute, int] = {}

    def seconds(self, operator: Compute) -> float:
        """See `OperatorTimes.seconds`."""
        return (1 + self.operators.setdefault(operator, len(self.operators))) / PICOSECONDS

    def least(self, flops: float) -> float:
        """See `OperatorTimes.least`."""
        return 0.0


@dataclass(frozen=True)
class DrawnOperators:
    """The operators of a design, in draws."""

    design: Design
    draws: Draws

    def times(self, operators: Sequence[Compute]) -> Floats:
        """Their times `[1 + operators, 1 + count]` [ps]; the first row is of no operator, see `Places`."""
        found = np.zeros((1 + len(operators), 1 + self.draws.count))
        for row, operator in enumerate(operators, 1):
            found[row] = PICOSECONDS * self._seconds(operator)
        return found

    @cached_property
    def _found(self) -> Evidence:
        return evidence(self.design)

    @cached_property
    def _alone(self) -> OperatorTimes:
        """Times of kernels that nothing has to launch."""
        npu, precision = self.design.cluster.running_npu, self.design.workload.precision
        return operator_times(npu, precision, (0.0, 0.0), self.design.software.rates_on(npu))

    @cached_property
    def _launches(self) -> tuple[Floats, Floats]:
        """Least time from one operator to the next, and that where only routing tells how much there is to do."""
        software = self.design.running_software
        errors = np.exp(self._errors(parameters.launch_error(software, self._found)))
        if self.design.cluster.npu.is_ideal:
            errors = np.zeros(1 + self.draws.count)
        return np.asarray(software.launch_seconds * errors), np.asarray(software.routed_launch_seconds * errors)

    def _seconds(self, operator: Compute) -> Floats:
        kernel = self._alone.seconds(operator)
        if operator.recorded is not None:
            return np.full(1 + self.draws.count, kernel)
        seconds: Floats = kernel * np.exp(self._kernel_errors(operator, kernel))
        launch = self._launches[operator.routed]
        if operator.pieces == 1 and not launch.any():
            return seconds
        return np.maximum(seconds, launch / operator.pieces)

    def _kernel_errors(self, operator: Compute, kernel: float) -> Floats:
        """Logarithm of what a kernel takes in each draw over what it takes as predicted."""
        if operator.kind == "memory" or not operator.flops:
            return self._errors(parameters.streaming_error(self.design.software, self._found, operator))
        if operator.kind == "flash":
            return self._errors(*parameters.attention_errors(self.design, self._found, operator))
        errors = self._errors(*parameters.product_errors(self.design, self._found, operator))
        least = self._alone.least(operator.flops)
        if least:
            errors = errors + log(kernel / least) * self._errors(parameters.small_products_error(self.design))
        return errors

    def _errors(self, *unknowns: Unknown) -> Floats:
        return self.draws.error(*unknowns)
