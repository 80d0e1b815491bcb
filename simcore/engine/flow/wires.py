"""The links of a dimension, and which of them messages pass: arrays over pools of links, worn ones among them.

Where nothing is worn, the block says both (`Block.pools`, `Block.crossed`). Where links have failed or carry less, each
is a pool of its own, and messages take the ways that are left.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from simcore.network import Block, Slice
from simcore.network.loads import sum_up
from simcore.network.sent import Floats, Sent
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

    def load(self, sent: Sent) -> Floats:
        """Bytes on each pool of messages between nodes, `[pools]`; raises `InputError` where links leave no way."""
        if self.worn:
            return self._worn_load(sent)
        crossed = self.block.crossed(self.size, sent.source, sent.target)
        return sum_up(crossed.pool, crossed.share * sent.share[crossed.message], len(self.rate))

    def most(self, sent: Sent) -> float:
        """The most bytes that one NPU's messages put on a link."""
        if self.worn:
            by_npu = [sent.source == npu for npu in np.unique(sent.source)]
            return max(float(self._worn_load(Sent(*(column[its] for column in sent))).max()) for its in by_npu)
        crossed = self.block.crossed(self.size, sent.source, sent.target)
        pairs, number = np.unique(sent.source[crossed.message] * len(self.rate) + crossed.pool, return_inverse=True)
        return float(sum_up(number.reshape(-1), crossed.share * sent.share[crossed.message], len(pairs)).max())

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
