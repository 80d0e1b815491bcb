"""Themis: each chunk visits the dimensions by ascending load (Rashidi et al., ISCA 2022, arXiv 2110.04478).

Loads start at 0 for every collective. Where the loads differ by less than a threshold, the time of a reduce-scatter of
chunk/16 on the least loaded dimension, the chunk takes the natural order; else it visits the least loaded dimension
first (ties: lower dimension first), so that the dimension with most to do gets the smallest piece. Loads count
bytes / bandwidth only: counting latency as well costs up to 30 points of utilisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from simcore.policy.inter_dimension.base import ChunkOrders, InterDimension, Order

THRESHOLD = 1 / 16
"""Share of a chunk whose reduce-scatter is the least difference in load worth acting on."""


@dataclass(frozen=True)
class Themis(InterDimension):
    """Greedy balance of the load of dimensions, chunk by chunk."""

    lower_first: bool = True
    """Whether the lower one of equally loaded dimensions comes first; the paper leaves it open."""

    @property
    def merges_turn(self) -> bool:
        """See `InterDimension.merges_turn`."""
        return False

    def orders(self, sizes: Sequence[int], rates: Sequence[float], chunks: int) -> ChunkOrders:
        """See `InterDimension.orders`."""
        return _orders(tuple(sizes), tuple(rates), chunks, 1 if self.lower_first else -1)


@lru_cache(maxsize=4096)
def _orders(sizes: tuple[int, ...], rates: tuple[float, ...], chunks: int, ties: int) -> ChunkOrders:
    """Orders of chunks of 1 byte: loads and threshold grow alike with the chunk, so its size does not matter."""
    dimensions = range(len(sizes))
    if len(sizes) == 1:
        return ChunkOrders([(0,)], [0] * chunks)
    loads = [0.0] * len(sizes)
    index: dict[Order, int] = {}
    adds: list[list[tuple[int, float]]] = []
    chosen: list[int] = []
    natural, by_ties, load_of = tuple(dimensions), tuple(dimensions[::ties]), loads.__getitem__
    cost = [(n - 1) / n / rate for n, rate in zip(sizes, rates, strict=True)]
    for _ in range(chunks):
        if len(loads) > 2:
            order = tuple(sorted(by_ties, key=load_of))
        else:  # the same in fewer calls
            order = by_ties if loads[by_ties[0]] <= loads[by_ties[1]] else by_ties[::-1]
        low = loads[order[0]]
        if loads[order[-1]] - low < THRESHOLD * cost[loads.index(low)]:
            order = natural
        number = index.get(order)
        if number is None:
            number = index[order] = len(adds)
            adds.append(_added_loads(order, sizes, cost))
        for d, added in adds[number]:
            loads[d] += added
        chosen.append(number)
    return ChunkOrders(list(index), chosen)


def _added_loads(order: Order, sizes: tuple[int, ...], cost: Sequence[float]) -> list[tuple[int, float]]:
    """What a chunk in an order adds to each dimension: it shrinks on every one."""
    size, added = 1.0, []
    for d in order:
        added.append((d, size * cost[d]))
        size /= sizes[d]
    return added
