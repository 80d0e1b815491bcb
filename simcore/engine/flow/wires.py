"""The links of a dimension, and which of them messages pass: arrays over pools of links, worn ones among them.

Where nothing is worn, the block says both (`Block.pools`, `Block.crossed`). Where links have failed or carry less, each
is a pool of its own, and messages take the ways that are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from simcore.network import Block, Slice
from simcore.network.loads import Crossings, sum_up
from simcore.network.sent import Floats, Ints, Sent
from simcore.network.ways import Ways

Bools = NDArray[np.bool_]
WornItems = tuple[tuple[tuple[int, int], float], ...]
"""The items of a `simcore.network.ways.Worn`."""


@dataclass(frozen=True)
class Wires:
    """The links of a dimension of `size` NPUs, which all its groups share."""

    block: Block
    size: int
    worn: WornItems

    @cached_property
    def rate(self) -> Floats:
        """What each pool carries, as a factor on the injection bandwidth of an NPU; 0 of links that have failed."""
        if self.worn:
            return np.array([link.rate for link in self._ways.links])
        return self.block.pools(self.size).rate

    @cached_property
    def count(self) -> NDArray[np.int64]:
        """The links of each pool."""
        return np.ones(len(self.rate), np.int64) if self.worn else self.block.pools(self.size).links

    @cached_property
    def queued(self) -> Bools:
        """Whether the queue of an NPU counts each pool: as its port at a switch, or as its own share of others."""
        if not self.block.shares:
            return np.ones(len(self.rate), bool)
        if not self.worn:
            return self.block.pools(self.size).port
        at_npu = [min(link.source, link.target) < self.size for link in self._ways.links]
        return np.array(at_npu) & self.block.switched

    @cached_property
    def whole(self) -> Wires:
        """These links with nothing worn, each a pool of its own."""
        return wires_of(self.block, self.size, tuple((ends, 1.0) for ends, _ in self.worn))

    @cached_property
    def _ways(self) -> Ways:
        return Ways(self.block, Slice(self.size, self.size, 1), dict(self.worn))

    def ends(self, pool: int) -> tuple[tuple[int, int], ...]:
        """The nodes that the links of a pool lead from and to."""
        if not self.worn:
            return self.block.pool_ends(self.size, pool)
        link = self._ways.links[pool]
        return ((link.source, link.target),)

    def pools_of_links(self, links: NDArray[np.int64]) -> NDArray[np.int64]:
        """The pools of links that are given by number."""
        found: NDArray[np.int64] = links if self.worn else self._pools[links]
        return found

    @cached_property
    def _pools(self) -> NDArray[np.int64]:
        return self.block.pool_of(self.size)

    def working(self, links: Sequence[int]) -> NDArray[np.int64]:
        """The working ones of several links side by side; raises `InputError` where all have."""
        found: NDArray[np.int64] = np.array(links)
        if not self.worn:
            return found
        found = found[self.rate[found] > 0]
        if not len(found):
            first = self._ways.links[links[0]]
            self._ways.routes(first.source, first.target)  # raises: there is none
        return found

    def load(self, sent: Sent) -> Floats:
        """Bytes on each pool of messages between nodes, `[pools]`; raises `InputError` where links leave no way."""
        if self.worn:
            return self._worn_load(sent)
        crossed = self.block.crossed(self.size, sent.source, sent.target)
        return sum_up(crossed.pool, crossed.share * sent.share[crossed.message], len(self.rate))

    def most(self, sent: Sent) -> float:
        """The most bytes that one NPU's messages put on a link."""
        crossed = self._crossed(sent)
        return float(self._by_npu(sent, crossed)[0].max())

    def most_of_one(self, sent: Sent, at_once: float = 1.0) -> float:
        """The most bytes that one of an NPU's messages puts on a link: by each of those that are there at a time.

        Of links where others meet it, if its messages use any: what steps under one switch put on its port is no reason
        why messages get more, or less, of an uplink in the steps that cross it. An NPU has `at_once` messages on their
        way; where each takes a link of its own there is one on each.
        """
        crossed = self._crossed(sent)
        met = ~self.queued[crossed.pool]
        if met.any():
            its = {name: getattr(crossed, name)[met] for name in ("message", "pool", "share")}
            crossed = crossed._replace(**its)
        loads, pairs, number = self._by_npu(sent, crossed)
        busiest = int(loads.argmax())
        if at_once == 1.0:
            return float(loads[busiest])
        there = len(np.unique(crossed.message[number == busiest]))
        of_all = np.count_nonzero(sent.source == pairs[busiest] // len(self.rate))
        return float(loads[busiest]) / max(1.0, at_once * there / of_all)

    def _by_npu(self, sent: Sent, crossed: Crossings) -> tuple[Floats, Ints, Ints]:
        """Bytes of each NPU on each pool that it uses; NPU x pools + pool of each; which of them a crossing is."""
        pairs, number = np.unique(sent.source[crossed.message] * len(self.rate) + crossed.pool, return_inverse=True)
        number = number.reshape(-1)
        return sum_up(number, crossed.share * sent.share[crossed.message], len(pairs)), pairs, number

    def _crossed(self, sent: Sent) -> Crossings:
        if not self.worn:
            return self.block.crossed(self.size, sent.source, sent.target)
        rows = [
            (number, link, 1 / len(routes))
            for number, ends in enumerate(zip(sent.source.tolist(), sent.target.tolist(), strict=True))
            for routes in [self._ways.routes(*ends)]
            for route in routes
            for link in route
        ]
        message, pool, share = (np.array(column) for column in zip(*rows, strict=True))
        return Crossings(message, pool, share, np.zeros(len(sent.source)))

    def _worn_load(self, sent: Sent) -> Floats:
        loads = np.zeros(len(self.rate))
        pairs, number = np.unique(sent.source * self.size + sent.target, return_inverse=True)
        together = np.bincount(number.reshape(-1), sent.share, len(pairs))
        for pair, each in zip(pairs.tolist(), together.tolist(), strict=True):
            routes = self._ways.routes(*divmod(pair, self.size))
            for route in routes:
                loads[list(route)] += each / len(routes)
        return loads


@lru_cache(maxsize=64)
def wires_of(block: Block, size: int, worn: WornItems) -> Wires:
    """The links of a dimension."""
    return Wires(block, size, worn)
