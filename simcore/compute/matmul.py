"""A matrix product on tensor cores, tile by tile: how long it takes by its shape, not by its FLOPs alone.

The result is cut into tiles, one for each multiprocessor at a time. A tile of a x b numbers takes, for each of its
k + depth steps (`depth` fills and drains its pipeline), a b multiply-accumulates, and `load` x (a + b) numbers of 16
bits from shared memory, 128 bytes a clock on every generation: the more a multiprocessor computes in a clock, the more
its operands cost. Tiles come in waves of as many as there are multiprocessors; of the last wave, which may be partly
filled, a share `wave` of what is empty is lost. The library takes the fastest of the usual tiles (NVIDIA, Matrix
Multiplication Background User's Guide, sections 3 and 4: tile and wave quantisation; CUTLASS' tile shapes).

Where the tiles fill no wave, k may be cut too (split-K: CUTLASS, Efficient GEMM in CUDA, Parallelized reductions;
Osama et al. 2023, arXiv 2301.03598, section 3.3): s parts, `LEAST_PART` steps or more each, make s times the tiles.
Their partial sums, s fp32 numbers for each of the result, are written, and read by a second kernel that adds them up:
8 s bytes a number at the rate of operators that stream, and the device's time for one more kernel. The library makes
both kernels of one call, so the host launches one operator. The s that is fastest is taken, and none above the first
that fills the device.

Times depend on the peak only as 1 / peak and on the bandwidth only as 1 / bandwidth, for each way to cut; the fastest
of them is no slower on a faster NPU, and no time falls below FLOPs / (limit x peak).
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, sqrt
from typing import NamedTuple

from simcore.design.npu import Npu

TILES = ((256, 128), (128, 256), (128, 128), (128, 64), (64, 128), (64, 64))
"""Rows and columns of a tile."""

SHARED_MEMORY = 128
"""Bytes a clock that a multiprocessor reads from shared memory: 32 banks of 4 (CUDA C++ Programming Guide)."""

LEAST_PART = 128.0
"""Steps along k that a part of a split product takes at least: four of CUTLASS' usual k tiles of 32, the stages that
its pipeline holds."""

PARTIAL = 8.0
"""Bytes that a partial sum moves: fp32, written and read."""


class MatmulMachine(NamedTuple):
    """What the time of a product depends on beside its shape and its bytes."""

    multiprocessors: int
    edge: float
    """Multiply-accumulates in the time that loading one operand takes."""
    depth: float
    wave: float
    rate: float
    """Multiply-accumulates that a multiprocessor does in a second [1/s]."""
    streaming: float
    """Bytes that operators move in a second [B/s]."""
    kernel: float
    """Time of a kernel on the device beyond its roofline [s]."""


def machine_of(npu: Npu, peak: float) -> MatmulMachine:
    """The machine of an NPU with a curve, at a peak [FLOP/s]."""
    assert npu.curve is not None
    assert npu.multiprocessors is not None  # both checked at the door
    assert npu.flops_per_clock is not None
    matmul = npu.curve.matmul
    edge = matmul.load * npu.flops_per_clock / SHARED_MEMORY  # 2 bytes / 128 a clock x FLOPs / 2 a clock
    rate = matmul.limit * peak / (2.0 * npu.multiprocessors)
    streaming = npu.memory.bandwidth * npu.curve.memory
    return MatmulMachine(npu.multiprocessors, edge, matmul.depth, matmul.wave, rate, streaming, npu.curve.kernel)


@lru_cache(maxsize=65536)
def product_seconds(machine: MatmulMachine, shape: tuple[float, float, float, float], moved: float) -> float:
    """Time of the products of `shape` (batch, m, n, k) that move so many bytes, less one kernel's own time [s]."""
    multiprocessors, edge, depth, wave, rate, streaming, kernel = machine
    batch, m, n, k = shape
    moving = moved / streaming
    partial = PARTIAL * batch * m * n / streaming
    least = float("inf")
    for rows, columns in TILES:
        filled = batch * ceil(m / rows) * ceil(n / columns) / multiprocessors
        step = (rows * columns + edge * (rows + columns)) / rate
        whole = max(moving, _waves(filled, wave) * (k + depth) * step)
        least = min(least, whole)
        if filled < 1.0 and whole > moving:
            for s in _splits(int(1.0 / filled), k * step, k / LEAST_PART, depth * step, partial, moving):
                part = _waves(s * filled, wave) * (max(k / s, LEAST_PART) + depth) * step
                least = min(least, max(moving, part) + s * partial + kernel)
    return least


def _waves(filled: float, wave: float) -> float:
    """The waves that so many times the multiprocessors' tiles take."""
    return wave * ceil(filled) + (1.0 - wave) * max(filled, 1.0)


def _splits(most: int, steps: float, longest: float, filling: float, partial: float, moving: float) -> tuple[int, ...]:
    """Numbers of parts from 2 to `most` + 1 (the first that fills the device), one of which is the fastest.

    In one wave max(moving, steps / s + filling) + s partial, in seconds, is convex in s, and so it is with parts no
    shorter than at s = `longest`. It falls as far as sqrt(steps / partial), as `longest`, and as where the bytes take
    longer, whichever comes first; the best whole number is next to that.
    """
    best = min(sqrt(steps / partial), longest)
    if moving > filling:
        best = min(best, steps / (moving - filling))
    below = min(int(best), most)
    return (below, below + 1) if below > 1 else (2,)
