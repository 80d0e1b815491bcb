"""A dragonfly (Kim, Dally, Scott, Abts 2008): groups of routers; any two of a group are joined, and any two groups.

`leaf` NPUs under each router (p), `routers` of a group (a), `global_links` of each router (h). All links and ports
have bandwidth B. There are at most a h + 1 groups; with fewer, two groups are joined by a h // (g - 1) links, spread
over the routers as in the circulant arrangement (Hastings et al. 2015), so that all groups are alike. Balanced is
a = 2 p = 2 h.

A minimal way takes at most a local, a global and a local link. Adaptive routing spreads over the shortest of the
minimal ways. Valiant routing goes to an intermediate group first, evenly over all of them: it takes up to five links
and halves what uniform traffic gets, but where all of a group send to one other group, one link does not carry it all.
A router is one step, as a switch is, and each link between routers one more.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from simcore.network.base import Misfit
from simcore.network.loads import Crossings, sum_up
from simcore.network.sent import Ints
from simcore.network.shared import SharedBlock
from simcore.network.together import Rounds
from simcore.network.wiring import Link, Route, Shape, Slice


@dataclass(frozen=True)
class Dragonfly(SharedBlock):
    """See the module."""

    routers: int = 0
    global_links: int = 0

    short = "DF"
    switched = True
    leaves = True
    keys = ("routers", "global_links")
    routings = ("adaptive", "shortest", "ecmp", "valiant")

    @property
    def levels(self) -> float:
        """See `Block.levels`: beside its port, its share of half of a router's links, which end at another router."""
        return 1.0 + (self.routers - 1 + self.global_links) / 2 / self.leaf

    def misfits(self, size: int) -> Iterator[Misfit]:
        """See `Block.misfits`."""
        if not self.routers or not self.global_links:
            key = "global_links" if self.routers else "routers"
            yield Misfit(key, "routers of a group, and global links of a router", "nothing", f"add '{key}: 8'")
            return
        inside = self.leaf * self.routers
        if size % inside:
            expected = f"whole groups of {self.routers} routers with {self.leaf} NPUs each"
            yield Misfit("routers", expected, f"{size} NPUs, {size / inside:.3g} groups")
        elif size // inside > self.routers * self.global_links + 1:
            most = self.routers * self.global_links + 1
            yield Misfit("global_links", f"a link between any two of {size // inside} groups", f"links for {most}")

    def shape(self, part: Slice) -> Shape:
        """See `Block.shape`: near are those under one router."""
        near = self.leaf // part.stride if part.stride < self.leaf and self.leaf % part.stride == 0 else 1
        return Shape("star", near if part.members % near == 0 else part.members)

    def wires(self, size: int) -> Wires:
        """The numbers of routers and links."""
        groups = size // (self.leaf * self.routers)
        copies = self.routers * self.global_links // (groups - 1) if groups > 1 else 0
        return Wires(size, self.leaf, self.routers, self.global_links, groups, copies)

    def links(self, size: int) -> tuple[Link, ...]:
        """See `SharedBlock.links`: ports, local links by group, global links by group."""
        return _links(self.wires(size))

    def ways(self, size: int, source: int, target: int) -> Sequence[Route]:
        """See `SharedBlock.ways`."""
        its, one, other = self.wires(size), np.array([source]), np.array([target])
        found = its.detours(one, other) if self.routed.detours else its.minimal(one, other)
        return tuple(tuple(int(link[0]) for link in way.links if link[0] >= 0) for way in found if bool(way.taken[0]))

    def crossed(self, size: int, source: Ints, target: Ints) -> Crossings:
        """See `Block.crossed`."""
        its = self.wires(size)
        ways = list(its.detours(source, target) if self.routed.detours else its.minimal(source, target))
        count: Ints = np.sum([way.taken for way in ways], axis=0, dtype=np.int64)
        if self.sprayed:
            weights = [way.taken / count for way in ways]
        else:
            picks = [self.routed.pick(count, source, target, self.seed_of(c)) for c in range(self.connections)]
            rank = np.cumsum([way.taken for way in ways], axis=0) - 1
            weights = [
                way.taken * sum((pick == place).astype(float) for pick in picks) / len(picks)
                for way, place in zip(ways, rank, strict=True)
            ]
        number, hops = np.arange(len(source)), np.zeros(len(source))
        message, pool, share = [], [], []
        for way, weight in zip(ways, weights, strict=True):
            hops = np.maximum(hops, (weight > 0) * (1.0 + sum((link >= 0) for link in way.links[1:-1])))
            for link in way.links:
                on = (link >= 0) & (weight > 0)
                message.append(number[on])
                pool.append(link[on])
                share.append(weight[on])
        return Crossings(np.concatenate(message), np.concatenate(pool), np.concatenate(share), hops)

    def rounds(self, part: Slice, window: int) -> Rounds | None:
        """See `SharedBlock.rounds`: what the first group sends, of all NPUs at once, since groups are alike."""
        whole = part.members == part.size and not (0 < window < part.members - 1)
        if not whole or not self.sprayed or self.routed.detours:
            return None
        its, hops = self.wires(part.size), 0.0
        totals = np.zeros(its.routers * (its.routers - 1) + its.ports)
        for router in range(its.routers):
            targets = np.setdiff1d(np.arange(part.size), np.arange(router * its.leaf, (router + 1) * its.leaf))
            crossed = self.crossed(part.size, np.full(len(targets), router * its.leaf), targets)
            inner = crossed.pool >= 2 * part.size
            kind = its.kind(crossed.pool[inner])
            totals += its.leaf * sum_up(kind, crossed.share[inner], len(totals))
            hops = max(hops, float(crossed.hops.max()))
        return Rounds(its.leaf - 1 + max(float(totals.max()), float(part.size - its.leaf)), hops)


