"""How long operators take on an NPU: the contract."""

from __future__ import annotations

from abc import ABC, abstractmethod

from simcore.program import Compute


class OperatorTimes(ABC):
    """Operator times on one NPU at one precision."""

    @abstractmethod
    def seconds(self, operator: Compute) -> float:
        """Duration of an operator [s]."""

    @abstractmethod
    def least(self, flops: float) -> float:
        """Proven lower bound: no less time than this for matrix products of `flops` in all, however cut [s]."""
