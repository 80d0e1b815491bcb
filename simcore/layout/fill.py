"""Given stages filled: the least that must recompute in each for its memory to suffice.

A stage of one chunk is filled exactly (`simcore.layout.stage`). Chunks of a stage share its memory, of which each holds
what its microbatches in flight keep at the moment when all chunks together keep most. There layers recompute one after
the other, those first that save most for their time, until the stage fits.
"""

from __future__ import annotations

from math import inf

import numpy as np

from simcore.compiled import compiled
from simcore.layout.boundaries import sum_stages, time_stages
from simcore.layout.costs import ENDS, FLIGHT, PLACE, Floats, Ints
from simcore.layout.play import Blocks
from simcore.layout.stage import (
    AGAIN_DENSE,
    FREE_DENSE,
    HELD,
    SAVED_DENSE,
    SAVED_EXPERTS,
    STORED,
    needed,
)
from simcore.schedule.base import CHUNK_MASK, WEIGHTS


@compiled
def fill(layers: Floats, stages: Floats, limits: Floats, blocks: Blocks, ends: Ints, again: Floats) -> bool:
    """Whether stages with the layers up to `ends` fit; what must recompute for it is written into `again`.

    Arguments as `time_stages` and `time_layout` have them.
    """
    pipeline = len(blocks[0])
    if len(stages) == pipeline:
        fits: bool = time_stages(layers, stages, limits, ends, again).max() < inf
        return fits
    again[:] = 0.0
    sums = sum_stages(layers, stages, ends)
    fitting = 0
    while fitting < pipeline and _fill_chunks(sums, stages, limits, blocks, fitting, again):
        fitting += 1
    return fitting == pipeline


@compiled
def _fill_chunks(sums: Floats, stages: Floats, limits: Floats, blocks: Blocks, stage: int, again: Floats) -> bool:
    """The fewest layers of the chunks of a stage recompute, in the order of `_ranked`; whether it then fits."""
    mine = chunks_of(stages, len(blocks[0]), stage)
    ranked = _ranked(sums, stages, mine)
    few, most = 0, 0
    for row in ranked:
        most += int(sums[mine[row // 2], FREE_DENSE + row % 2])
    if chunks_fit(sums, stages, limits, blocks, stage, mine, _first(sums, mine, ranked, 0)):
        return True
    if not chunks_fit(sums, stages, limits, blocks, stage, mine, _first(sums, mine, ranked, most)):
        return False
    while few < most:
        middle = (few + most) // 2
        if chunks_fit(sums, stages, limits, blocks, stage, mine, _first(sums, mine, ranked, middle)):
            most = middle
        else:
            few = middle + 1
    counts = _first(sums, mine, ranked, few)
    for chunk in range(len(mine)):
        again[mine[chunk]] = counts[chunk]
    return True


@compiled
def chunks_of(stages: Floats, pipeline: int, stage: int) -> Ints:
    """The virtual stages of a stage, by chunk."""
    mine = np.empty(len(stages) // pipeline, np.int64)
    for k in range(len(stages)):
        place = int(stages[k, PLACE])
        if place % pipeline == stage:
            mine[place // pipeline] = k
    return mine


@compiled
def _ranked(sums: Floats, stages: Floats, mine: Ints) -> Ints:
    """Chunk x 2 + kind of layers, by the time that one takes to recompute for what it saves."""
    prices = np.full(2 * len(mine), inf)
    for chunk in range(len(mine)):
        its = sums[mine[chunk]]
        for kind in range(2):
            if its[FREE_DENSE + kind] > 0.0:
                saved = its[SAVED_DENSE + kind] * stages[mine[chunk], FLIGHT]
                prices[2 * chunk + kind] = its[AGAIN_DENSE + kind] / saved
    return np.argsort(prices, kind="mergesort")


@compiled
def _first(sums: Floats, mine: Ints, ranked: Ints, number: int) -> Floats:
    """How many layers of each chunk and kind are among the first so many of `ranked`, `[chunks, 2]`."""
    counts = np.zeros((len(mine), 2))
    for row in ranked:
        taken = min(float(number), sums[mine[row // 2], FREE_DENSE + row % 2])
        counts[row // 2, row % 2] = taken
        number -= int(taken)
    return counts


@compiled
def chunks_fit(
    sums: Floats, stages: Floats, limits: Floats, blocks: Blocks, stage: int, mine: Ints, counts: Floats
) -> bool:
    """Whether a stage fits where so many layers of its chunks recompute."""
    fits: bool = bytes_of_chunks(sums, stages, limits, blocks, stage, mine, counts) <= limits[1]
    return fits


@compiled
def bytes_of_chunks(
    sums: Floats, stages: Floats, limits: Floats, blocks: Blocks, stage: int, mine: Ints, counts: Floats
) -> float:
    """Bytes that a stage needs where so many layers of its chunks recompute."""
    order, _, _, (splits, overlaps) = blocks
    kept = np.empty(len(mine))
    held, working, largest = 0.0, 0.0, 0.0
    for chunk in range(len(mine)):
        its, row = sums[mine[chunk]], stages[mine[chunk]].copy()
        dense, experts = counts[chunk]
        kept[chunk] = its[STORED] - dense * its[SAVED_DENSE] - experts * its[SAVED_EXPERTS] + row[ENDS]
        row[FLIGHT] = 0.0
        held += its[HELD]
        working = max(working, needed(its, row, dense, experts, 1.0) - its[HELD])
        largest = max(largest, kept[chunk])
    now, most = 0.0, 0.0
    for code in order[stage]:  # as `simcore.schedule.base.kept_after` adds up
        whose, weights = (code >> 1) & CHUNK_MASK, (code >> 1) & WEIGHTS > 0
        if weights if splits else code & 1 > 0:
            now -= kept[whose]
        elif code & 1 == 0:
            now += kept[whose]
        most = max(most, now)
    beside = largest if overlaps else 0.0
    whole: float = held + limits[0] * (most + beside + working)
    return whole
