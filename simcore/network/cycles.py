"""Orders in which rings go round a grid of NPUs from neighbour to neighbour, if there are any.

Along one closed axis there is one, in either direction. On more axes one exists where a side is even: through the rows
back and forth, and home along the first column. Where all axes are closed, there are as many cycles as axes, which use
every link (`simcore.network.decompose`). With a side of 2, along which two links join each pair of places, two are
known, unless the other axes have an odd number of places. In larger grids than are searched, rows that begin one place
further down each time give a cycle whose links leave another one over, if the number of places in a row divides the
number of rows (Bae, Bose 2003): rings over both use every link of two axes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from simcore.network.decompose import decompose
from simcore.network.grid import grid

Order = tuple[int, ...]


@lru_cache(maxsize=256)
def cycles(sides: tuple[int, ...], closed: tuple[bool, ...]) -> tuple[Order, ...]:
    """Edge-disjoint cycles through all places of a grid, each once in either direction; none where none is known.

    Places are numbered along the first axis, then the second one, … .
    """
    kept = [(side, is_closed) for side, is_closed in zip(sides, closed, strict=True) if side > 1]
    found = _undirected(tuple(side for side, _ in kept), tuple(is_closed for _, is_closed in kept))
    return both_ways(found)


def both_ways(found: Sequence[Order]) -> tuple[Order, ...]:
    """Each cycle in either direction."""
    return tuple(order for cycle in found for order in (cycle, cycle[:1] + cycle[:0:-1]))


def _undirected(sides: tuple[int, ...], closed: tuple[bool, ...]) -> tuple[Order, ...]:
    if not sides or math.prod(sides) <= 2:
        return ()
    if len(sides) == 1:
        return (tuple(range(sides[0])),) if closed[0] else ()
    if all(closed):
        found = _of_closed(sides)
        if found:
            return found
    even = next((axis for axis, side in enumerate(sides) if side % 2 == 0), None)
    return () if even is None else (_comb(sides, even),)


def _of_closed(sides: tuple[int, ...]) -> tuple[Order, ...]:
    """Several cycles where all axes are closed; none where none are known."""
    closed = (True,) * len(sides)
    if min(sides) > 2:
        return decompose(grid(sides, closed).onward[:, 0]) or _both(sides, closed)
    return _zigzags(sides) or (decompose(grid(sides, closed).onward[:, 0]) if len(sides) > 2 else ())


def _comb(sides: tuple[int, ...], rows: int) -> Order:
    """Through the rows back and forth, and home along the first column; `rows` is an axis of an even side."""
    strides = [math.prod(sides[:axis]) for axis in range(len(sides))]
    across = _snake(
        [(side, stride) for axis, (side, stride) in enumerate(zip(sides, strides, strict=True)) if axis != rows]
    )
    step = strides[rows]
    order = [row * step + place for row in range(sides[rows]) for place in _turned(across[1:], row)]
    return (across[0], *order, *(row * step + across[0] for row in range(sides[rows] - 1, 0, -1)))


def _zigzags(sides: tuple[int, ...]) -> tuple[Order, ...]:
    """Two cycles through a closed grid with a side of 2, along which two links join each pair of places.

    Over a cycle through the other axes: across and onward in turns, and the same from the other side. None where the
    other axes have an odd number of places.
    """
    axis = sides.index(2)
    rest, stride = sides[:axis] + sides[axis + 1 :], math.prod(sides[:axis])
    along = range(2) if rest == (2,) else next(iter(_undirected(rest, (True,) * len(rest))), ())
    if len(along) % 2 or not along:
        return ()
    places = [place % stride + place // stride * 2 * stride for place in along]
    ways = [[place + stride * (number % 2 ^ side) for number, place in enumerate(places)] for side in range(2)]
    return tuple(
        tuple(step for here, there in zip(way, other, strict=True) for step in (here, there))
        for way, other in (ways, ways[::-1])
    )


def _snake(axes: Sequence[tuple[int, int]]) -> list[int]:
    """A way through all places, from neighbour to neighbour; axes are (side, stride)."""
    way = [0]
    for side, stride in axes:
        way = [place * stride + before for place in range(side) for before in _turned(way, place)]
    return way


def _turned(way: Sequence[int], number: int) -> Sequence[int]:
    return way[::-1] if number % 2 else way


def _both(sides: tuple[int, ...], closed: tuple[bool, ...]) -> tuple[Order, ...]:
    """Two cycles: over a cycle through all axes but one, as rows, and that one; none where the numbers do not fit."""
    last = min(range(len(sides)), key=lambda axis: (sides[axis], -axis))
    across, rest = sides[last], tuple(axis for axis in range(len(sides)) if axis != last)
    before = _undirected(tuple(sides[axis] for axis in rest), tuple(closed[axis] for axis in rest))
    if not before or len(before[0]) % across:
        return ()
    strides = [math.prod(sides[:axis]) for axis in range(len(sides))]
    stride, rows = strides[last], len(before[0])
    row_of = [_place(place, [(sides[axis], strides[axis]) for axis in rest]) for place in before[0]]
    first = [(row, (step - row) % across) for row in range(rows) for step in range(across)]
    second = _left_over(first, rows, across)
    both = (first, second) if second else (first,)
    return tuple(tuple(row_of[row] + place * stride for row, place in cycle) for cycle in both)


def _place(number: int, axes: Sequence[tuple[int, int]]) -> int:
    """Where a place of some axes, (side, stride) each, is among all."""
    found = 0
    for side, stride in axes:
        number, along = divmod(number, side)
        found += along * stride
    return found


def _left_over(cycle: Sequence[tuple[int, int]], rows: int, across: int) -> list[tuple[int, int]]:
    """The cycle of the links that another one leaves over; nothing where they are several."""
    used = {frozenset(pair) for pair in zip(cycle, (*cycle[1:], cycle[0]), strict=True)}
    way, before = [(0, 0)], (-1, -1)
    while True:
        row, place = way[-1]
        near = [
            ((row + 1) % rows, place),
            ((row - 1) % rows, place),
            (row, (place + 1) % across),
            (row, (place - 1) % across),
        ]
        free = [node for node in near if frozenset((way[-1], node)) not in used and node != before]
        before = way[-1]
        if free[0] == way[0] or (len(free) > 1 and free[1] == way[0] and len(way) > 1):
            return way if len(way) == len(cycle) else []
        way.append(free[0])
