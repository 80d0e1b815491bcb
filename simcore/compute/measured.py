"""A table of measured matrix products: time of any product inside it, by interpolation.

Between measured sizes the logarithm of the time is linear in the logarithms of batch, m, n and k (so a product of
twice the rows that took twice the time takes 1.41 times the time at 1.41 times the rows). The measured sizes must form
a grid: every combination of the values that each column takes. Outside it nothing is extrapolated: the product is
refused, or, where the NPU says `beyond: roofline`, takes what the roofline gives. A backward product that costs two of
its shape is looked up as the two that it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from simcore.compute.base import OperatorTimes, products
from simcore.compute.roofline import Roofline
from simcore.design.compute import MeasuredProduct
from simcore.document.problem import Refusal
from simcore.program import Compute

ProductShape = tuple[float, float, float, float]
COLUMNS = ("batch", "m", "n", "k")


class OutsideTableError(Refusal):
    """A product that the table does not reach."""


@dataclass(frozen=True)
class ProductTable:
    """Measured products on a grid of shapes."""

    rows: Sequence[MeasuredProduct]

    @cached_property
    def times(self) -> dict[tuple[int, ...], float]:
        """Time by shape [s]."""
        return {(row.batch, row.m, row.n, row.k): row.time for row in self.rows}

    @cached_property
    def axes(self) -> tuple[tuple[int, ...], ...]:
        """The values of each of `COLUMNS`, ascending."""
        return tuple(tuple(sorted({shape[axis] for shape in self.times})) for axis in range(4))

    @cached_property
    def missing_shape(self) -> tuple[int, ...] | None:
        """A shape that the grid lacks."""
        return next((shape for shape in product(*self.axes) if shape not in self.times), None)

    @cached_property
    def has_repeats(self) -> bool:
        """Whether a shape was measured twice."""
        return len(self.times) < len(self.rows)

    def seconds(self, shape: ProductShape) -> float:
        """Time of a product [s]. Raises `OutsideTableError` where the grid does not enclose it."""
        sides = [_enclosing_sizes(axis, size) for axis, size in zip(self.axes, shape, strict=True)]
        for name, axis, size, side in zip(COLUMNS, self.axes, shape, sides, strict=True):
            if side is None:
                raise OutsideTableError(f"{name} of {axis[0]} to {axis[-1]}", f"{size:g}")
        logarithm = 0.0
        for corner in product(*(side for side in sides if side is not None)):
            share = math.prod(weight for _, weight in corner)
            if share:
                logarithm += share * math.log(self.times[tuple(size for size, _ in corner)])
        return math.exp(logarithm)


def _enclosing_sizes(axis: tuple[int, ...], size: float) -> tuple[tuple[int, float], tuple[int, float]] | None:
    """The measured sizes around `size`, each with its weight; None outside."""
    if not axis[0] <= size <= axis[-1]:
        return None
    above = next(i for i, known in enumerate(axis) if known >= size)
    if axis[above] == size:
        return (axis[above], 1.0), (axis[above], 0.0)
    low, high = axis[above - 1], axis[above]
    share = math.log(size / low) / math.log(high / low)
    return (low, 1.0 - share), (high, share)


@dataclass(frozen=True)
class MeasuredTimes(OperatorTimes):
    """Operator times on one NPU of measured products; what is no product moves its bytes at the roofline."""

    roofline: Roofline
    table: ProductTable
    extend: bool
    """Whether a product outside the table takes the roofline's time."""

    def seconds(self, operator: Compute) -> float:
        """See `OperatorTimes.seconds`. Raises `OutsideTableError`, or `ValueError` for a product without a shape."""
        if operator.kind == "memory" or operator.flops == 0:
            return self.roofline.seconds(operator)
        try:
            return sum(self.table.seconds(shape) for shape in products(operator))
        except OutsideTableError:
            if self.extend:
                return self.roofline.seconds(operator)
            raise

    def least(self, flops: float) -> float:
        """See `OperatorTimes.least`: a measurement obeys no peak, so nothing is proven."""
        return 0.0
