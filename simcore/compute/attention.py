"""Fused attention on tensor cores, tile by tile of queries, forward and backward.

Each head's queries are cut into tiles of `ROWS`, one for each multiprocessor at a time, which pass over the keys that
they see (Dao 2023, arXiv 2307.08691, section 3: parallel over batch, heads and rows of queries). One score costs the
multiply-accumulates of its products at `limit` of the peak, and `softmax` more that they do not hide: exponentials have
units of their own, fewer than tensor cores have, so that short heads are slower (Shah et al. 2024, arXiv 2407.08608,
section 3). A tile takes that for its keys and for `depth` more. Waves are as of matrix products
(`simcore.compute.matmul`). A tile loads before it multiplies, and stores after it: bytes add to arithmetic.

Queries that fill no more than one tile, of many keys (decoding: the heads that share keys), fill as many tensor-core
instructions as they need instead; their keys stream as any other operator's bytes do, and may be cut into parts,
`LEAST_KEYS` or more each, up to where the device is filled (Dao et al. 2023, Flash-Decoding; FlashMLA does the same for
the 128 heads of DeepSeek-V3), which a second kernel joins.

The backward pass does five products in place of two, at `backward` of the forward pass's rate. No time falls below
FLOPs / (limit x sustained x peak).
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, floor
from typing import Any, NamedTuple

import numpy as np

from simcore.compiled import compiled
from simcore.compute.matmul import Floats
from simcore.design.curve import AttentionCurve
from simcore.design.npu import Npu

ROWS = 128.0
"""Queries of a tile: FlashAttention's on all generations (Dao 2023; Shah et al. 2024)."""
INSTRUCTION = 16.0
"""Rows of the smallest tensor-core product (PTX ISA, mma.m16n8k16)."""
LEAST_KEYS = 256.0
"""Keys of a part, at least (*assumed*: two blocks of 128)."""
FORWARD = 2
"""Products of a forward pass."""


class AttentionMachine(NamedTuple):
    """What the time of fused attention depends on beside its shape and its bytes."""

    multiprocessors: float
    limit: float
    softmax: float
    depth: float
    wave: float
    backward: float
    rate: float
    """Multiply-accumulates of a multiprocessor in a second at the sustained peak [1/s]."""
    loading: float
    """Bytes that tiles load and store in a second [B/s]."""
    streaming: float
    """Bytes that operators stream in a second [B/s]."""
    kernel: float


def attention_machine(npu: Npu, curve: AttentionCurve, memory: float, peak: float) -> AttentionMachine:
    """The machine of an NPU with such a curve of attention, streaming at a share `memory`, at a peak [FLOP/s]."""
    assert npu.multiprocessors is not None  # checked at the door
    rate = npu.sustained * peak / (2.0 * npu.multiprocessors)
    loading, streaming = npu.memory.bandwidth * curve.memory, npu.memory.bandwidth * memory
    return AttentionMachine(
        multiprocessors=float(npu.multiprocessors),
        limit=curve.limit,
        softmax=curve.softmax / npu.exponentials,
        depth=curve.depth,
        wave=curve.wave,
        backward=curve.backward,
        rate=rate,
        loading=loading,
        streaming=streaming,
        kernel=curve.kernel,
    )


def decodes_keys(queries: float, keys: float) -> bool:
    """Whether a kernel of so many queries and keys of a head decodes: its keys, not its queries, are spread."""
    return queries <= INSTRUCTION or (queries <= ROWS and keys >= LEAST_KEYS)


@lru_cache(maxsize=65536)
def attention_seconds(
    machine: AttentionMachine, fused: tuple[tuple[float, float, float, float], ...], moved: float
) -> float:
    """Time of the products (batch, m, n, k) of one kernel, the scores' first, that move so many bytes [s].

    Two products are a forward pass, five a backward pass.
    """
    heads, queries, keys, _ = fused[0]
    work = sum(batch * m * n * k for batch, m, n, k in fused) / (heads * queries * keys)
    back = 1.0 if len(fused) > FORWARD else 0.0
    seconds: float = _time(np.array([heads, queries, keys, work, back]), moved, np.array(machine))
    return seconds


def attention_times(machine: AttentionMachine, shapes: Floats, moved: Floats) -> Floats:
    """Times of many kernels, `[kernels]` [s].

    Of each the heads of all sequences, queries of one, keys that one sees on average, multiply-accumulates of a score,
    and whether it is a backward pass, `shapes[kernels, 5]`; and its bytes, `moved[kernels]`.
    """
    times: Floats = _each(shapes, moved, np.array(machine))
    return times


@compiled
def _time(shape: Floats, moved: float, machine: Floats) -> Any:
    heads, queries, keys, work, back = shape[0], shape[1], shape[2], shape[3], shape[4]
    # The fields of `AttentionMachine`, in their order.
    multiprocessors, limit, softmax, depth, wave = machine[0], machine[1], machine[2], machine[3], machine[4]
    backward, rate, loading, streaming, kernel = machine[5], machine[6], machine[7], machine[8], machine[9]
    few = queries <= ROWS and keys >= LEAST_KEYS
    rows = INSTRUCTION * ceil(queries / INSTRUCTION) if few else ROWS
    filled = heads * ceil(queries / rows) / multiprocessors
    waves = wave * ceil(filled) + (1.0 - wave) * max(filled, 1.0)
    parts = max(1.0, floor(min(1.0 / filled, keys / LEAST_KEYS))) if few else 1.0
    score = (work / limit + softmax) * rows / rate
    computing = waves * (keys / parts + depth) * score / (backward if back > 0.0 else 1.0)
    moving = moved / (streaming if few else loading)
    return computing + moving + (2.0 if parts > 1.0 else 1.0) * kernel


@compiled
def _each(shapes: Floats, moved: Floats, machine: Floats) -> Any:
    times = np.empty(len(moved))
    for i in range(len(moved)):
        times[i] = _time(shapes[i], moved[i], machine)
    return times
