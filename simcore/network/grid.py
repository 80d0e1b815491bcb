"""A grid of NPUs along axes, some of them closed, some of them twisted: who is whose neighbour, and which way is short.

NPU i has the place i mod side along the first axis, and so on. A closed axis leads from its last place back to the
first one. *Twisted*: an axis of side k that closes does so k places further along every axis of side 2k (Camarero,
Martínez, Beivide 2010; TPU v4, Jouppi et al. 2023, section 2.8), so that all axes are alike.
"""

from __future__ import annotations

import itertools
import math
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.network.sent import Floats, Ints


class Step(NamedTuple):
    """The messages that pass a link, among many."""

    message: Ints
    link: Ints
    share: Floats


class Grid:
    """See the module; link 0, 1, … lead out of NPU 0, 1, … along the first axis upwards, then downwards, and so on."""

    def __init__(self, sides: tuple[int, ...], closed: tuple[bool, ...], twisted: bool = False) -> None:
        self.sides, self.closed, self.twisted = sides, closed, twisted
        self.size, self.axes = math.prod(sides), len(sides)
        self.strides = [math.prod(sides[:axis]) for axis in range(self.axes)]

    @property
    def degree(self) -> int:
        """Most links of an NPU; along a side of 2 that is closed there are two."""
        return sum(1 if side == 2 and not closed else 2 for side, closed in zip(self.sides, self.closed, strict=True))

    @cached_property
    def places(self) -> Ints:
        """`[axes, NPUs]`."""
        npus = np.arange(self.size)
        return np.array([npus // stride % side for stride, side in zip(self.strides, self.sides, strict=True)])

    @cached_property
    def onward(self) -> Ints:
        """`[axes, 2, NPUs]`: the neighbour up and down each axis; -1 where there is none."""
        out = np.empty((self.axes, 2, self.size), np.int64)
        for axis, way in itertools.product(range(self.axes), (0, 1)):
            moved = self.places.copy()
            moved[axis] += 1 - 2 * way
            crossed = (moved[axis] < 0) | (moved[axis] >= self.sides[axis])
            for shifted, by in self._shifts(axis):
                moved[shifted] += crossed * by
            found = sum(moved[a] % self.sides[a] * self.strides[a] for a in range(self.axes))
            out[axis, way] = np.where(crossed & (not self.closed[axis]), -1, found)
        return out

    @cached_property
    def numbers(self) -> Ints:
        """`[axes, 2, NPUs]`: the number of the link there; -1 where there is none."""
        there = self.onward.ravel() >= 0
        return np.where(there, np.cumsum(there) - 1, -1).reshape(self.onward.shape)

    def walks(self, source: Ints, target: Ints, first: Ints) -> list[Step]:
        """The links of shortest ways, from axis `first` on; where several are as long, evenly by each."""
        steps = []
        distance = self.distances(source, target)
        length = np.abs(distance).sum(axis=1)
        shortest = length.min(axis=0)
        share = 1 / (length == shortest).sum(axis=0)
        for turn, candidate in itertools.product(range(self.axes), range(len(distance))):
            chosen = np.flatnonzero((length[candidate] == shortest) & (first == turn))
            if len(chosen):
                steps += self.walk(chosen, source[chosen], distance[candidate][:, chosen], share[chosen], turn)
        return steps

    def hops(self, source: Ints, target: Ints) -> Floats:
        """The links of a shortest way."""
        hops: Floats = np.abs(self.distances(source, target)).sum(axis=1).min(axis=0).astype(np.float64)
        return hops

    def walk(self, message: Ints, node: Ints, distance: Ints, share: Floats, turn: int) -> list[Step]:
        """Along one axis after the other."""
        steps, node = [], node.copy()
        for axis in (*range(turn, self.axes), *range(turn)):
            way, left = (distance[axis] < 0).astype(np.int64), np.abs(distance[axis])
            for taken in range(int(left.max())):
                on = np.flatnonzero(left > taken)
                steps.append(Step(message[on], self.numbers[axis, way[on], node[on]], share[on]))
                node[on] = self.onward[axis, way[on], node[on]]
        return steps

    def distances(self, source: Ints, target: Ints) -> Ints:
        """`[candidates, axes, messages]`: what may be the shortest way, in places along each axis."""
        apart = self.places[:, target] - self.places[:, source]
        out: Ints = apart[None] + self._turns[:, :, None]
        return out

    @cached_property
    def _turns(self) -> NDArray[np.int64]:
        """`[candidates, axes]`: ways that lead back to where they begin."""
        reach = [range(-2, 3) if self.twisted else range(-1, 2) if closed else range(1) for closed in self.closed]
        turns = []
        for counts in itertools.product(*reach):
            turn = [count * side for count, side in zip(counts, self.sides, strict=True)]
            for axis, count in enumerate(counts):
                for shifted, by in self._shifts(axis):
                    turn[shifted] += count * by
            turns.append(turn)
        return np.array(turns, np.int64).reshape(-1, self.axes)

    def _shifts(self, axis: int) -> list[tuple[int, int]]:
        """Along which axes, and by how much, closing an axis leads elsewhere."""
        if not self.twisted:
            return []
        side = self.sides[axis]
        return [(other, side) for other in range(self.axes) if self.sides[other] == 2 * side]


@lru_cache(maxsize=32)
def grid(sides: tuple[int, ...], closed: tuple[bool, ...], twisted: bool = False) -> Grid:
    """The grid of these sides, made once."""
    return Grid(sides, closed, twisted)
