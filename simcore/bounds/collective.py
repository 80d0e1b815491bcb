"""What a collective takes at least, whichever ways through its dimensions a policy chooses for its chunks.

Every function here takes integers [ps] or vectors of them, one entry a network (`simcore.bounds.many`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from simcore.bounds.rounding import SAFE
from simcore.design.design import Design
from simcore.engine.fast.lower import Lowering
from simcore.system.chunks import FLAT, ORDERED_KINDS, Chunker, Chunks, Phase
from simcore.system.placement import Placement, stages_between

ByDimension = Mapping[int, Any]
"""A time [ps], bytes, or a weight of each of some dimensions."""


@dataclass(frozen=True, eq=False)
class CollectiveTime:
    """What a type of collective takes at least [ps]."""

    least: Any
    """From issue to completion."""
    busy: ByDimension
    """Service of each dimension, whichever ways its chunks go."""
    ways: Sequence[ByDimension]
    """For each way that they may go the service of each dimension, if all of them go that way."""
    sent: Sequence[ByDimension] = field(default=())
    """Bytes that a chunk sends on each dimension on each of these ways [B]."""

    @cached_property
    def levelling(self) -> ByDimension:
        """Weights, adding up to 1, by which all ways take about the same; none where there is one way.

        They go with the bandwidth that messages get: bytes over time by which a dimension's service differs.
        """
        if len(self.ways) == 1:
            return {}
        rates = {}
        for d in self.busy:
            sent = [way[d] for way in self.sent]
            longest = elementwise_maximum([way[d] for way in self.ways])
            rates[d] = (elementwise_maximum(sent) - elementwise_minimum(sent)) / np.maximum(longest - self.busy[d], 1)
        whole = np.maximum(sum(rates.values()), 1e-300)
        return {d: rate / whole for d, rate in rates.items()}


def collective_time(paths: Sequence[Sequence[Phase]], counts: Sequence[int] | int, rates: Any) -> CollectiveTime:
    """What a collective takes of which `counts` chunks take each of `paths`; or any of them, if that is a number.

    A policy chooses orders by the bandwidths it finds, so a bound that holds for slower networks too must hold for all
    orders: each dimension serves at least its smallest share of every chunk. `rates` are the dimensions' [B/s].
    """
    shares = [_sum_by_dimension(path, [phase.serialization for phase in path]) for path in paths]
    way = least_way_time(paths)
    if not isinstance(counts, int):
        busy: dict[int, Any] = {}
        for share, times in zip(shares, counts, strict=True):
            for d, time in share.items():
                busy[d] = busy.get(d, 0) + times * time
        return CollectiveTime(elementwise_maximum([way, *busy.values()]), busy, [busy])
    ways = [{d: counts * time for d, time in share.items()} for share in shares]
    shared = sorted(set(ways[0]).intersection(*ways))
    busy = {d: elementwise_minimum([each[d] for each in ways]) for d in shared}
    least = elementwise_maximum([way, least_mean_time(ways, rates), *busy.values()])
    sent = [_sum_by_dimension(path, [phase.sent for phase in path]) for path in paths]
    return CollectiveTime(least, busy, ways, sent)


def least_mean_time(ways: Sequence[ByDimension], rates: Any) -> Any:
    """Least time of a collective on any of `ways`, by what all dimensions serve together [ps].

    The longest service is at least any weighted mean of all. With the dimensions' rates as weights that is all bytes
    over all bandwidth; a reduce-scatter's bytes, m (1 - 1/n) on all dimensions together, are the same in every order.
    """
    whole = sum(rates[d] for d in set().union(*ways))
    mean = elementwise_minimum([sum(time * (rates[d] / whole) for d, time in way.items()) for way in ways]) * SAFE
    return int(mean) if isinstance(mean, float) else mean


def least_way_time(paths: Sequence[Sequence[Phase]]) -> Any:
    """Least time of one chunk's way through any of `paths` [ps]."""
    return elementwise_minimum([sum(phase.serialization + phase.latency for phase in path) for path in paths])


def _sum_by_dimension(path: Sequence[Phase], values: Sequence[Any]) -> dict[int, Any]:
    """The sums of what the phases of a path have, by dimension."""
    found: dict[int, Any] = {}
    for phase, value in zip(path, values, strict=True):
        found[phase.dimension] = found.get(phase.dimension, 0) + value
    return found


def elementwise_minimum(values: Sequence[Any]) -> Any:
    """The least of numbers, or of vectors element by element."""
    return min(values) if isinstance(values[0], int | float) else np.minimum.reduce(values)


def elementwise_maximum(values: Sequence[Any]) -> Any:
    """The most of numbers, or of vectors element by element."""
    return max(values) if isinstance(values[0], int | float) else np.maximum.reduce(values)


def routes(
    chunker: Chunker, placement: Placement, key: tuple[Any, ...], split: Chunks | None = None
) -> tuple[list[list[Phase]], list[int] | int]:
    """The paths that the chunks of one type of collective (given by `key`) may take; see `collective_time`.

    `split` is how it goes, where that is known already.
    """
    kind, group, size = key[:3]
    system = chunker.design.system
    if system.inter_dimension != "baseline" and kind in ORDERED_KINDS:
        paths = chunker.paths_in_every_order(kind, placement[group], size)
        return _without_other_stages(chunker.design, placement, group, paths), system.chunks
    if split is None and len(key) > 3:
        split = chunker.split_message(placement[group], key[3], size)
    counted = (split or chunker.split_collective(kind, placement[group], size)).count_paths()
    paths = _without_other_stages(chunker.design, placement, group, [path for path, _ in counted])
    return paths, [times for _, times in counted]


def _without_other_stages(
    design: Design, placement: Placement, group: str, paths: list[list[Phase]]
) -> list[list[Phase]]:
    """The paths as fast as engine `flow` may play them: a phase counts what all stages put on its links at once.

    Of a flat ring, and a shift over several dimensions, all of which matter, one alone is said to serve.
    """
    fewer = {where.dimension: stages_between(design, placement, where) for where in placement[group]}
    one_for_all = len(fewer) > 1 and any(phase.kind == "shift" or phase.kind.startswith(FLAT) for phase in paths[0])
    if set(fewer.values()) == {1} or one_for_all:
        return paths
    known = {id(phase): phase for path in paths for phase in path}
    faster = {
        its: phase._replace(serialization=phase.serialization // fewer.get(phase.dimension, 1))
        for its, phase in known.items()
    }
    return [[faster[id(phase)] for phase in path] for path in paths]


def collective_times(lowering: Lowering) -> list[CollectiveTime]:
    """What each type of collective of a design takes at least."""
    chunker = lowering.chunker
    rates = [chunker.rate(d) for d in chunker.design.cluster.dimensions]
    return [
        collective_time(*routes(chunker, lowering.placement, key, split), rates) for key, (_, split) in lowering.keyed()
    ]
