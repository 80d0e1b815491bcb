"""What a step costs where all groups of a dimension do the same at once, over links that they share.

The step takes as long as the busiest pool of links; its latency is that of the longest way. Among pools are the ports
of NPUs, so that nothing is faster than an NPU can send or receive.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, Protocol, assert_never

import numpy as np

from simcore.network.loads import Crossings, Pooled, sum_up
from simcore.network.pattern import Chain, Exchange, Listed, Pattern, Send, Shift, Spread, StepCost, Tree
from simcore.network.sent import Floats, Sent, chains, first_npus, join, messages_of, neighbours, peers
from simcore.network.tree import trees
from simcore.network.wiring import Slice


class Rounds(NamedTuple):
    """The rounds of a Spread, one after the other, each over when its slowest message has arrived."""

    load: float
    hops: float


class Together(Pooled, Protocol):
    """What groups share: a `SharedBlock`."""

    def rounds(self, part: Slice, window: int) -> Rounds | None:
        """See `simcore.network.shared.SharedBlock.rounds`."""


@lru_cache(maxsize=1024)
def cost_together(pattern: Pattern | Listed, block: Together, part: Slice) -> StepCost:
    """Cost of `pattern` for all groups on `part`; see `simcore.network.base.Block.step`."""
    n, shape, groups = part.members, block.shape(part), _Groups(block, part)
    match pattern:
        case Shift(steps):
            rings = list(neighbours(n, shape))
            load = groups.load(join(rings))
            hops = max(groups.longest_run(ring, steps) for ring in rings)
            return StepCost(steps * load, hops, ((1.0, 1 / len(rings)),))
        case Spread(window):
            return StepCost(*(block.rounds(part, window) or groups.rounds(window)))
        case Tree():
            return StepCost(groups.load(messages_of(pattern, n, shape)), max(map(groups.climb, trees(n))) * 2)
        case Chain(pieces):
            rings = list(chains(n, shape))
            alone, hops = groups.one_by_one(rings)
            load = float(alone.sum()) + (pieces - 1) * groups.load(join(rings))
            return StepCost(load, hops, ((1.0, 1 / len(rings)),))
        case Send():
            alone, _ = groups.one_by_one([messages_of(pattern, n, shape)])
            return StepCost(float(alone.max()), groups.hops(messages_of(pattern, n, shape)))
        case Exchange() | Listed():
            sent = messages_of(pattern, n, shape)
            return StepCost(groups.load(sent), groups.hops(sent))
        case _:
            assert_never(pattern)


class _Groups:
    """All groups on a part of a dimension."""

    def __init__(self, block: Together, part: Slice) -> None:
        self.block, self.part = block, part
        self.pools, self.firsts = block.pools(part.size), first_npus(part)

    def load(self, sent: Sent) -> float:
        """Load of the busiest pool, where all groups send at once."""
        return float((self._carried(sent) / self.pools.rate).max())

    def hops(self, sent: Sent) -> float:
        """Hops of the longest way."""
        return float(self._cross(sent)[1].hops.max())

    def longest_run(self, ring: Sent, steps: int) -> float:
        """The most hops of `steps` ways in a row around a ring."""
        hops = self._cross(ring)[1].hops.reshape(len(self.firsts), -1)
        total = np.cumsum(np.concatenate([np.zeros((len(hops), 1)), hops, hops[:, : steps - 1]], axis=1), axis=1)
        return float((total[:, steps:] - total[:, :-steps]).max())

    def one_by_one(self, rings: list[Sent]) -> tuple[Floats, float]:
        """The load of each place in the rings where it alone sends, in all groups, and the hops of all in a row."""
        loads = np.zeros(len(rings[0].source))
        keys, weights, hops = [], [], 0.0
        for ring in rings:
            together, crossed = self._cross(ring)
            place = crossed.message % len(ring.source)
            keys.append(place * len(self.pools.rate) + crossed.pool)
            weights.append(crossed.share * together.share[crossed.message] / ring.share[0])
            hops = max(hops, float(crossed.hops.reshape(len(self.firsts), -1).sum(axis=1).max()))
        found, position = np.unique(np.concatenate(keys), return_inverse=True)
        place, pool = np.divmod(found, len(self.pools.rate))
        carried = np.bincount(position, np.concatenate(weights)) / len(rings)
        np.maximum.at(loads, place, carried / self.pools.rate[pool])
        return loads, hops

    def rounds(self, window: int) -> Rounds:
        """The rounds of a Spread, counted message by message."""
        n, shape = self.part.members, self.block.shape(self.part)
        member, window = np.arange(n), window or n - 1
        load = hops = 0.0
        carried, longest = np.zeros(len(self.pools.rate)), 0.0
        for number, target in enumerate(peers(n, shape), 1):
            _, crossed = self._cross(Sent(member, target, np.ones(n)))
            carried += sum_up(crossed.pool, crossed.share, len(carried))
            longest = max(longest, float(crossed.hops.max()))
            over = number % window == 0 or number == n - 1
            if over or number == shape.leaf - 1:  # those near are sent first, while links to others idle
                load += float((carried / self.pools.rate).max())
                carried[:] = 0.0
            if over:
                hops, longest = hops + longest, 0.0
        return Rounds(load, hops)

    def climb(self, parents: tuple[int, ...]) -> float:
        """The hops of the longest way up a tree."""
        parent = np.array(parents)
        child = np.flatnonzero(parent >= 0)
        up = np.zeros((len(self.firsts), len(parent)))
        up[:, child] = self._cross(Sent(child, parent[child], np.ones(len(child))))[1].hops.reshape(len(up), -1)
        height = np.zeros_like(up)
        level = np.flatnonzero(parent < 0)
        while len(level):
            below = child[np.isin(parent[child], level)]
            height[:, below] = height[:, parent[below]] + up[:, below]
            level = below
        return float(height.max())

    def _carried(self, sent: Sent) -> Floats:
        together, crossed = self._cross(sent)
        weight = crossed.share * together.share[crossed.message]
        return sum_up(crossed.pool, weight, len(self.pools.rate))

    def _cross(self, sent: Sent) -> tuple[Sent, Crossings]:
        together = sent.of_groups(self.part, self.firsts)
        return together, self.block.crossed(self.part.size, together.source, together.target)
