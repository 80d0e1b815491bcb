"""What overlap costs an iteration at least: computation is slowed beside what the network serves.

While dimension d serves, computation takes 1 + s[d] times as long: of its time it loses the share
f[d] = s[d] / (1 + s[d]); of several dimensions the largest counts, which is at least any mean of them. Let v[d] be
weights with sum(v / f) <= 1, and V = sum(v). A stage that computes C alone and is blocked or waits for K, while its
dimensions serve t[d] in all, of which at most K beside no computation, needs at least

    C + (1 - V) K + sum(v t).

A blocking collective takes at least as long as any weighted mean of its services, too. How long each dimension serves
follows from the ways that a policy chooses for chunks, the same for all collectives of a type. So what a type that is
started n times and blocks b times adds is at least, with weights u >= 0 that take U = sum(u) of its (1 - V) b,

    ((1 - V) b - U) least + sum(((n + b) v + u) t)    on the way where that sum is least.

All v and u are proven. Those of `_weightings` and `_levelled_time` are near the best where no way is clearly the
best: then the weights of dimensions go with their bandwidths, by which all ways take the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.bounds.collective import ByDimension, CollectiveTime, elementwise_maximum
from simcore.design.design import Design
from simcore.system.interference import UNIT, slowdowns

_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class StageUse:
    """What a stage does in an iteration."""

    before: Any
    """What precedes it, and what it computes alone."""
    used: Mapping[int, tuple[int, int]]
    """How often each type of collective is started beside computation, and how often it blocks."""


def lost_shares(design: Design) -> tuple[float, ...]:
    """The share of its time that computation loses while each dimension serves."""
    return tuple(slow / (UNIT + slow) for slow in slowdowns(design))


def slowed_time(
    stage: StageUse, times: Sequence[CollectiveTime], keys: Sequence[tuple[Any, ...]], lost: Sequence[float]
) -> Any:
    """Least time of a stage that computes beside collectives; `keys` say the kind, group and size of each type."""
    weightings = list(_weightings(stage, times, keys, lost))
    weights = _stacked(weightings, np.shape(times[0].least))
    own = sum((_type_time(times[k], *often, weights) for k, often in stage.used.items()), 0.0 * weights.whole)
    return np.maximum.reduce(stage.before + own, axis=0)


class _Weights(NamedTuple):
    """Weightings side by side."""

    floor: ByDimension
    """The weight of each dimension that has one in any of them, `[weightings]`, or `[weightings, networks]`."""
    whole: Any
    """Their sums."""
    given: Mapping[int, NDArray[np.bool_]]
    """Which weightings speak of a dimension `[weightings]`."""


def _stacked(weightings: Sequence[ByDimension], shape: tuple[int, ...]) -> _Weights:
    """Weightings of numbers, or of vectors of a `shape`, as one: where they say nothing of a dimension, it has 0."""
    floor, given = {}, {}
    for d in sorted(set().union(*weightings)):
        floor[d] = np.zeros((len(weightings), *shape))
        given[d] = np.array([d in each for each in weightings])
        for row, each in enumerate(weightings):
            floor[d][row] = each.get(d, 0.0)
    return _Weights(floor, sum(floor.values()), given)


def _weightings(
    stage: StageUse, times: Sequence[CollectiveTime], keys: Sequence[tuple[Any, ...]], lost: Sequence[float]
) -> Iterator[ByDimension]:
    """Each dimension alone, and neighbours as the largest type of each kind and group that is started has them."""
    yield from ({d: share} for d, share in enumerate(lost) if share)
    largest: dict[Any, int] = {}
    for k in sorted(stage.used, key=lambda k: -stage.used[k][0] * keys[k][2]):
        if stage.used[k][0]:
            largest.setdefault(keys[k][:2], k)
    for k in largest.values():
        rates = times[k].levelling
        for first, end in combinations(range(len(rates) + 1), 2):
            dimensions = sorted(rates)[first:end]
            if len(dimensions) > 1 and all(lost[d] for d in dimensions):
                whole = np.maximum(sum(rates[d] / lost[d] for d in dimensions), _TINY)
                yield {d: rates[d] / whole for d in dimensions}


def _type_time(time: CollectiveTime, started: int, blocked: int, weights: _Weights) -> Any:
    """What a type of collective adds to a stage's time with each of these weightings."""
    floor = {d: (started + blocked) * weight for d, weight in weights.floor.items()}
    best = _least_service(time, floor)
    if not blocked:
        return best
    left = (1.0 - weights.whole) * blocked
    best = left * time.least + best
    if not time.levelling:
        return best
    mine = [d for d in time.levelling if d in floor]
    if mine:
        level = elementwise_maximum([floor[d] / np.maximum(time.levelling[d], _TINY) for d in mine])
        levelled = np.maximum(best, _levelled_time(time, floor, left, level))
        some = np.logical_or.reduce([weights.given[d] for d in mine])
        best = levelled if some.all() else np.where(some.reshape(-1, *[1] * (best.ndim - 1)), levelled, best)
    return np.maximum(best, _levelled_time(time, floor, left, left + sum(floor[d] for d in mine)))


def _levelled_time(time: CollectiveTime, floor: ByDimension, left: Any, level: Any) -> Any:
    """The same with weights beyond `floor`, at most `left` in all, that raise all ways to a `level`.

    Levels are tried: as little as makes all ways take the same, and all that is left.
    """
    raised = {d: np.maximum(level * weight - floor.get(d, 0.0), 0.0) for d, weight in time.levelling.items()}
    share = np.minimum(left / np.maximum(sum(raised.values()), _TINY), 1.0)
    more = {d: weight * share for d, weight in raised.items()}
    total = {d: floor.get(d, 0.0) + weight for d, weight in more.items()}
    return (left - sum(more.values())) * time.least + _least_service(time, {**floor, **total})


def _least_service(time: CollectiveTime, weights: ByDimension) -> Any:
    """The least of the weighted services on any way."""
    services = [sum(weights[d] * way[d] for d in way if d in weights) for way in time.ways]
    return services[0] if len(services) == 1 else np.minimum.reduce(services)
