"""How long operators take on an NPU: the contract."""

from __future__ import annotations

from abc import ABC, abstractmethod

from simcore.document.problem import Refusal
from simcore.program import Compute

ProductShape = tuple[float, float, float, float]


def products(operator: Compute) -> tuple[ProductShape, ...]:
    """The matrix products (batch, m, n, k) of an operator: its shape, the two of its backward pass, or all it fuses.

    The backward pass of [m,k]x[k,n] multiplies the output's gradient with the second matrix, [m,n]x[n,k], and the first
    matrix with it, [k,m]x[m,n]. Raises `ValueError` for an operator without a shape, or whose FLOPs are neither those
    of its shape nor twice them.
    """
    if operator.fused:
        return operator.fused
    if operator.shape is None:
        raise Refusal(f"a shape (batch, m, n, k) of product '{operator.name}'", "none")
    batch, m, n, k = operator.shape
    ratio = operator.flops / (2.0 * batch * m * n * k)
    if abs(ratio - 1) < _CLOSE:
        return ((batch, m, n, k),)
    if abs(ratio - 2) < _CLOSE:
        return (batch, m, k, n), (batch, k, n, m)
    raise Refusal(f"one or two products of the shape of '{operator.name}'", f"{ratio:g} times its FLOPs")


_CLOSE = 1e-6


class OperatorTimes(ABC):
    """Operator times on one NPU at one precision."""

    @abstractmethod
    def seconds(self, operator: Compute) -> float:
        """Duration of an operator [s]."""

    @abstractmethod
    def least(self, flops: float) -> float:
        """Proven lower bound: no less time than this for matrix products of `flops` in all, however cut [s]."""
