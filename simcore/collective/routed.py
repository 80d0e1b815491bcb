"""Tokens on their way to experts and back: how many copies of each cross each dimension of the network.

Of E experts, spread evenly over the NPUs of a group, a token takes k, any of them as likely. Cut the experts into N
equal shares: it has business with N (1 - C(E - E/N, k) / C(E, k)) of them on average. Where copies for several experts
of one share cross together and are copied behind (hierarchical all-to-alls; DeepEP, DeepSeek-AI 2024, arXiv 2412.19437,
section 3.2.2), that many copies of a token cross the dimension that connects the shares, its own one among them. A
router may keep to the experts of the best M of G groups (same paper, section 2.1.2, at most M nodes); then the number
is the average over all choices of M groups.

On the way out (`dispatch`) a token passes the outermost dimension first, on the way back (`combine`) its results are
summed up where they meet, innermost first. The buffer of such a collective is one copy of each token.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb
from typing import Literal, NamedTuple

Way = Literal["dispatch", "combine"]
_WAYS: tuple[Way, Way] = ("dispatch", "combine")


class Routing(NamedTuple):
    """Which experts a token takes: any `top_k` of `experts`, of the best `top_groups` of `groups` equal groups."""

    experts: int
    top_k: int
    groups: int = 1
    top_groups: int = 1

    def kind(self, way: Way) -> str:
        """The kind of a collective that brings tokens to their experts, or back."""
        return f"{way}[{','.join(map(str, self))}]"

    def copies(self, shares: int) -> float:
        """Of `shares` equal shares of the experts, the number that a token has business with, on average."""
        return _copies(self, shares)


@lru_cache(maxsize=4096)
def _copies(routing: Routing, shares: int) -> float:
    experts, top_k, groups, top_groups = routing
    size, open_to = experts // groups, experts // groups * top_groups
    chosen, found = comb(groups, top_groups), 0.0
    for share in range(shares):
        first, end = experts * share // shares, experts * (share + 1) // shares
        missed = 0.0
        for inside, ways in _seen(first, end, size, groups, top_groups).items():
            missed += ways / chosen * comb(open_to - inside, top_k) / comb(open_to, top_k)
        found += 1.0 - missed
    return found


def _seen(first: int, end: int, size: int, groups: int, top_groups: int) -> dict[int, int]:
    """How many experts of [first, end) are in the chosen groups: in so many of all ways to choose them."""
    ways = {(0, 0): 1}  # (groups chosen so far, experts of the share in them)
    for group in range(groups):
        inside = max(0, min(end, (group + 1) * size) - max(first, group * size))
        longer = dict(ways)
        for (chosen, seen), count in ways.items():
            if chosen < top_groups:
                key = (chosen + 1, seen + inside)
                longer[key] = longer.get(key, 0) + count
        ways = longer
    return {seen: count for (chosen, seen), count in ways.items() if chosen == top_groups}


@lru_cache(maxsize=1024)
def routing_of(kind: str) -> tuple[Way, Routing] | None:
    """The way and the routing that a kind names; None of other kinds."""
    name, _, rest = kind.partition("[")
    for way in _WAYS:
        if name == way:
            return way, Routing(*map(int, rest.rstrip("]").split(",")))
    return None
