"""Layers over the stages of a pipeline such that the slowest stage takes least, by dynamic programming over layers.

After k stages with the first b layers the slowest has taken at least min over a of max(that of k - 1 stages with a
layers, what stage k takes for layers a to b). Among all ways with that slowest stage the second pass takes the one of
least sum of squares, which is the most even one. Both are exact: a stage takes no less with a layer more, so the search
for a ends where stage k alone takes longer than the best (the min-max partition of Narayanan et al. 2019, PipeDream,
SOSP, section 3.1, for one kind of worker).
"""

from __future__ import annotations

from math import inf

import numpy as np

from simcore.compiled import compiled
from simcore.layout.costs import Floats, Ints
from simcore.layout.stage import FREE_DENSE, FREE_EXPERTS, SUMS, add, begin, choose, needed

_SAME = 1 + 1e-12


@compiled
def sum_stages(layers: Floats, stages: Floats, ends: Ints) -> Floats:
    """What is added up over the layers up to `ends` of each stage, `[stages, SUMS]` (see `time_stages`)."""
    sums = np.empty((len(stages), SUMS))
    first = 0
    for k in range(len(stages)):
        begin(sums[k], stages[k])
        for layer in range(first, ends[k]):
            add(sums[k], layers[layer])
        first = ends[k]
    return sums


@compiled
def bytes_of_stage(sums: Floats, stage: Floats, dense: float, experts: float, slack: float) -> float:
    """See `simcore.layout.stage.needed`."""
    return needed(sums, stage, dense, experts, slack)


@compiled
def time_stages(layers: Floats, stages: Floats, limits: Floats, ends: Ints, chosen: Floats) -> Floats:
    """Time of each stage with the layers up to `ends` [s]; infinity where it never fits.

    `layers` and `stages` as `simcore.layout.costs` has them, `limits` as `choose`; `chosen[stage]`: dense layers and
    layers of experts that recompute.
    """
    times = np.empty(len(stages))
    sums = sum_stages(layers, stages, ends)
    for k in range(len(stages)):
        times[k] = choose(sums[k], stages[k], limits, chosen[k])
    return times


@compiled
def least_slowest(layers: Floats, stages: Floats, limits: Floats, by_memory: bool) -> Ints:
    """The layers up to each stage's last one, such that the slowest stage takes least; -1 where none fits.

    `by_memory`: such that the stage that needs most memory needs least, if all open layers recompute.
    """
    count, total = len(stages), len(layers)
    sums, chosen = np.empty(SUMS), np.empty(2)
    best = np.full((count + 1, total + 1), inf)
    before = np.full((count + 1, total + 1), -1)
    limit = inf
    for squared in range(2):
        best[:] = inf
        best[0, 0] = 0.0
        for k in range(count):
            least = 1 if 0 < k < count - 1 or count == 1 else 0
            for end in range(total + 1):
                if k == count - 1 and end < total:
                    continue
                begin(sums, stages[k])
                for first in range(end, -1, -1):
                    if first < end:
                        add(sums, layers[first])
                    if end - first < least:
                        continue
                    if by_memory:
                        cost = needed(sums, stages[k], sums[FREE_DENSE], sums[FREE_EXPERTS], limits[0])
                    else:
                        cost = choose(sums, stages[k], limits, chosen)
                    if cost > limit or (squared == 0 and cost >= best[k + 1, end]):
                        break
                    whole = max(best[k, first], cost) if squared == 0 else best[k, first] + cost * cost
                    if whole < best[k + 1, end]:
                        best[k + 1, end] = whole
                        before[k + 1, end] = first
        if best[count, total] == inf:
            break
        limit = best[count, total] * _SAME if squared == 0 else limit
    ends = np.full(count, -1)
    if best[count, total] < inf:
        end = total
        for k in range(count, 0, -1):
            ends[k - 1] = end
            end = before[k, end]
    return ends
