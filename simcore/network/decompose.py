"""The links of a closed grid as cycles through all NPUs that share none: as many as it has axes.

Connected grids of closed axes (Cayley graphs of abelian groups) have them (Alspach's conjecture, proven for four links
a node by Bermond, Favaron, Mahéo 1989, and for most others). Here they are found: the lines along an axis are cycles of
one colour. Where two links of one colour and two of another alternate round a square, the colours are exchanged if that
joins two cycles of either; then, at squares in the order of a fixed draw, if it leaves no more cycles than there are;
until each colour is one cycle.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

from simcore.network.sent import Ints

Order = tuple[int, ...]
_MOST = 1024
"""Largest grid that is tried."""
_TRIED = 4_000_000
"""NPUs whose cycles are looked at in the second part of the search, a second of it."""


def decompose(up: Ints) -> tuple[Order, ...]:
    """The cycles of a grid whose neighbours up each axis are `up[axis, npu]`; none where they are not found."""
    axes, size = up.shape
    if size > _MOST:
        return ()
    colours = _Colours(up.tolist())
    while not colours.done and sum(colours.exchange(square, both=True) for square in colours.squares()):
        pass
    draw = random.Random(0)
    for _ in range(_TRIED // size):
        if colours.done:
            break
        first, second = draw.sample(range(axes), 2)
        colours.exchange((draw.randrange(size), first, second), both=False)
    return tuple(colours.walk(colour, 0) for colour in range(axes)) if colours.done else ()


class _Colours:
    """The colour of each link, and which cycle of a colour each NPU is on."""

    def __init__(self, up: list[list[int]]) -> None:
        self.up, self.size = up, len(up[0])
        self.near: list[list[list[int]]] = [[[] for _ in range(self.size)] for _ in up]
        for axis, there in enumerate(up):
            for npu, other in enumerate(there):
                self.near[axis][npu].append(other)
                self.near[axis][other].append(npu)
        self.of = [[axis] * self.size for axis in range(len(up))]
        self.cycle: list[list[int]] = [[-1] * self.size for _ in up]
        self.counts = [0] * len(up)
        for colour in range(len(up)):
            self._label(colour)

    @property
    def done(self) -> bool:
        """Whether each colour is one cycle."""
        return self.counts == [1] * len(self.counts)

    def squares(self) -> Iterator[tuple[int, int, int]]:
        """An NPU and two axes."""
        return itertools.product(range(self.size), range(len(self.up)), range(len(self.up)))

    def exchange(self, square: tuple[int, int, int], both: bool) -> bool:
        """Exchange the colours round a square, if that joins cycles of both, or leaves no more cycles than before."""
        npu, first, second = square
        along, across = self.up[first][npu], self.up[second][npu]
        one, other = self.of[first][npu], self.of[second][npu]
        if one == other or (self.of[first][across], self.of[second][along]) != (one, other):
            return False
        joined = self.cycle[one][npu] != self.cycle[one][across], self.cycle[other][npu] != self.cycle[other][along]
        if both and not all(joined):
            return False
        before = sum(self.counts)
        self._turn(square)
        if sum(self.counts) <= before:
            return True
        self._turn(square)
        return False

    def walk(self, colour: int, begin: int) -> Order:
        """The cycle of a colour from an NPU on."""
        way, before, node = [begin], begin, self.near[colour][begin][0]
        while node != begin:
            way.append(node)
            a, b = self.near[colour][node]
            before, node = node, b if a == before else a
        return tuple(way)

    def _turn(self, square: tuple[int, int, int]) -> None:
        npu, first, second = square
        along, across = self.up[first][npu], self.up[second][npu]
        far = self.up[second][along]
        one, other = self.of[first][npu], self.of[second][npu]
        for colour, old, new in (
            (one, ((npu, along), (across, far)), ((npu, across), (along, far))),
            (other, ((npu, across), (along, far)), ((npu, along), (across, far))),
        ):
            for a, b in old:
                self.near[colour][a].remove(b)
                self.near[colour][b].remove(a)
            for a, b in new:
                self.near[colour][a].append(b)
                self.near[colour][b].append(a)
            self._label(colour)
        self.of[first][npu] = self.of[first][across] = other
        self.of[second][npu] = self.of[second][along] = one

    def _label(self, colour: int) -> None:
        labels, count = [-1] * self.size, 0
        for npu in range(self.size):
            if labels[npu] < 0:
                for node in self.walk(colour, npu):
                    labels[node] = count
                count += 1
        self.cycle[colour], self.counts[colour] = labels, count
