"""A folded Clos: leaf switches and spines, or three levels with cores, each level thinned by its oversubscription.

Each leaf has `leaf` ports of bandwidth B, one an NPU; a smaller dimension has one leaf that is not full. With an
oversubscription of k : 1 its uplinks carry leaf B / k together; they are ceil(leaf / k) links, one to each spine, so
that a link up is as fast as a port or a little slower. With `pod`, the NPUs of a pod, each pod has spines of its own,
whose uplinks lead to cores and are thinned by the second oversubscription (Al-Fares, Loukissas, Vahdat 2008: spine j of
every pod meets the j-th group of cores).

A way inside a leaf is one step, through spines two, through cores three. There are as many ways through spines as a
leaf has uplinks, and through cores as many again as a spine has. Adaptive routing uses all evenly, so that the uplinks
of a leaf, or of a pod, are one pool; other routings load each link by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np

from simcore.network.base import Misfit, Seen, ratios_of, seen_by_switches
from simcore.network.loads import Crossings, Pools, pools_of
from simcore.network.reduction import Level, Rung, SwitchTree
from simcore.network.sent import Ints
from simcore.network.shared import SharedBlock
from simcore.network.together import Rounds
from simcore.network.wiring import Link, Route, Shape, Slice


@dataclass(frozen=True)
class Clos(SharedBlock):
    """See the module."""

    pod: int = 0
    """NPUs of a pod; 0 where there are no cores."""
    thinned: tuple[float, ...] = (1.0,)
    """The oversubscription of each level's uplinks, leaves first; 1 of those not given."""

    short = "Clos"
    switched = True
    leaves = True
    reduces = True
    keys = ("pod",)
    routings = ("adaptive", "ecmp", "shortest")

    @classmethod
    def of(cls, leaf: int, oversubscription: float | tuple[float, ...], given: dict[str, Any]) -> Self:
        """See `Block.of`."""
        return cls(leaf, thinned=ratios_of(oversubscription), **given)

    @property
    def levels(self) -> float:
        """See `Block.levels`: each further one is thinned by the oversubscription below it."""
        ratios = (*self.thinned, 1.0)
        return 1.0 + 1.0 / ratios[0] + (1.0 / (ratios[0] * ratios[1]) if self.pod else 0.0)

    def misfits(self, size: int) -> Iterator[Misfit]:
        """See `Block.misfits`."""
        if self.pod and self.pod % self.leaf:
            yield Misfit("pod", f"pods of whole leaves of {self.leaf} NPUs", str(self.pod))
        if self.pod and size > self.pod and size % self.pod:
            whole = [pods * self.pod for pods in (size // self.pod, size // self.pod + 1)]
            fix = f"choose {' or '.join(f'{one:,}' for one in whole)} for the dimension, or another size of pods"
            yield Misfit("pod", f"whole pods in the dimension, which is {size:,} long", str(self.pod), fix)
        levels = 2 if self.pod else 1
        if len(self.thinned) > levels:
            expected = "one ratio, that of leaves" if levels == 1 else "two ratios, of leaves and of pods"
            found = ", ".join(f"{ratio:g}" for ratio in self.thinned)
            yield Misfit("oversubscription", expected, found, "add 'pod', the NPUs of a pod" if levels == 1 else "")

    def needs(self, part: Slice) -> str | None:
        """See `Block.needs`: members must be spread over leaves, and over pods, alike."""
        span = part.stride * part.members
        its = self.wires(part.size)
        for inside, what in ((its.leaf, "leaves"), (its.pod, "pods")):
            if not all(one % inside == 0 or inside % one == 0 for one in (part.stride, span)):
                return f"{what} that groups fill or divide"
        return None

    def shape(self, part: Slice) -> Shape:
        """See `Block.shape`."""
        return Shape("star", self.near(part, self.wires(part.size).leaf))

    def tree(self, part: Slice) -> SwitchTree:
        """See `Block.tree`: over all uplinks of a leaf, or of a pod, of which its groups have equal shares."""
        its, n = self.wires(part.size), part.members
        near, inside = self.near(part, self.leaf), self.near(part, its.pod)
        levels, meeting = [Level(1, 1.0, 1)], self.leaf // near
        if near < n:
            levels.append(Level(its.uplinks, its.rate * near / self.leaf, near))
            meeting = max(meeting, its.pod // inside)
        if inside < n:
            levels.append(Level(its.uplinks * its.cores, its.core_rate * inside / its.pod, inside))
            meeting = max(meeting, part.size // n)
        return SwitchTree(tuple(levels), meeting)

    def ladder(self, part: Slice, node: int) -> tuple[Rung, ...]:
        """See `Block.ladder`."""
        its, npu = self.wires(part.size), node * part.stride
        leaf, pod = npu // self.leaf, npu // its.pod
        up, down, above, below = its.bases
        uplinks, further = its.uplinks, its.uplinks * its.cores
        return (
            Rung((npu,), (its.size + npu,), leaf),
            Rung(_numbers(up + leaf * uplinks, uplinks), _numbers(down + leaf * uplinks, uplinks), pod),
            Rung(_numbers(above + pod * further, further), _numbers(below + pod * further, further), 0),
        )

    def seen_from(self, size: int, places: Sequence[int]) -> Seen:
        """See `Block.seen_from`: leaves, and pods, with its own NPUs alone, which have all uplinks to themselves."""
        leaf = seen_by_switches(self.leaf, places, "leaves")
        pod = seen_by_switches(self.pod, places, "pods") if self.pod else 0
        first = max(1.0, self.thinned[0] * leaf / self.leaf)
        keys: dict[str, Any] = {"leaf": leaf, "oversubscription": first, "pod": None}
        if pod and pod < len(places):
            above = self.pod / math.prod(self.thinned[:2])
            keys |= {"pod": pod, "oversubscription": (first, max(1.0, pod / first / above))}
        return Seen(keys)

    def near(self, part: Slice, inside: int) -> int:
        """Members of a group among `inside` NPUs that follow one another."""
        return max(1, min(part.members, inside // part.stride))

    def links(self, size: int) -> tuple[Link, ...]:
        """See `SharedBlock.links`; nodes above the NPUs are leaves, then spines (pod by pod), then cores."""
        return _links(self, size)

    def wires(self, size: int) -> Wires:
        """The numbers of switches and links of a dimension."""
        leaf, pods = min(self.leaf, size), max(1, size // self.pod) if self.pod else 1
        leaves, inside = size // leaf, size // pods // leaf
        ratios = (*self.thinned, 1.0)
        uplinks = math.ceil(leaf / ratios[0] - 1e-9) if leaves > 1 else 0
        rate = leaf / ratios[0] / uplinks if uplinks else 1.0
        above = inside * rate / ratios[1]
        cores = math.ceil(above - 1e-9) if pods > 1 else 0
        return Wires(size, leaf, inside, pods, uplinks, rate, cores, above / cores if cores else 1.0)

    def ways(self, size: int, source: int, target: int) -> Sequence[Route]:
        """See `SharedBlock.ways`: way w goes by spine w mod uplinks, and by that one's core w // uplinks."""
        return _Ways(self.wires(size), source, target)

    def pools(self, size: int) -> Pools:
        """See `Block.pools`: of sprayed packets, ports, then each leaf's links up, down to it, each pod's likewise."""
        its = self.wires(size)
        if not self.sprayed:
            return pools_of(self, size)
        counts = [(size, 1, 1.0), (size, 1, 1.0)]
        if its.uplinks:
            counts += 2 * [(its.leaves, its.uplinks, its.rate)]
        if its.cores:
            counts += 2 * [(its.pods, its.uplinks * its.cores, its.core_rate)]
        number = np.concatenate([np.full(count, links) for count, links, _ in counts])
        rate = np.concatenate([np.full(count, links * rate) for count, links, rate in counts])
        return Pools(rate, number, np.arange(len(number)) < 2 * size)

    def pool_of(self, size: int) -> Ints:
        """See `Block.pool_of`."""
        if not self.sprayed:
            return super().pool_of(size)
        return np.repeat(np.arange(len(self.pools(size).links)), self.pools(size).links)

    def pool_ends(self, size: int, pool: int) -> tuple[tuple[int, int], ...]:
        """See `Block.pool_ends`."""
        if not self.sprayed:
            return super().pool_ends(size, pool)
        links = self.links(size)
        return tuple((links[i].source, links[i].target) for i in self.wires(size).links_of_pool(pool))

    def crossed(self, size: int, source: Ints, target: Ints) -> Crossings:
        """See `Block.crossed`."""
        its, number = self.wires(size), np.arange(len(source))
        far, beyond = source // its.leaf != target // its.leaf, source // its.pod != target // its.pod
        hops = 1.0 + far + beyond
        if self.sprayed:
            ways: list[Ints | None] = [None]
            share = 1.0
        else:
            count = np.where(beyond, its.uplinks * its.cores, np.where(far, its.uplinks, 1))
            ways = [self.routed.pick(count, source, target, self.seed_of(c)) for c in range(self.connections)]
            share = 1 / self.connections
        message, pool = [number, number], [source, size + target]
        shares = [np.ones(2 * len(number))]
        for way in ways:
            for passes, links in its.inner(source, target, way, far, beyond):
                message.append(number[passes])
                pool.append(links)
                shares.append(np.full(len(links), share))
        return Crossings(np.concatenate(message), np.concatenate(pool), np.concatenate(shares), hops)

    def rounds(self, part: Slice, window: int) -> Rounds | None:
        """See `SharedBlock.rounds`: of sprayed packets, from how many leaves on each message goes.

        The k-th peer of every member lies `leaves` leaves on, round the group. Then all messages leave their leaf if
        that is not 0, and of a pod with m of a group's q m leaves, min(leaves, m, q m - leaves) of m do.
        """
        if not self.sprayed:
            return None
        n, its = part.members, self.wires(part.size)
        near, inside = self.near(part, its.leaf), self.near(part, its.pod)
        ahead, m, all_leaves = np.arange(n) // near, inside // near, n // near
        far = (ahead > 0).astype(float)
        beyond = np.minimum(np.minimum(ahead, all_leaves - ahead), m) / m if inside < n else np.zeros(n)
        ratios = (*self.thinned, 1.0)
        begins = np.arange(1, n, window or n - 1)
        parts = np.union1d(begins, np.array([near] if near < n else [], np.int64))  # near ones first
        sent = np.add.reduceat(np.ones(n), parts)
        leaving = np.add.reduceat(far, parts) * ratios[0]
        crossing = np.add.reduceat(beyond, parts) * ratios[0] * ratios[1]
        loads = np.maximum(sent, np.maximum(leaving, crossing))
        hops = 1.0 + np.maximum.reduceat(far, begins) + np.maximum.reduceat(beyond > 0, begins)
        return Rounds(float(loads.sum()), float(hops.sum()))


class Wires(NamedTuple):
    """What a Clos of some size consists of.

    Links are numbered: ports up, ports down, leaf to spine (by leaf), spine to leaf (by leaf), spine to core (by
    spine), core to spine (by spine).
    """

    size: int
    leaf: int
    inside: int
    """Leaves of a pod."""
    pods: int
    uplinks: int
    """Uplinks of a leaf, which are the spines of a pod."""
    rate: float
    """Rate of each of them."""
    cores: int
    """Uplinks of a spine; 0 where there is no further level."""
    core_rate: float

    @property
    def leaves(self) -> int:
        """All leaves."""
        return self.inside * self.pods

    @property
    def pod(self) -> int:
        """NPUs of a pod."""
        return self.inside * self.leaf

    @property
    def bases(self) -> tuple[int, int, int, int]:
        """The first link from leaves up, down to them, from spines up, and down to them."""
        up = 2 * self.size
        down = up + self.leaves * self.uplinks
        further = down + self.leaves * self.uplinks
        return up, down, further, further + self.pods * self.uplinks * self.cores

    def inner(self, source: Ints, target: Ints, way: Ints | None, far: Ints, beyond: Ints) -> list[tuple[Ints, Ints]]:
        """(Which messages pass such a link, its number) for links between switches; with no `way`, pools of links."""
        ends = (source, target)
        if way is None:
            up = 2 * self.size
            down, further = up + self.leaves, up + 2 * self.leaves
            bases = (up, down, further, further + self.pods)
            columns = [end // self.leaf for end in ends] + [end // self.pod for end in ends]
        else:
            bases, spine = self.bases, way % max(1, self.uplinks)
            columns = [end // self.leaf * self.uplinks + spine for end in ends]
            columns += [
                (end // self.pod * self.uplinks + spine) * self.cores + way // max(1, self.uplinks) for end in ends
            ]
        masks = (far, far, beyond, beyond)
        return [(mask, base + column[mask]) for mask, base, column in zip(masks, bases, columns, strict=True)]

    def route(self, source: int, target: int, way: int) -> Route:
        """The links from NPU to NPU by one of their ways."""
        inner = self.inner(
            np.array([source]),
            np.array([target]),
            np.array([way]),
            np.array([source // self.leaf != target // self.leaf]),
            np.array([source // self.pod != target // self.pod]),
        )
        up, down, further, back = (int(links[0]) if len(links) else None for _, links in inner)
        passed = (source, up, further, back, down, self.size + target)
        return tuple(link for link in passed if link is not None)

    def count_ways(self, source: int, target: int) -> int:
        """The ways between two NPUs."""
        if source // self.leaf == target // self.leaf:
            return 1
        return self.uplinks if source // self.pod == target // self.pod else self.uplinks * self.cores

    def links_of_pool(self, pool: int) -> range:
        """The links of a pool of sprayed packets."""
        place = pool - 2 * self.size
        if place < 0:
            return range(pool, pool + 1)
        if place < 2 * self.leaves:
            begin = 2 * self.size + place * self.uplinks
            return range(begin, begin + self.uplinks)
        links = self.uplinks * self.cores
        begin = self.bases[2] + (place - 2 * self.leaves) * links
        return range(begin, begin + links)


def _numbers(first: int, count: int) -> tuple[int, ...]:
    return tuple(range(first, first + count))


@dataclass(frozen=True)
class _Ways(Sequence[Route]):
    """The ways between two NPUs, each worked out when it is asked for."""

    its: Wires
    source: int
    target: int

    def __len__(self) -> int:
        return self.its.count_ways(self.source, self.target)

    def __getitem__(self, way: Any) -> Any:
        return self.its.route(self.source, self.target, range(len(self))[way])


@lru_cache(maxsize=8)
def _links(block: Clos, size: int) -> tuple[Link, ...]:
    its = block.wires(size)
    first, spines = size, size + its.leaves
    cores = spines + its.pods * its.uplinks
    up = [Link(i, first + i // its.leaf, 1.0, 0) for i in range(size)]
    further = [
        Link(first + leaf, spines + leaf // its.inside * its.uplinks + j, its.rate, 0)
        for leaf in range(its.leaves)
        for j in range(its.uplinks)
    ]
    above = [
        Link(spines + spine, cores + spine % its.uplinks * its.cores + c, its.core_rate, 0)
        for spine in range(its.pods * its.uplinks)
        for c in range(its.cores)
    ]
    return tuple(link for level in (up, further, above) for link in (*level, *map(_back, level)))


def _back(link: Link) -> Link:
    """The way down; latency counts there."""
    return Link(link.target, link.source, link.rate, 1)
