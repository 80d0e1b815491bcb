"""Blocks whose ways are found on their links: the paths of fewest links, at most `MOST_WAYS` of them between two NPUs.

Paths are found in the order of the links. NPUs pass messages on as switches do.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from simcore.network.loads import whole_links
from simcore.network.shared import SharedBlock
from simcore.network.wiring import Route

MOST_WAYS = 64
"""Ways between two NPUs from which a routing chooses."""


@dataclass(frozen=True)
class PathsBlock(SharedBlock):
    """See the module."""

    routings = ("shortest", "ecmp", "adaptive")

    def ways(self, size: int, source: int, target: int) -> Sequence[Route]:
        """See `SharedBlock.ways`."""
        return _known_paths(self, size, source, target)


def reached(block: SharedBlock, size: int, target: int) -> dict[int, int]:
    """The nodes from which there is a way to a node, each with the links of the shortest one."""
    return _distances(block, size, target)


@lru_cache(maxsize=1 << 16)
def _known_paths(block: SharedBlock, size: int, source: int, target: int) -> tuple[Route, ...]:
    return tuple(itertools.islice(_paths(block, size, source, target), MOST_WAYS))


def _paths(block: SharedBlock, size: int, source: int, target: int) -> Iterator[Route]:
    if source == target:
        yield ()
        return
    left, links = _distances(block, size, target), whole_links(block, size)
    for number in _leaving(block, size).get(source, ()):
        after = links[number].target
        if left.get(after, -1) == left[source] - 1:
            yield from ((number, *path) for path in _paths(block, size, after, target))


@lru_cache(maxsize=4096)
def _distances(block: SharedBlock, size: int, target: int) -> dict[int, int]:
    links, found, edge = whole_links(block, size), {target: 0}, deque([target])
    while edge:
        node = edge.popleft()
        for number in _leaving(block, size).get(node, ()):  # links lead both ways
            after = links[number].target
            if after not in found:
                found[after] = found[node] + 1
                edge.append(after)
    return found


@lru_cache(maxsize=16)
def _leaving(block: SharedBlock, size: int) -> dict[int, list[int]]:
    """By node, the links out of it."""
    leaving: dict[int, list[int]] = {}
    for number, link in enumerate(whole_links(block, size)):
        leaving.setdefault(link.source, []).append(number)
    return leaving
