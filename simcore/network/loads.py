"""What messages put on the links of a dimension, as arrays: one entry a message, a link, or a message on a link.

Links that any messages load alike are one *pool*, so that large fabrics have few.
"""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from simcore.network.pattern import Listed, Pattern
from simcore.network.sent import Floats, Ints, first_npus, messages_of
from simcore.network.wiring import Link, Slice, Wired


class Pools(NamedTuple):
    """The pools of a dimension, one entry each."""

    rate: Floats
    """Bandwidth of a pool together, as a factor on the injection bandwidth B of an NPU."""
    links: Ints
    """How many links it is."""
    port: NDArray[np.bool_]
    """Whether it is the port of an NPU at a switch, which the NPU's own queue serves."""


class Crossings(NamedTuple):
    """Messages on pools: one entry for each pool that a message passes, and the hops of each message."""

    message: Ints
    """Its number."""
    pool: Ints
    share: Floats
    """The share of the message that passes the pool."""
    hops: Floats
    """`[messages]`: the latency of its longest way, in steps."""


class Pooled(Wired, Protocol):
    """What has links in pools: a topology block."""

    switched: ClassVar[bool]

    def __hash__(self) -> int: ...

    def pools(self, size: int) -> Pools:
        """See `simcore.network.base.Block.pools`."""

    def crossed(self, size: int, source: Ints, target: Ints) -> Crossings:
        """See `simcore.network.base.Block.crossed`."""


@lru_cache(maxsize=16)
def whole_links(block: Wired, size: int) -> tuple[Link, ...]:
    """All links of a dimension."""
    return block.wiring(Slice(size, size, 1))


@lru_cache(maxsize=64)
def pools_of(block: Pooled, size: int) -> Pools:
    """The links of a dimension, each a pool of its own."""
    links = whole_links(block, size)
    ends = np.array([[link.source, link.target] for link in links])
    port = np.any(ends < size, axis=1) if block.switched else np.zeros(len(ends), np.bool_)
    return Pools(np.array([link.rate for link in links]), np.ones(len(links), np.int64), port)


def crossings_of(block: Pooled, size: int, source: Ints, target: Ints) -> Crossings:
    """What messages pass by `Wired.routes`, looked up once for each two NPUs."""
    known = _known_ways(block, size)
    rows = []
    for number, ends in enumerate(zip(source.tolist(), target.tolist(), strict=True)):
        if ends not in known:
            known[ends] = _way(block, size, *ends)
        rows.append((number, *known[ends]))
    if len(known) > _MOST_WAYS:
        known.clear()
    message = np.concatenate([np.full(len(pool), number) for number, pool, _, _ in rows])
    pool, share = (np.concatenate([row[column] for row in rows]) for column in (1, 2))
    return Crossings(message, pool, share, np.array([row[3] for row in rows]))


_Way = tuple[Ints, Floats, float]
"""The links between two NPUs, the share of a message on each, and the hops of the longest way."""


_MOST_WAYS = 1 << 16
"""Pairs of NPUs whose ways are kept, of each of the latest dimensions: tens of megabytes."""


@lru_cache(maxsize=16)
def _known_ways(block: Pooled, size: int) -> dict[tuple[int, int], _Way]:
    return {}


def _way(block: Pooled, size: int, source: int, target: int) -> _Way:
    links, routes = whole_links(block, size), block.routes(Slice(size, size, 1), source, target)
    passed = np.array([link for route in routes for link in route])
    return passed, np.full(len(passed), 1 / len(routes)), max(sum(links[i].hops for i in route) for route in routes)


def loads_of(block: Pooled, pattern: Pattern | Listed, part: Slice) -> Floats:
    """Bytes that each pool carries where all groups do a step at once, per byte of one message, `[pools]`."""
    sent = messages_of(pattern, part.members, block.shape(part))
    together = sent.of_groups(part, first_npus(part))
    crossed = block.crossed(part.size, together.source, together.target)
    weight = crossed.share * together.share[crossed.message]
    return sum_up(crossed.pool, weight, len(block.pools(part.size).rate))


def sum_up(place: Ints, weight: Floats, places: int) -> Floats:
    """The weights at each of `places` places."""
    return np.bincount(place, weight, places).astype(np.float64, copy=False)
