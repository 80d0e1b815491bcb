"""A matrix product on tensor cores, tile by tile: how long it takes by its shape, not by its FLOPs alone.

The result is cut into tiles, one for each multiprocessor at a time. A tile of a x b numbers takes, for each of its
k + depth steps (`depth` fills and drains its pipeline), a b multiply-accumulates, and `load` x (a + b) numbers of 16
bits from shared memory, 128 bytes a clock on every generation: the more a multiprocessor computes in a clock, the more
its operands cost. Tiles come in waves of as many as there are multiprocessors; of the last wave, which may be partly
filled, a share `wave` of what is empty is lost. The library takes the fastest of the usual tiles (NVIDIA, Matrix
Multiplication Background User's Guide, sections 3 and 4: tile and wave quantisation; CUTLASS' tile shapes).

Times depend on the peak only as 1 / peak, so a faster NPU is never slower, and never fall below FLOPs / (limit x peak).
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil
from typing import NamedTuple

from simcore.spec import Npu

TILES = ((256, 128), (128, 256), (128, 128), (128, 64), (64, 128), (64, 64))
"""Rows and columns of a tile."""

SHARED_MEMORY = 128
"""Bytes a clock that a multiprocessor reads from shared memory: 32 banks of 4 (CUDA C++ Programming Guide)."""


class Machine(NamedTuple):
    """What the time of a product depends on beside the peak."""

    multiprocessors: int
    edge: float
    """Multiply-accumulates in the time that loading one operand takes."""
    depth: float
    wave: float
    limit: float


def machine_of(npu: Npu) -> Machine:
    """The machine of an NPU with a curve."""
    assert npu.curve is not None
    assert npu.multiprocessors is not None  # both checked at the door
    assert npu.flops_per_clock is not None
    matmul = npu.curve.matmul
    edge = matmul.load * npu.flops_per_clock / SHARED_MEMORY  # 2 bytes / 128 a clock x FLOPs / 2 a clock
    return Machine(npu.multiprocessors, edge, matmul.depth, matmul.wave, matmul.limit)


@lru_cache(maxsize=65536)
def worth(machine: Machine, shape: tuple[float, float, float, float]) -> float:
    """FLOPs at the peak that take as long as the products of `shape` (batch, m, n, k)."""
    multiprocessors, edge, depth, wave, limit = machine
    batch, m, n, k = shape
    least = float("inf")
    for rows, columns in TILES:
        filled = batch * ceil(m / rows) * ceil(n / columns) / multiprocessors
        waves = wave * ceil(filled) + (1.0 - wave) * max(filled, 1.0)
        least = min(least, waves * (rows * columns + edge * (rows + columns)))
    return 2.0 * multiprocessors * least * (k + depth) / limit
