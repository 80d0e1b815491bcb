"""A matrix product on tensor cores, tile by tile: how long it takes by its shape, not by its FLOPs alone.

The result is cut into tiles, one for each multiprocessor at a time. A tile of a x b numbers takes k + depth steps
(`depth` fills and drains its pipeline), each the longer of a b multiply-accumulates at `limit` of the peak and of
loading a + b operands at `load` bytes a clock: small tiles starve, and the more so the more a multiprocessor computes
in a clock. Tiles come in waves of as many as there are multiprocessors; of the last wave, which may be partly filled, a
share `wave` of what is empty is lost. The library takes the fastest of the usual tiles (NVIDIA, Matrix Multiplication
Background User's Guide, sections 3 and 4: tile and wave quantisation; CUTLASS' tile shapes), or the one that it has for
so many rows (`tiles`).

Where the tiles fill no wave, k may be cut too (split-K: CUTLASS, Efficient GEMM in CUDA, Parallelized reductions;
Osama et al. 2023, arXiv 2301.03598, section 3.3): s parts, `LEAST_PART` steps or more each, make s times the tiles.
Their partial sums, s fp32 numbers for each of the result, are written, and read by a second kernel that adds them up:
8 s bytes a number at the rate of the product's bytes, and `reduce`, the kernel's own time. The library makes both
kernels of one call, so the host launches one operator. The fastest s of `PARTS` is taken, none above the first that
fills the device.

Arithmetic of c seconds takes `throttle` longer, as measured in milliseconds, and 1 / sustained times that in runs of
minutes. It runs beside the product's bytes, imperfectly: the cubes of both add up. Times depend on the peak only as
1 / peak and on the bandwidth only as 1 / bandwidth, for each way to cut; the fastest of them is no slower on a faster
NPU, and no time falls below FLOPs / (limit x sustained x peak).
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.compiled import compiled
from simcore.design.curve import ProductCurve
from simcore.design.npu import Npu

Floats = NDArray[np.float64]

TILES = (
    (256, 128), (128, 256), (128, 128), (128, 64), (64, 128), (256, 64), (64, 256), (128, 32), (32, 128), (64, 64)
)  # fmt: skip
"""Rows and columns of a tile of one multiprocessor."""

PARTS = (
    1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0, 18.0, 21.0, 24.0, 27.0, 31.0, 36.0, 41.0, 47.0, 54.0,
    66.0, 74.0, 94.0, 108.0, 132.0, 148.0,
)  # fmt: skip
"""Numbers of parts that k is cut into: a sixth apart, and what fills the usual devices with one tile or two."""

LEAST_PART = 128.0
"""Steps along k that a part of a split product takes at least: four of CUTLASS' usual k tiles of 32, the stages that
its pipeline holds."""

PARTIAL = 8.0
"""Bytes that a partial sum moves: fp32, written and read."""


STREAMS = 4.0
"""Streams that take turns where each product of a batch is a kernel of its own: those that Transformer Engine has for
the products of `GroupedLinear` (`num_cublas_streams`)."""


class MatmulMachine(NamedTuple):
    """What the time of a product depends on beside its shape and its bytes."""

    multiprocessors: float
    edge: float
    """Multiply-accumulates in the time that loading one operand takes."""
    limit: float
    depth: float
    wave: float
    rate: float
    """Multiply-accumulates of a multiprocessor in a second at the sustained peak [1/s]."""
    streaming: float
    """Bytes that operands and results move in a second [B/s]."""
    kernel: float
    reduce: float
    """Time of the kernel that adds partial sums [s]; below 0 where there is none."""
    most: float
    after: float
    tiles: tuple[tuple[float, float, float, float], ...]
    """Rows, columns, and the least and most rows of a product that takes the tile."""


def machine_of(npu: Npu, curve: ProductCurve, peak: float) -> MatmulMachine:
    """The machine of an NPU with such a curve of products, at a peak [FLOP/s]."""
    assert npu.multiprocessors is not None  # checked at the door
    assert npu.flops_per_clock is not None
    return MatmulMachine(
        multiprocessors=float(npu.multiprocessors),
        edge=npu.flops_per_clock / curve.load,  # 2 bytes / load a clock x FLOPs / 2 a clock; narrower ones likewise
        limit=curve.limit,
        depth=curve.depth,
        wave=curve.wave,
        rate=npu.sustained * peak / (2.0 * npu.multiprocessors),
        streaming=npu.memory.bandwidth * curve.memory,
        kernel=curve.kernel,
        reduce=-1.0 if curve.reduce is None else curve.reduce,
        most=curve.throttle.most,
        after=curve.throttle.after,
        tiles=_tiles(curve),
    )


def _tiles(curve: ProductCurve) -> tuple[tuple[float, float, float, float], ...]:
    if not curve.tiles:
        return tuple((float(rows), float(columns), 0.0, np.inf) for rows, columns in TILES)
    found, least = [], 0.0
    for rule in curve.tiles:
        most = np.inf if rule.up_to is None else float(rule.up_to)
        found.append((float(rule.rows), float(rule.columns), least, most))
        least = most
    return tuple(found)


@lru_cache(maxsize=65536)
def product_seconds(machine: MatmulMachine, shape: tuple[float, float, float, float], moved: float) -> float:
    """Time of the products of `shape` (batch, m, n, k) that move so many bytes [s]."""
    batch, m, n, k = map(float, shape)  # or the kernel is compiled for whole numbers, too, in each place
    numbers, tiles = _arrays(machine)
    seconds: float = _fastest(batch, m, n, k, float(moved), numbers, tiles, _PARTS)
    return seconds


def apart_seconds(machine: MatmulMachine, shape: tuple[float, float, float, float], moved: float) -> float:
    """Time of the products of `shape` (batch, m, n, k), as `product_seconds`, where each is a kernel of its own [s].

    As many as there are `STREAMS` run side by side.
    """
    batch, m, n, k = shape
    rounds = max(1.0, batch / STREAMS)
    return rounds * product_seconds(machine, (batch / rounds, m, n, k), moved / rounds)


def product_times(machine: MatmulMachine, shapes: Floats, moved: Floats) -> Floats:
    """Times of many products, `[products]` [s], of shapes `[products, 4]` and bytes `[products]`."""
    numbers, tiles = _arrays(machine)
    times: Floats = _each(shapes, moved, numbers, tiles, _PARTS)
    return times


_PARTS = np.array(PARTS)


@lru_cache(maxsize=256)
def _arrays(machine: MatmulMachine) -> tuple[Floats, Floats]:
    return np.array(machine[:-1]), np.array(machine.tiles)


@compiled
def _fastest(
    batch: float, m: float, n: float, k: float, moved: float, numbers: Floats, tiles: Floats, parts: Floats
) -> Any:
    multiprocessors, edge, limit, depth = numbers[0], numbers[1], numbers[2], numbers[3]
    wave, rate, streaming, kernel = numbers[4], numbers[5], numbers[6], numbers[7]
    reduce, most, after = numbers[8], numbers[9], numbers[10]
    moving = moved / streaming
    partial = PARTIAL * batch * m * n / streaming
    least = np.inf
    for i in range(tiles.shape[0]):
        rows, columns, above, up_to = tiles[i, 0], tiles[i, 1], tiles[i, 2], tiles[i, 3]
        if m <= above or m > up_to:
            continue
        cut = batch * ceil(m / rows) * ceil(n / columns)
        step = max(rows * columns / limit, edge * (rows + columns)) / rate
        for s in parts:
            if s > 1.0 and (reduce < 0.0 or cut * (s - 1.0) >= multiprocessors):
                break
            filled = cut * s / multiprocessors
            waves = wave * ceil(filled) + (1.0 - wave) * max(filled, 1.0)
            steps = k if s == 1.0 else max(k / s, LEAST_PART)
            computing = waves * (steps + depth) * step
            computing *= 1.0 + most * computing / (computing + after)
            whole = (computing**3 + moving**3) ** (1.0 / 3.0)
            if s > 1.0:
                whole += s * partial + reduce
            least = min(least, whole)
    return least + kernel


@compiled
def _each(shapes: Floats, moved: Floats, numbers: Floats, tiles: Floats, parts: Floats) -> Any:
    times = np.empty(len(moved))
    for i in range(len(moved)):
        batch, m, n, k = shapes[i, 0], shapes[i, 1], shapes[i, 2], shapes[i, 3]
        times[i] = _fastest(batch, m, n, k, moved[i], numbers, tiles, parts)
    return times