class Way(NamedTuple):
    """A way of each of many messages."""

    taken: Ints
    """Whether it is one from which the routing chooses."""
    links: tuple[Ints, ...]
    """Its links in order, -1 where the message needs none there."""


class Wires(NamedTuple):
    """What a dragonfly of some size consists of."""

    size: int
    leaf: int
    routers: int
    global_links: int
    groups: int
    copies: int
    """Links between two groups."""

    @property
    def ports(self) -> int:
        """Links from one group to others."""
        return self.copies * (self.groups - 1)

    def minimal(self, source: Ints, target: Ints) -> list[Way]:
        """The ways by each of the links between two groups; those are taken that are as short as any."""
        begin, end = source // self.leaf, target // self.leaf
        same = begin // self.routers == end // self.routers
        ways = []
        for copy in range(max(1, self.copies)):
            local = np.where(same, self._local(begin, end), -1)
            links: tuple[Ints, ...] = (local,)
            if self.groups > 1:
                to = np.where(same, end // self.routers + 1, end // self.routers) % self.groups
                leaving, *onward = self._between(begin, to, end, copy)
                links = (np.where(same, local, leaving), *(np.where(same, -1, link) for link in onward))
            ways.append((np.where(same, copy == 0, True), links))
        count = [np.where(taken, sum(link >= 0 for link in links), 9) for taken, links in ways]
        least = np.min(count, axis=0)
        return [
            Way(taken & (length == least), (source, *links, self.size + target))
            for (taken, links), length in zip(ways, count, strict=True)
        ]

    def detours(self, source: Ints, target: Ints) -> list[Way]:
        """By each of the other groups, by the first link to it and from it; inside a group, the minimal way."""
        begin, end = source // self.leaf, target // self.leaf
        here, there = begin // self.routers, end // self.routers
        ways = [
            Way(way.taken & ((here == there) | (self.groups < 3)), way.links) for way in self.minimal(source, target)
        ]
        if self.groups < 3:
            return ways
        for ahead, copy in itertools.product(range(1, self.groups), range(self.copies)):
            middle = (here + ahead) % self.groups
            taken = (here != there) & (middle != there)
            to = np.where(taken, middle, (here + 1) % self.groups)
            first = self._to_group(begin, to, copy)
            entered = self._router(to, here, copy)
            out = np.where(taken, there, (to + 1) % self.groups)
            second = self._between(entered, out, end, copy)
            ways.append(Way(taken, (source, *first, *second, self.size + target)))
        return ways

    def kind(self, link: Ints) -> Ints:
        """Which of a group's links between routers a link is, the same in all groups."""
        local = self.routers * (self.routers - 1)
        first = 2 * self.size
        above = first + self.groups * local
        return np.where(link < above, (link - first) % max(1, local), local + (link - above) % max(1, self.ports))

    def _local(self, begin: Ints, end: Ints) -> Ints:
        """The link between two routers of a group."""
        group, a, b = begin // self.routers, begin % self.routers, end % self.routers
        place = group * self.routers * (self.routers - 1) + a * (self.routers - 1) + b - (b > a)
        return np.where(a == b, -1, 2 * self.size + place)

    def _port(self, group: Ints, to: Ints, copy: int) -> Ints:
        """Which of a group's global ports is joined to another group."""
        return ((to - group) % self.groups - 1) * self.copies + copy

    def _global(self, group: Ints, to: Ints, copy: int) -> Ints:
        base = 2 * self.size + self.groups * self.routers * (self.routers - 1)
        return base + group * self.ports + self._port(group, to, copy)

    def _router(self, group: Ints, to: Ints, copy: int) -> Ints:
        """The router of a group that has the link to another one."""
        return group * self.routers + self._port(group, to, copy) // self.global_links

    def _to_group(self, begin: Ints, to: Ints, copy: int) -> tuple[Ints, Ints]:
        """Local and global link from a router to another group."""
        here = begin // self.routers
        return self._local(begin, self._router(here, to, copy)), self._global(here, to, copy)

    def _between(self, begin: Ints, to: Ints, end: Ints, copy: int) -> tuple[Ints, Ints, Ints]:
        """Local, global and local link from a router to one of another group, `to`."""
        leaving, across = self._to_group(begin, to, copy)
        return leaving, across, self._local(self._router(to, begin // self.routers, copy), end)


@lru_cache(maxsize=8)
def _links(its: Wires) -> tuple[Link, ...]:
    first = its.size
    up = [Link(i, first + i // its.leaf, 1.0, 0) for i in range(its.size)]
    down = [Link(link.target, link.source, 1.0, 1) for link in up]
    local = [
        Link(first + group * its.routers + a, first + group * its.routers + b, 1.0, 1)
        for group in range(its.groups)
        for a in range(its.routers)
        for b in range(its.routers)
        if a != b
    ]
    far = []
    for group in range(its.groups):
        for port in range(its.ports):
            ahead, copy = divmod(port, its.copies)
            to, back = (group + ahead + 1) % its.groups, (its.groups - ahead - 2) * its.copies + copy
            ends = group * its.routers + port // its.global_links, to * its.routers + back // its.global_links
            far.append(Link(first + ends[0], first + ends[1], 1.0, 1))
    return (*up, *down, *local, *far)
