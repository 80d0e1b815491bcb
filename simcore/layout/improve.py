"""Other ways to put layers on stages: single layers that move while the iteration gets shorter, and all ways there are.

The iteration is that by the times of stages (`simcore.layout.play`).
"""

from __future__ import annotations

from math import comb, inf

import numpy as np

from simcore.compiled import compiled
from simcore.layout.boundaries import sum_stages
from simcore.layout.costs import Floats, Ints
from simcore.layout.fill import fill
from simcore.layout.fillings import time_fillings
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
                move_layer(ends, giving, taking, tried)
                if not has_layers(tried) or not fill(layers, stages, limits, blocks, tried, chosen):
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
def move_layer(ends: Ints, giving: int, taking: int, moved: Ints) -> None:
    """Write into `moved` the stages with one layer less on one and one more on another; those between pass one on."""
    moved[:] = ends
    for k in range(min(giving, taking), max(giving, taking)):
        moved[k] += 1 if taking < giving else -1


@compiled
def _slowest(layers: Floats, stages: Floats, ends: Ints, again: Floats) -> int:
    """The virtual stage that takes longest for a microbatch."""
    sums = sum_stages(layers, stages, ends)
    times = sums[:, TIME] + again[:, 0] * sums[:, AGAIN_DENSE] + again[:, 1] * sums[:, AGAIN_EXPERTS]
    return int(times.argmax())


@compiled
def best_ways(
    layers: Floats, stages: Floats, limits: Floats, blocks: Blocks, number: int, most: int
) -> tuple[Ints, Floats, Floats]:
    """The `most` shortest ways to put layers on stages and to fill them, shortest first.

    The layers up to each stage's end `[most, stages]`, what recomputes `[most, stages, 2]`, and the iterations [s];
    infinity where there are no more that fit. `number` is `count_ways`.
    """
    count, total = len(stages), len(layers)
    ways, fillings = np.zeros((most, count), np.int64), np.zeros((most, count, 2))
    seconds = np.full(most, inf)
    inner = max(count - 2, 0)  # stages that have a layer at least; the others are put anywhere, in every order
    loose, ends = np.zeros(count, np.int64), np.zeros(count, np.int64)
    loose[count - 1] = total - inner
    for _ in range(number):
        for k in range(count):
            ends[k] = loose[k] + min(k, inner)
        found, times = time_fillings(layers, stages, limits, blocks, ends)
        for filling in range(len(times)):
            place = most
            while place > 0 and times[filling] < seconds[place - 1]:
                place -= 1
            if place < most:
                for worse in range(most - 1, place, -1):
                    seconds[worse] = seconds[worse - 1]
                    ways[worse] = ways[worse - 1]
                    fillings[worse] = fillings[worse - 1]
                seconds[place] = times[filling]
                ways[place] = ends
                fillings[place] = found[filling]
        place = count - 2
        while place >= 0 and loose[place] == total - inner:
            place -= 1
        if place >= 0:  # the next row of ends that never fall
            loose[place : count - 1] = loose[place] + 1
    return ways, fillings, seconds


def count_ways(layers: int, stages: int) -> int:
    """Ways to put layers on stages, of which only the first and the last may have none."""
    return comb(layers + 1, stages - 1)


@compiled
def has_layers(ends: Ints) -> bool:
    """Whether every stage has layers, but for those at the ends, which may have none."""
    for k in range(len(ends)):
        size = ends[k] - (ends[k - 1] if k > 0 else 0)
        if size < 0 or (size == 0 and 0 < k < len(ends) - 1):
            return False
    return True
