"""The links of a dimension, and which of them messages pass: arrays over links, worn ones among them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from simcore.network import Block, Slice
from simcore.network.ways import Ways

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
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
    def ways(self) -> Ways:
        """Which links messages pass."""
        return Ways(self.block, Slice(self.size, self.size, 1), dict(self.worn))

    @cached_property
    def rate(self) -> Floats:
        """What each link carries, as a factor on the injection bandwidth of an NPU; 0 of those that have failed."""
        return np.array([link.rate for link in self.ways.links])

    @cached_property
    def ends(self) -> Ints:
        """Source and target of each link, `[links, 2]`."""
        return np.array([(link.source, link.target) for link in self.ways.links], np.int64)

    @cached_property
    def counted(self) -> Bools:
        """Whether the queue of an NPU counts each link: as its port at a switch, or as its own share of others."""
        if not self.block.shares:
            return np.ones(len(self.rate), bool)
        at_npu: Bools = (self.ends < self.size).any(axis=1)
        return at_npu & self.block.switched

    @cached_property
    def whole(self) -> Wires:
        """These links with nothing worn."""
        return wires_of(self.block, self.size, ())

    def load(self, source: Ints, target: Ints, size: Floats) -> Floats:
        """Bytes on each link of messages of `size` between nodes `source` and `target`, `[links]`."""
        loads = np.zeros(len(self.rate))
        pairs, number = np.unique(source * self.size + target, return_inverse=True)
        together = np.bincount(number.reshape(-1), size, len(pairs))
        for pair, each in zip(pairs.tolist(), together.tolist(), strict=True):
            routes = self.ways.routes(*divmod(pair, self.size))
            for route in routes:
                loads[list(route)] += each / len(routes)
        return loads


@lru_cache(maxsize=64)
def wires_of(block: Block, size: int, worn: WornItems) -> Wires:
    """The links of a dimension."""
    return Wires(block, size, worn)
