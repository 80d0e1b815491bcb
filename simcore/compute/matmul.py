"""A matrix product on tensor cores, tile by tile: how long it takes by its shape, not by its FLOPs alone.

The result is cut into tiles, one for each multiprocessor at a time. A tile of a x b numbers takes
(k + depth)(a b + edge (a + b)) multiply-accumulates' time: `depth` fills and drains its pipeline, `edge` loads its
operands. Tiles come in waves of as many as there are multiprocessors; of the last wave, which may be partly filled, a
share `wave` of what is empty is lost. The library takes the fastest of the usual tiles (NVIDIA, Matrix Multiplication
Background User's Guide, sections 3 and 4: tile and wave quantisation; CUTLASS' tile shapes).

Times depend on the peak only as 1 / peak, so a faster NPU is never slower, and never fall below FLOPs / (limit x peak).
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil

from simcore.spec import MatmulCurve

TILES = ((256, 128), (128, 256), (128, 128), (128, 64), (64, 128), (64, 64))
"""Rows and columns of a tile."""


@lru_cache(maxsize=65536)
def relative_seconds(curve: MatmulCurve, multiprocessors: int, batch: float, m: float, n: float, k: float) -> float:
    """Time of `batch` products [m,k]x[k,n] times the peak: FLOPs at the peak that it is worth."""
    least = min(
        _waves(batch * ceil(m / rows) * ceil(n / columns) / multiprocessors, curve.wave)
        * (rows * columns + curve.edge * (rows + columns))
        for rows, columns in TILES
    )
    return 2.0 * multiprocessors * least * (k + curve.depth) / curve.limit


def _waves(filled: float, wave: float) -> float:
    return wave * ceil(filled) + (1.0 - wave) * max(filled, 1.0)
