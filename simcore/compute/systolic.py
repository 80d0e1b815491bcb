"""A systolic array: cycles and utilisation of a matrix product as SCALE-Sim counts them.

A dataflow lays two of the three sizes of [M,K]x[K,N] over the R rows and C columns of the array and the third over
time (Samajdar et al., ISPASS 2020, Table II): output stationary M, N and K; weight stationary K, N and M; input
stationary K, M and N. A product takes ceil(S_R / R) ceil(S_C / C) folds one after the other. A fold takes
2R + C + T - 2 cycles (ibid., equation 3): R to load what stays (or to drain it), then T vectors enter, skewed over
R + C - 2. SCALE-Sim v2 and v3 overlap the drain of an output stationary fold with the next one: R + C + T - 2. Both are
met exactly here by the counts of their own code. Memory is double-buffered: time is the larger of cycles and bytes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from simcore.compute.base import OperatorTimes, products
from simcore.design.compute import Systolic
from simcore.design.npu import Npu
from simcore.program import Compute


@dataclass(frozen=True, slots=True)
class ArrayMapping:
    """A product on an array: how often it is filled, and for how long."""

    folds: int
    cycles_per_fold: int

    @property
    def cycles(self) -> int:
        """Cycles on one array."""
        return self.folds * self.cycles_per_fold


def map_product(array: Systolic, m: float, n: float, k: float) -> ArrayMapping:
    """The product [m,k]x[k,n] on one array; sizes that are no whole numbers (shares of a layer) are rounded up."""
    across, along, through = {
        "output_stationary": (m, n, k),
        "weight_stationary": (k, n, m),
        "input_stationary": (k, m, n),
    }[array.dataflow]
    rows, columns, time = math.ceil(across), math.ceil(along), math.ceil(through)
    down, over = -(-rows // array.rows), -(-columns // array.columns)
    loading = 0 if array.dataflow == "output_stationary" else array.rows
    return ArrayMapping(down * over, loading + array.rows + array.columns + time - 2)


@dataclass(frozen=True, slots=True)
class SystolicTimes(OperatorTimes):
    """Operator times on one NPU of systolic arrays; what is no product moves its bytes."""

    npu: Npu
    array: Systolic

    def seconds(self, operator: Compute) -> float:
        """See `OperatorTimes.seconds`. Raises `ValueError` for a product without a shape."""
        npu = self.npu
        moving = operator.bytes / npu.streaming_rate
        if operator.kind == "memory" or operator.flops == 0:
            return moving + npu.overhead
        cycles = 0
        for batch, m, n, k in products(operator):
            one = map_product(self.array, m, n, k)
            cycles += -(-math.ceil(batch) * one.folds // self.array.arrays) * one.cycles_per_fold
        return max(cycles / self.array.clock, moving) + npu.overhead

    def least(self, flops: float) -> float:
        """See `OperatorTimes.least`: every unit busy in every cycle."""
        return flops / self.array.peak
