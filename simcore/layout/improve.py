"""Single layers move to other stages while the iteration by the times of its stages gets shorter."""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import NDArray

from simcore.compiled import compiled
from simcore.layout.boundaries import time_stages
from simcore.layout.costs import Floats, Ints
from simcore.layout.play import time_layout

ROUNDS = 4
"""Moves that are made at most."""
FEW = 8
"""Up to so many stages, layers move between any two."""
_SHORTER = 1 - 1e-9


@compiled
def improve(
    layers: Floats,
    stages: Floats,
    limits: Floats,
    order: Ints,
    sequence: NDArray[np.int32],
    counts: tuple[int, int],
    ends: Ints,
    again: Floats,
) -> float:
    """The iteration of a layout without chunks [s], of which `ends` and `again` are written anew.

    A move: one layer less on a stage, one more on another, and those between pass one on; of many stages, those from
    the slowest one and between neighbours. Each round makes the best one. Sizes are as `time_layout` has them.
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
                if not _has_layers(tried):
                    continue
                times = time_stages(layers, stages, limits, tried, chosen)
                if times.max() == inf:
                    continue
                now = time_layout(layers, stages, order, sequence, counts, tried, chosen)
                if now < best * _SHORTER or best == inf:
                    best = now
                    best_ends[:] = tried
                    best_chosen[:] = chosen
        if best == before:
            break
        ends[:] = best_ends
        again[:] = best_chosen
        slowest = int(time_stages(layers, stages, limits, ends, again).argmax())
    return best


@compiled
def _has_layers(ends: Ints) -> bool:
    """Whether every stage has layers, but for those at the ends, which may have none."""
    for k in range(len(ends)):
        size = ends[k] - (ends[k - 1] if k > 0 else 0)
        if size < 0 or (size == 0 and 0 < k < len(ends) - 1):
            return False
    return True
