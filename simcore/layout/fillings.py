"""All that chunks of stages may recompute, where that is not much; else what is better than the greedy filling.

Chunks share the memory of their stage, and how much later a stage's blocks end depends on which of its chunks
recomputes. So no number of layers alone is best. A filling of a stage is least if it fits and no layer less does; the
time of an iteration grows with each layer that recomputes, so the best one is least on every stage.
"""

from __future__ import annotations

from math import inf

import numpy as np

from simcore.compiled import compiled
from simcore.layout.boundaries import sum_stages
from simcore.layout.costs import Floats, Ints
from simcore.layout.fill import chunks_fit, chunks_of, fill
from simcore.layout.play import Blocks, time_layout
from simcore.layout.stage import FREE_DENSE

MOST_LISTED = 1024
"""Numbers of layers of a stage's chunks that are looked at."""
MOST_TRIED = 256
"""Fillings of all stages together up to which all are timed."""
ROUNDS = 2
"""Times that each stage of others gets the best of its own."""
_SHORTER = 1 - 1e-9


@compiled
def least_fillings(sums: Floats, stages: Floats, limits: Floats, blocks: Blocks, stage: int) -> Floats:
    """The least fillings of the chunks of a stage, `[fillings, chunks, 2]`; none where there is too much to look at."""
    mine = chunks_of(stages, len(blocks[0]), stage)
    chunks = len(mine)
    sizes, total = np.ones(2 * chunks, np.int64), 1
    for column in range(2 * chunks):
        sizes[column] = int(sums[mine[column // 2], FREE_DENSE + column % 2]) + 1
        total *= sizes[column]
    if total > MOST_LISTED:
        return np.zeros((0, chunks, 2))
    fitting, counts = np.zeros(total, np.bool_), np.zeros((chunks, 2))
    for number in range(total):
        _spell(number, sizes, counts)
        fitting[number] = chunks_fit(sums, stages, limits, blocks, stage, mine, counts)
    least = np.zeros(total, np.bool_)
    for number in range(total):
        least[number] = fitting[number]
        step, rest = 1, number
        for column in range(2 * chunks):
            if rest % sizes[column] > 0 and fitting[number - step]:
                least[number] = False
            rest //= sizes[column]
            step *= sizes[column]
    found, place = np.zeros((int(least.sum()), chunks, 2)), 0
    for number in range(total):
        if least[number]:
            _spell(number, sizes, found[place])
            place += 1
    return found


@compiled
def _spell(number: int, sizes: Ints, counts: Floats) -> None:
    """The layers of each chunk and kind that the number of a filling stands for."""
    for column in range(len(sizes)):
        counts[column // 2, column % 2] = number % sizes[column]
        number //= sizes[column]


@compiled
def refine(layers: Floats, stages: Floats, limits: Floats, blocks: Blocks, ends: Ints, again: Floats) -> float:
    """The iteration of a layout whose stages get, one after the other, the best of their least fillings [s].

    `again` is the filling to begin with, and is written anew. Arguments as `time_layout` has them.
    """
    pipeline = len(blocks[0])
    best: float = time_layout(layers, stages, blocks, ends, again)
    if len(stages) == pipeline or again.sum() == 0.0:
        return best
    sums, tried = sum_stages(layers, stages, ends), again.copy()
    for _ in range(ROUNDS):
        before = best
        for stage in range(pipeline):
            mine = chunks_of(stages, pipeline, stage)
            for filling in least_fillings(sums, stages, limits, blocks, stage):
                for chunk in range(len(mine)):
                    tried[mine[chunk]] = filling[chunk]
                now = time_layout(layers, stages, blocks, ends, tried)
                if now < best * _SHORTER:
                    best = now
                    again[:] = tried
            tried[:] = again
        if best == before:
            break
    return best


@compiled
def time_fillings(layers: Floats, stages: Floats, limits: Floats, blocks: Blocks, ends: Ints) -> tuple[Floats, Floats]:
    """What may recompute with these stages `[fillings, virtual stages, 2]`, and the iteration with each [s].

    All that is least on every stage, up to `MOST_TRIED`; of more one filling, refined. None where none fits.
    """
    pipeline, count = len(blocks[0]), len(stages)
    again = np.zeros((count, 2))
    if not fill(layers, stages, limits, blocks, ends, again):
        return np.zeros((0, count, 2)), np.zeros(0)
    sums, number = sum_stages(layers, stages, ends), 1
    sizes = np.ones(pipeline, np.int64)
    listed = [np.zeros((1, 1, 2)) for _ in range(0)]
    for stage in range(pipeline if count > pipeline and again.sum() > 0.0 else 0):
        listed.append(least_fillings(sums, stages, limits, blocks, stage))
        sizes[stage] = len(listed[stage])
        number = number * sizes[stage] if number <= MOST_TRIED else number
    if len(listed) == 0 or number == 0 or number > MOST_TRIED:
        found, seconds = np.zeros((1, count, 2)), np.zeros(1)
        seconds[0] = refine(layers, stages, limits, blocks, ends, again)
        found[0] = again
        return found, seconds
    found, seconds = np.zeros((number, count, 2)), np.full(number, inf)
    for filling in range(number):
        rest = filling
        for stage in range(pipeline):
            mine = chunks_of(stages, pipeline, stage)
            for chunk in range(len(mine)):
                found[filling, mine[chunk]] = listed[stage][rest % sizes[stage], chunk]
            rest //= sizes[stage]
        seconds[filling] = time_layout(layers, stages, blocks, ends, found[filling])
    return found, seconds
