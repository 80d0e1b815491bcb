"""Blocks of NPUs in a grid: tori and hypercubes. Messages take the shortest way, axis after axis.

Each NPU divides its bandwidth evenly among its links. Where two ways round an axis are as long, half of a message goes
each way. `dimension_ordered` begins with the first axis; `adaptive` spreads each message evenly over as many orders as
there are axes, each axis first once (of a hypercube, ways that meet nowhere in between: Saad, Schultz 1988); `ecmp`
draws one of those.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from simcore.network.cycles import both_ways, cycles
from simcore.network.decompose import decompose
from simcore.network.grid import Grid
from simcore.network.loads import Crossings, sum_up
from simcore.network.sent import Ints
from simcore.network.shared import SharedBlock
from simcore.network.together import Rounds
from simcore.network.wiring import Link, Route, Shape, Slice


@dataclass(frozen=True)
class Lattice(SharedBlock):
    """See the module."""

    routings = ("dimension_ordered", "adaptive", "ecmp")

    @abstractmethod
    def grid(self, size: int) -> Grid:
        """The grid of a dimension of `size` NPUs."""

    def shape(self, part: Slice) -> Shape:
        """See `Block.shape`: everyone reaches everyone; rings go round the part of the grid that a group takes."""
        return Shape("star", part.members, _cycles(self.grid(part.size), part))

    def links(self, size: int) -> tuple[Link, ...]:
        """See `SharedBlock.links`."""
        return _links(self.grid(size))

    def ways(self, size: int, source: int, target: int) -> Sequence[Route]:
        """See `SharedBlock.ways`: by one order of axes and another, all that are as short."""
        orders = range(self.grid(size).axes)
        return [route for first in orders for route in _routes(self.grid(size), source, target, first)]

    def chosen(self, size: int, source: int, target: int) -> tuple[Route, ...]:
        """See `SharedBlock.chosen`."""
        its = self.grid(size)
        orders = range(its.axes) if self.sprayed else self.picks(its.axes, source, target)
        return tuple(route for first in orders for route in _routes(its, source, target, first))

    def crossed(self, size: int, source: Ints, target: Ints) -> Crossings:
        """See `Block.crossed`."""
        its, number = self.grid(size), np.arange(len(source))
        if self.sprayed:
            turns = [np.full(len(source), first) for first in range(its.axes)]
        else:
            count = np.full(len(source), its.axes)
            turns = [self.routed.pick(count, source, target, self.seed_of(c)) for c in range(self.connections)]
        steps = [step for first in turns for step in its.walks(source, target, first)]
        message, link, share = (np.concatenate(column) for column in zip(*steps, strict=True))
        return Crossings(number[message], link, share / len(turns), its.hops(source, target))

    def rounds(self, part: Slice, window: int) -> Rounds | None:
        """See `SharedBlock.rounds`: of all NPUs at once, who are alike, what goes out of one of them.

        Where an axis is open, n / side lines along it carry what passes their middle: of a line of k, floor(k^2 / 4).
        """
        its = self.grid(part.size)
        if self.routed.drawn or part.members < its.size or (window and window < part.members - 1):
            return None
        if all(its.closed):
            others = np.arange(1, its.size)
            crossed = self.crossed(its.size, np.zeros_like(others), others)
            kind = np.searchsorted(its.numbers[:, :, -1].ravel(), crossed.pool)
            load = float(sum_up(kind, crossed.share, 2 * its.axes).max())
            return Rounds(load * its.degree, float(crossed.hops.max()))
        loads, hops = [], 0
        for side, closed in zip(its.sides, its.closed, strict=True):
            crossing = side**2 // 8 if closed and side % 2 else side**2 / 8 if closed else side**2 // 4
            loads.append(crossing * its.size / side)
            hops += side // 2 if closed else side - 1
        return Rounds(max(loads) * its.degree, float(hops))


@lru_cache(maxsize=64)
def _links(its: Grid) -> tuple[Link, ...]:
    ends = its.onward.reshape(-1, its.size)
    return tuple(
        Link(node, int(target), 1 / its.degree, 1) for row in ends for node, target in enumerate(row) if target >= 0
    )


@lru_cache(maxsize=1 << 16)
def _routes(its: Grid, source: int, target: int, first: int) -> tuple[Route, ...]:
    """All shortest ways with one order of axes."""
    routes: dict[tuple[int, ...], None] = {}
    one, other = np.array([source]), np.array([target])
    distance = its.distances(one, other)[:, :, 0]
    length = np.abs(distance).sum(axis=1)
    for way in distance[length == length.min()]:
        steps = its.walk(np.array([0]), one, way[:, None], np.array([1.0]), first)
        routes[tuple(int(step.link[0]) for step in steps if len(step.link))] = None
    return tuple(routes)


@lru_cache(maxsize=256)
def _cycles(its: Grid, part: Slice) -> tuple[tuple[int, ...], ...]:
    """The rings of a group; in the order of its members where it is no part of the grid with sides of its own."""
    if its.twisted and part.members == its.size and min(its.sides) > 2:
        return both_ways(decompose(its.onward[:, 0]))
    stride, left, sides, closed = part.stride, part.members, [], []
    for axis, side in enumerate(its.sides):
        step = min(stride, side)
        if side % step or (stride > side and stride % side):
            return ()
        stride //= step
        taken = min(left, side // step)
        if (side // step) % taken or (left > taken and left % taken):
            return ()
        left //= taken
        sides.append(taken)
        twisted = its.twisted and any(2 * side == other for other in its.sides)
        closed.append(its.closed[axis] and taken * step == side and not twisted)
    return cycles(tuple(sides), tuple(closed))
