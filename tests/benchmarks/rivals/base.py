"""What rivals share that are no samplers of Optuna: a space as a list of coordinates.

A space may branch: a hole that is not live takes no part in a design. So there is a coordinate for each name under
which a hole of any drawn design asks, and a design uses some of them. Degrees and shares are weights, as for Optuna's
samplers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dse.space.fill import FilledDocument
from dse.space.space import Space

LOOKED = 500
"""Random designs whose holes are the coordinates."""

Vector = NDArray[np.float64]


class UnsuitedError(Exception):
    """A space that a rival cannot search, and why."""


@dataclass(frozen=True)
class Axis:
    """A coordinate: a number of [0, 1], or one of `count` alternatives."""

    name: str
    count: int
    """0: a number."""
    ordered: bool

    @property
    def is_category(self) -> bool:
        """Whether it has alternatives without order, or only two."""
        return self.count > 0 and (not self.ordered or self.count == 2)


@dataclass
class _Notes:
    """Draws at random and notes which holes ask."""

    generator: np.random.Generator
    axes: dict[str, Axis] = field(default_factory=dict)
    smooth: bool = True

    def index(self, name: str, count: int, ordered: bool) -> int:
        """See `Draw.index`."""
        if count > 1 and (name not in self.axes or self.axes[name].count < count):
            self.axes[name] = Axis(name, count, ordered)
        return int(self.generator.integers(count))

    def real(self, name: str, low: float, high: float, log: bool) -> float:
        """See `Draw.real`."""
        self.axes.setdefault(name, Axis(name, 0, True))
        return float(self.generator.uniform(low, high))


@dataclass
class _Point:
    """Draws what a point of the unit cube says."""

    values: dict[str, float]
    smooth: bool = True

    def index(self, name: str, count: int, ordered: bool) -> int:
        """See `Draw.index`."""
        return min(int(self.values.get(name, 0.0) * count), count - 1)

    def real(self, name: str, low: float, high: float, log: bool) -> float:
        """See `Draw.real`."""
        share = self.values.get(name, 0.5)
        return low * math.exp(share * math.log(high / low)) if log else low + share * (high - low)


@dataclass(frozen=True)
class Cube:
    """A space as a unit cube."""

    space: Space
    axes: tuple[Axis, ...]

    @classmethod
    def of(cls, space: Space) -> Cube:
        """The coordinates that a space has in `LOOKED` random designs."""
        notes = _Notes(np.random.default_rng(0))
        for _ in range(LOOKED):
            space.fill(notes)
        return cls(space, tuple(notes.axes.values()))

    def fill(self, point: Sequence[float] | Vector) -> FilledDocument:
        """The design of a point `[axes]`."""
        values = {axis.name: float(value) for axis, value in zip(self.axes, point, strict=True)}
        return self.space.fill(_Point(values))

    def snap(self, points: Vector) -> Vector:
        """Points `[n, axes]`, each alternative in the middle of its part of the axis."""
        counts = np.array([axis.count for axis in self.axes])
        inside = np.clip(points, 0.0, 1.0 - 1e-9)
        known = np.maximum(counts, 1)
        snapped: Vector = np.where(counts > 0, (np.floor(inside * known) + 0.5) / known, inside)
        return snapped
