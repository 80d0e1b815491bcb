"""The front of a running study as a picture of characters: what was tried, what is on the front, the best values."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dse.space.objective import Objective

if TYPE_CHECKING:
    from rich.console import RenderableType

WIDTH, HEIGHT = 60, 14
"""Characters of the picture; with its frame, its ends and the line of progress it fits 80 x 24."""
SHOWN = 2000
"""Trials that are shown, the latest."""
TRIED, BEST = "·", "●"
CROWD = 90.0
"""Percent of the tried that the picture shows: a few far ones would press all others into a corner."""

Matrix = NDArray[np.float64]


class LiveFront:
    """The first two objectives of the feasible trials; with one objective, its value by trial."""

    def __init__(self, objectives: tuple[Objective, ...]) -> None:
        self.objectives = objectives
        """With the units in which they are shown."""
        self._tried: deque[Matrix] = deque(maxlen=SHOWN)
        self._front = np.empty((0, len(objectives)))

    def add(self, losses: Matrix, front: Matrix) -> None:
        """One more feasible trial, by its losses, and the front `[members, objectives]` with it."""
        self._tried.append(losses)
        self._front = front

    def draw(self, line: RenderableType) -> RenderableType:
        """The picture above the line of progress."""
        from rich.console import Group
        from rich.text import Text

        if not self._tried:
            return line
        return Group(*(Text(row, no_wrap=True, overflow="crop") for row in self._picture()), line)

    def _picture(self) -> list[str]:
        points, best = self._points()
        ends = _ends(points, best)
        rows = scatter(points, best, ends)
        (low, bottom), (high, top) = ([self._label(axis, end[axis]) for axis in (0, 1)] for end in ends)
        name = self.objectives[0].name if len(self.objectives) > 1 else "trial"
        return [
            f"{self.objectives[:2][-1].name}  {BEST} front  {TRIED} other feasible trials",
            f"{top:>12} ┤{rows[0]}",
            *(f"{'':>12} │{row}" for row in rows[1:-1]),
            f"{bottom:>12} ┤{rows[-1]}",
            f"{'':>12} └{'─' * WIDTH}",
            f"{'':>14}{low}{name:^{max(0, WIDTH - len(low) - len(high))}}{high}",
            "best: " + " · ".join(self._best_values()),
        ]

    def _points(self) -> tuple[Matrix, Matrix]:
        """What was tried and what is best `[n, 2]`, in the directions of the objectives."""
        signs = np.array([objective.sign for objective in self.objectives])
        tried, front = np.array(list(self._tried)) * signs, self._front * signs
        if len(self.objectives) > 1:
            return tried[:, :2], front[:, :2]
        numbered = np.hstack([np.arange(1.0, len(tried) + 1)[:, None], tried])
        return numbered, numbered[tried[:, 0] == front[0, 0]]

    def _label(self, axis: int, value: float) -> str:
        """A value at an end of an axis; with one objective the first axis counts trials."""
        from dse.report.units import format_with_unit

        if len(self.objectives) == 1 and axis == 0:
            return f"{value:.0f}"
        unit = self.objectives[:2][-1 if axis else 0].unit
        return format_with_unit(float(value), unit)

    def _best_values(self) -> list[str]:
        from dse.report.units import format_with_unit

        best = self._front.min(axis=0)
        return [
            f"{objective.name} {format_with_unit(objective.sign * float(loss), objective.unit)}"
            for objective, loss in zip(self.objectives, best, strict=True)
        ]


def scatter(points: Matrix, front: Matrix, ends: Matrix) -> list[str]:
    """Rows of characters, the topmost first, of `points` and `front` `[n, 2]` between `ends` `[low/high, 2]`."""
    grid: list[list[str]] = [[" "] * WIDTH for _ in range(HEIGHT)]
    for marked, mark in ((points, TRIED), (front, BEST)):
        inside = marked[((marked >= ends[0]) & (marked <= ends[1])).all(axis=1)]
        for column, row in _cells(inside, ends):
            grid[HEIGHT - 1 - row][column] = mark
    return ["".join(row) for row in grid]


def _cells(points: Matrix, ends: Matrix) -> Any:
    size = np.array([WIDTH - 1, HEIGHT - 1])
    span = np.where(ends[1] > ends[0], ends[1] - ends[0], 1.0)
    return np.rint((points - ends[0]) / span * size).astype(int).tolist()


def _ends(points: Matrix, front: Matrix) -> Matrix:
    """What the picture shows: all of the front, and most of the others."""
    low, high = np.percentile(points, [100.0 - CROWD, CROWD], axis=0)
    return np.array([np.minimum(low, front.min(axis=0)), np.maximum(high, front.max(axis=0))])
