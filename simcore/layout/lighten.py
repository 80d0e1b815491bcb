"""Stages of chunks made to fit: single layers leave the fullest stage until the memory of all suffices.

The even stages and those whose slowest one takes least may just not fit, and the ones that need least memory may be far
slower. Between them lie the even ones with a few layers moved (`simcore.layout.improve` then moves others).
"""

from __future__ import annotations

from math import inf

import numpy as np

from simcore.compiled import compiled
from simcore.layout.boundaries import sum_stages
from simcore.layout.costs import PLACE, Floats, Ints
from simcore.layout.fill import bytes_of_chunks, chunks_of
from simcore.layout.improve import has_layers, move_layer
from simcore.layout.play import Blocks
from simcore.layout.stage import FREE_DENSE, TIME

MOVES = 4
"""Moves for each virtual stage, at most."""
_LESS = 1 - 1e-9


@compiled
def lighten(layers: Floats, stages: Floats, limits: Floats, blocks: Blocks, ends: Ints) -> None:
    """Write `ends` anew, such that stages fit where all open layers recompute; the lightest found where none do.

    A move takes a layer from a chunk of the stage that lacks most, and lets all stages together lack less. Of these the
    one is made after which the slowest stage takes least, then the one after which they lack least. Arguments as
    `fill` has them.
    """
    count, pipeline = len(ends), len(blocks[0])
    tried, best = ends.copy(), ends.copy()
    lacking = _lacking(layers, stages, limits, blocks, ends)
    for _ in range(MOVES * count):
        whole = lacking.sum()
        if whole <= 0.0:
            return
        slowest, least = inf, inf
        for giving in chunks_of(stages, pipeline, int(lacking.argmax())):
            for taking in range(count):
                if giving == taking:
                    continue
                move_layer(ends, giving, taking, tried)
                if not has_layers(tried):
                    continue
                lacks = _lacking(layers, stages, limits, blocks, tried).sum()
                if lacks >= whole * _LESS:
                    continue
                takes = _slowest(layers, stages, tried, pipeline)
                if takes < slowest * _LESS or (takes * _LESS <= slowest and lacks < least):
                    slowest, least = takes, lacks
                    best[:] = tried
        if least == inf:
            return
        ends[:] = best
        lacking = _lacking(layers, stages, limits, blocks, ends)


@compiled
def _lacking(layers: Floats, stages: Floats, limits: Floats, blocks: Blocks, ends: Ints) -> Floats:
    """Bytes that each stage needs beyond what it has, where all open layers recompute `[stages of the pipeline]`."""
    pipeline = len(blocks[0])
    sums, lacking = sum_stages(layers, stages, ends), np.zeros(pipeline)
    for stage in range(pipeline):
        mine = chunks_of(stages, pipeline, stage)
        counts = np.empty((len(mine), 2))
        for chunk in range(len(mine)):
            counts[chunk] = sums[mine[chunk], FREE_DENSE : FREE_DENSE + 2]
        needs = bytes_of_chunks(sums, stages, limits, blocks, stage, mine, counts)
        lacking[stage] = max(0.0, needs - limits[1])
    return lacking


@compiled
def _slowest(layers: Floats, stages: Floats, ends: Ints, pipeline: int) -> float:
    """What the slowest stage takes for a microbatch in all of its chunks [s]."""
    sums, times = sum_stages(layers, stages, ends), np.zeros(pipeline)
    for k in range(len(ends)):
        times[int(stages[k, PLACE]) % pipeline] += sums[k, TIME]
    slowest: float = times.max()
    return slowest
