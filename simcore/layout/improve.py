"""Other ways to put layers on stages: single layers that move while the iteration gets shorter, and all ways there are.

The iteration is that by the times of stages (`simcore.layout.play`).
"""

from __future__ import annotations

from math import inf

import numpy as np

from simcore.compiled import compiled
from simcore.layout.boundaries import sum_stages
from simcore.layout.costs import Floats, Ints
from simcore.layout.fill import fill
from simcore.layout.play import Blocks, time_layout
from simcore.layout.stage import AGAIN_DENSE, AGAIN_EXPERTS, TIME

ROUNDS = 4
"""Moves that are made at most."""
FEW = 8
"""Up to so many stages, layers move between any two."""
_SHORTER = 1 - 1e-9


@compiled
def improve(layers: Floats, stages: Floats, limits: Floats, blocks: Blocks, ends: Ints, again: Floats) -> float:
    """The iteration of a layout [s], of which `ends` and `again` are written anew; infinity where it does not fit.

    A move: one layer less on a virtual stage, one more on another, and those between pass one on; of many stages, those
    from the slowest one and between neighbours. Each round makes the best one. Arguments as `fill` has them.
    """
    count = len(ends)
    tried, chosen = ends.copy(), np.zeros((count, 2))
    best_ends, best_chosen, slowest = ends.copy(), again.copy(), 0
    best = inf
    for step in range(ROUNDS + 1):
        before = best
        for giving in range(count if step else 1):
            for taking in range(count if step else 1):
                far = count > FEW and abs(giving - taking) > 1 and giving != slowest
                if step and (giving == taking or far):
                    continue
                tried[:] = ends
                for k in range(min(giving, taking), max(giving, taking)):
                    tried[k] += 1 if taking < giving else -1
                if not _has_layers(tried) or not fill(layers, stages, limits, blocks, tried, chosen):
                    continue
                now = time_layout(layers, stages, blocks, tried, chosen)
                if now < best * _SHORTER or best == inf:
                    best = now
                    best_ends[:] = tried
                    best_chosen[:] = chosen
        if best == before and best < inf:
            break
        ends[:] = best_ends
        again[:] = best_chosen
        slowest = _slowest(layers, stages, ends, again)
    return best


@compiled
def _slowest(layers: Floats, stages: Floats, ends: Ints, again: Floats) -> int:
    """The virtual stage that takes longest for a microbatch."""
    sums = sum_stages(layers, stages, ends)
    times = sums[:, TIME] + again[:, 0] * sums[:, AGAIN_DENSE] + again[:, 1] * sums[:, AGAIN_EXPERTS]
    return int(times.argmax())


@compiled
def time_each(layers: Floats, stages: Floats, limits: Floats, blocks: Blocks, number: int) -> tuple[Ints, Floats]:
    """All ways to put layers on stages: the layers up to each one's end `[number, stages]`, and the iterations [s].

    `number` is `count_ways`; infinity where a way does not fit, or is none.
    """
    count, total = len(stages), len(layers)
    ways, seconds = np.zeros((number, count), np.int64), np.full(number, inf)
    ends, again = np.zeros(count, np.int64), np.zeros((count, 2))
    ends[count - 1] = total
    for way in range(number):
        ways[way] = ends
        if _has_layers(ends) and fill(layers, stages, limits, blocks, ends, again):
            seconds[way] = time_layout(layers, stages, blocks, ends, again)
        place = count - 2
        while place >= 0 and ends[place] == total:
            place -= 1
        if place >= 0:  # the next row of ends that never fall
            ends[place : count - 1] = ends[place] + 1
    return ways, seconds


@compiled
def _has_layers(ends: Ints) -> bool:
    """Whether every stage has layers, but for those at the ends, which may have none."""
    for k in range(len(ends)):
        size = ends[k] - (ends[k - 1] if k > 0 else 0)
        if size < 0 or (size == 0 and 0 < k < len(ends) - 1):
            return False
    return True
