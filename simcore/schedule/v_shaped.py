"""V-shaped schedules: ZB-V, V-half and V-min, one building block that repeats for every microbatch.

Each stage has two chunks: the model goes down the stages and back up, so a microbatch's last forward block and its
first backward block are on the first stage (Qi et al. 2024, Pipeline Parallelism with Controllable Memory, arXiv
2405.15362; ZB-V: Qi et al. 2024, arXiv 2401.10241, section 6). With blocks of one unit of time each, a microbatch takes
six on every stage: a forward, an input gradient and weight gradients for each chunk. So the blocks of one microbatch
say where those of all are: the next one's come six units later. By how many units a block is later than that of the
stage before it sets how long activations are kept, that is how many microbatches are in flight.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from simcore.compiled import compiled
from simcore.schedule.base import CHUNK_SHIFT, WEIGHTS, PipelineSchedule, Steady

UNITS = 6
"""Blocks of a microbatch on a stage: forward, input gradient and weight gradients of two chunks."""
_SUFFIX = (0 << 1 | 0, 1 << 1 | 0, 1 << 1 | 1, 0 << 1 | 1, (WEIGHTS | 1) << 1 | 1, (WEIGHTS | 0) << 1 | 1)
"""Codes of a microbatch's blocks but for its number, in the order in which they happen; the weight gradients last."""
F0, F1, B1, B0, W1, W0 = range(UNITS)

Offsets = tuple[int, int, int, int]
"""How many units later than on the stage before a microbatch's F0, F1, B1 and B0 begin on a stage."""


@lru_cache(maxsize=64)
def building_block(offsets: Offsets, stages: int) -> NDArray[np.int64]:
    """When the blocks of the first microbatch begin, `[stages, UNITS]`, in units.

    Between the four ways along the stages it waits for as little as lets blocks of no two microbatches meet on a stage.
    Weight gradients take the units that are left, those of the second chunk the first one.
    """
    waits = sorted(product(range(UNITS), repeat=3), key=lambda wait: (sum(wait), wait))
    times = next(times for times in (_ways(offsets, stages, wait) for wait in waits) if _all_differ(times))
    return np.array([[*row, *_weight_gradients(row)] for row in times.tolist()], np.int64)


def _ways(offsets: Offsets, stages: int, waits: tuple[int, ...]) -> NDArray[np.int64]:
    """When F0, F1, B1 and B0 begin, `[stages, 4]`, with these waits before the last three."""
    down, up = np.arange(stages), np.arange(stages - 1, -1, -1)
    times, begin = [], 0
    for offset, way, wait in zip(offsets, (down, up, down, up), (0, *waits), strict=True):
        begin += wait
        times.append(begin + offset * way)
        begin += offset * (stages - 1) + 1
    return np.stack(times, axis=1)


def _all_differ(times: NDArray[np.int64]) -> bool:
    units = np.sort(times % UNITS, axis=1)
    return bool((np.diff(units, axis=1) > 0).all())


def _weight_gradients(row: list[int]) -> Iterator[int]:
    """When W1 and W0 begin on a stage whose other blocks begin at `row`."""
    free = set(range(UNITS)) - {time % UNITS for time in row}
    for after in (row[B1], row[B0]):
        begin = next(time for time in range(after + 1, after + UNITS) if time % UNITS in free)
        free.remove(begin % UNITS)
        yield begin


@lru_cache(maxsize=16)
def _order(offsets: Offsets, late: bool, stages: int, microbatches: int) -> NDArray[np.int64]:
    number = np.arange(microbatches, dtype=np.int64)
    codes = (number[:, None] << CHUNK_SHIFT + 1 | np.array(_SUFFIX, np.int64)).ravel()
    begin = building_block(offsets, stages)[:, None, :] + UNITS * number[:, None]
    order = codes[np.argsort(begin.reshape(stages, -1), axis=1)]
    if late:
        order = _delayed(order, 2 * stages)
    order.flags.writeable = False
    return order


@compiled
def _delayed(order: NDArray[np.int64], room: int) -> NDArray[np.int64]:
    """The order with weight gradients as late as `room` for activations of chunks allows, or as nothing else can run.

    Blocks take one unit each; forwards and input gradients keep their order.
    """
    stages, length = order.shape
    microbatches = length // UNITS
    ended = np.full((4, microbatches, stages), -1, np.int64)  # the unit in which F0, F1, B1 and B0 have run
    out = np.empty((stages, length), np.int64)
    waiting = np.empty((stages, length // 3), np.int64)
    at, written = np.zeros(stages, np.int64), np.zeros(stages, np.int64)
    first, last, kept = np.zeros(stages, np.int64), np.zeros(stages, np.int64), np.zeros(stages, np.int64)
    now, left = 0, stages * length
    while left > 0:
        for s in range(stages):
            while at[s] < length and (order[s, at[s]] >> 1) & WEIGHTS > 0:
                at[s] += 1
            code, runs = np.int64(0), False
            if at[s] < length:
                code = order[s, at[s]]
                back, chunk, microbatch = code & 1, (code >> 1) & 1, code >> (CHUNK_SHIFT + 1)
                way = 3 * back + chunk - 2 * back * chunk
                before = s - 1 if way % 2 == 0 else s + 1
                ready = way == 0
                if 0 <= before < stages:
                    ready = 0 <= ended[way, microbatch, before] < now
                elif way > 0:
                    ready = 0 <= ended[way - 1, microbatch, s] < now
                runs = ready and (back == 1 or kept[s] < room)
            if runs:
                at[s] += 1
                ended[way, microbatch, s] = now
                if back == 1:
                    waiting[s, last[s]] = code | WEIGHTS << 1
                    last[s] += 1
                else:
                    kept[s] += 1
            elif first[s] < last[s]:
                code = waiting[s, first[s]]
                first[s] += 1
                kept[s] -= 1
            else:
                continue
            out[s, written[s]] = code
            written[s] += 1
            left -= 1
        now += 1
    return out


class VShaped(PipelineSchedule):
    """A V-shaped schedule; with `offsets` that add up to n, n/12 of what the first stage keeps under 1F1B is kept."""

    splits = True
    interleaves = True
    folds = True
    chunks = 2

    def __init__(self, offsets: Offsets, late: bool = False) -> None:
        self._offsets, self._late = offsets, late

    def order(self, stages: int, microbatches: int, chunks: int) -> NDArray[np.int64]:
        """See `PipelineSchedule.order`."""
        return _order(self._offsets, self._late, stages, microbatches)

    def steady(self, stages: int, chunks: int) -> Steady:
        """One microbatch after the other, once the first one's last block has ended."""
        whole = -(-int(building_block(self._offsets, stages).max() + 1) // UNITS) + (2 * stages if self._late else 0)
        return Steady(period=1, warm=whole, reach=whole + 1, cool=whole + 1)


ZB_V = VShaped((4, 2, 4, 2), late=True)
"""No bubble but the way to the last stage, with blocks of equal time; keeps what 1F1B keeps, on every stage."""
V_HALF = VShaped((2, 1, 2, 1))
"""Keeps half of what 1F1B keeps on its first stage."""
V_MIN = VShaped((1, 1, 1, 1))
"""Keeps a third of what 1F1B keeps on its first stage."""
