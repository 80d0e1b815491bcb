"""The two trees of a double binary tree over n members, and what they cost over given links.

Members are numbered in order: odd ones are inside the first tree and even ones its leaves. The second tree is the
first one shifted by one place (n odd) or mirrored (n even), so that who is inside one is a leaf of the other (Sanders,
Speck, Träff 2009). Depth floor(log2(n)).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from simcore.network.pattern import StepCost
from simcore.network.wiring import Link, Route


@lru_cache(maxsize=64)
def trees(members: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The parent of each member in either tree, -1 for the root."""
    parent = [-1] * members

    def grow(first: int, end: int, above: int) -> None:
        if first < end:
            root = first + (1 << ((end - first).bit_length() - 1)) - 1
            parent[root] = above
            grow(first, root, root)
            grow(root + 1, end, root)

    grow(0, members, -1)
    other = [-1] * members
    for member, above in enumerate(parent):
        if above >= 0:
            other[_map_member(member, members)] = _map_member(above, members)
    return tuple(parent), tuple(other)


def _map_member(member: int, members: int) -> int:
    return (member + 1) % members if members % 2 else members - 1 - member


def tree_cost(members: int, links: Sequence[Link], routes: Callable[[int, int], tuple[Route, ...]]) -> StepCost:
    """Each edge passes half of the buffer up and down; the busiest link, and the longest way up and down again."""
    load, hops = tree_loads(members, links, routes)
    return StepCost(max(load), hops)


def tree_loads(
    members: int, links: Sequence[Link], routes: Callable[[int, int], tuple[Route, ...]]
) -> tuple[list[float], float]:
    """What the edges of both trees load each link with, and the hops of the longest way up and down again."""
    load = [0.0] * len(links)
    hops = 0.0
    for parent in trees(members):
        climb = [0.0] * members
        for member in sorted(range(members), key=lambda member: _level_of(parent, member)):
            above = parent[member]
            if above < 0:
                continue
            ways = [*routes(member, above), *routes(above, member)]
            for way in ways:
                for link in way:
                    load[link] += 0.5 / links[link].rate / (len(ways) / 2)
            climb[member] = climb[above] + sum(links[link].hops for link in ways[0])
        hops = max(hops, 2 * max(climb))
    return load, hops


def shared_edges(members: int) -> int:
    """In how many of the two trees (1 or 2) the edge is that is in most of them."""
    first, second = ({frozenset((i, p)) for i, p in enumerate(parent) if p >= 0} for parent in trees(members))
    return 2 if first & second else 1


def _level_of(parent: Sequence[int], member: int) -> int:
    return 0 if parent[member] < 0 else 1 + _level_of(parent, parent[member])
