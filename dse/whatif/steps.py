"""The designs of a space one step away from a given one: one parameter moved, all else as it was.

A number moves to the next one up and down, a name to every other; of degrees that multiply to a total one prime factor
moves from one to another; of a split budget one step of bandwidth moves from one dimension to another; a continuous
range moves by `NUDGE` of its length. Where another alternative opens holes that the design had not (another network),
they take what stands at the same path of the design, else the first of their values; degrees are the nearest to the
design's; a split of a budget keeps its proportions, and is even where the number of dimensions changes. Such a design
is one way to take the step, not the best one: everything that differs is told (`Neighbour.changes`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any, ClassVar

from dse.evaluate.recall import HoleDraw, indices_of, recall, shares_of
from dse.evaluate.record import TrialRecord
from dse.space.draw import PlacedDraw
from dse.space.hole import Product, Split, apportion, composition, composition_index, divisors, split_size
from dse.space.space import Space
from dse.space.split.solve import MOST_SIMULATIONS
from simcore.document.problem import InputError, Path, Refusal, format_path

NUDGE = 0.05
"""A small step, as a share of the length of a continuous range."""
MOST_ALTERNATIVES = 32
"""Most alternatives of a choice between names: the first ones."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A design one step away."""

    moved: tuple[str, ...]
    """Paths that were meant to change."""
    changes: Mapping[str, tuple[Any, Any]]
    """Path -> before and after, of every parameter that differs; None where a design has no such parameter."""
    document: Any
    params: Mapping[str, Any]
    """Path -> value of every parameter; of one that is there and null, too."""


@dataclass
class _MovedDraw(PlacedDraw):
    """Draws `drawn` again with one value changed; what opens follows `params`."""

    drawn: Mapping[str, HoleDraw]
    params: Mapping[str, Any]
    name: str
    value: float
    smooth: ClassVar[bool] = False
    _hole: Any = None
    _values: list[Any] = field(default_factory=list)

    def place(self, hole: Any, paths: tuple[Path, ...]) -> None:
        """See `PlacedDraw.place`."""
        self._hole, self._values = hole, [self.params.get(format_path(path)) for path in paths]

    def index(self, name: str, count: int, ordered: bool) -> int:
        """See `Draw.index`."""
        if name == self.name:
            return int(self.value)
        known = self.drawn.get(name)
        if known is not None and known.count == count:
            return int(known.value)
        if isinstance(self._hole, Split) and not self._hole.solve:
            return self._split(name)
        if isinstance(self._hole, Product):
            return _nearest(self._hole, self._values)
        found = indices_of(self._hole, self._values)
        return found[0] if found else 0

    def real(self, name: str, low: float, high: float, log: bool) -> float:
        """See `Draw.real`."""
        if name == self.name:
            return self.value
        known = self.drawn.get(name)
        return low if known is None else min(max(known.value, low), high)

    def _split(self, name: str) -> int:
        units, parts = split_size(name)
        before = next((d for d in self.drawn.values() if d.hole is self._hole and len(d.paths) == parts), None)
        weights = [1.0] * parts
        if before is not None:
            weights = [float(s) for s in shares_of(before.hole, [self.params[format_path(p)] for p in before.paths])]
        return composition_index(apportion(units, weights))


def _nearest(hole: Product, degrees: Sequence[Any]) -> int:
    """The factorisation nearest to other degrees, by the squares of their ratios' logarithms."""

    def far(other: tuple[int, ...]) -> float:
        return sum(math.log(new / old) ** 2 for new, old in zip(other, degrees, strict=True) if old)

    return min(range(hole.count), key=lambda index: far(hole.factorisations[index]))


@dataclass(frozen=True, slots=True)
class StepsAround:
    """A design and the steps from it that are to be filled."""

    space: Space
    trial: TrialRecord
    drawn: Mapping[str, HoleDraw]
    moves: tuple[tuple[str, float], ...]
    """Name of a hole, and what it draws instead."""
    solved: int
    """Splits that are solved to fill a design: each simulates too."""

    @property
    def simulations(self) -> int:
        """Most simulations that all steps take."""
        return len(self.moves) * (1 + MOST_SIMULATIONS * self.solved)

    def neighbours(self) -> Iterator[Neighbour]:
        """The designs one step away, in the order of the space's holes."""
        before = self.trial.params
        for name, value in self.moves:
            try:
                filled = self.space.fill(_MovedDraw(self.drawn, before, name, value))
            except (Refusal, InputError):
                continue  # a budget too small for the dimensions of another network, an expression without a value
            pairs = {path: (before.get(path), filled.params.get(path)) for path in {**before, **filled.params}}
            changes = {path: pair for path, pair in pairs.items() if pair[0] != pair[1]}
            moved = tuple(path for path in map(format_path, self.drawn[name].paths) if path in changes)
            if moved:
                yield Neighbour(moved, changes, filled.document, filled.params)


def steps_around(space: Space, trial: TrialRecord) -> StepsAround | None:
    """The steps from a trial; None where the space does not give its design."""
    source = recall(space, trial)
    if source is None:
        return None
    moves = tuple((name, value) for name, was in source.drawn.items() for value in _values(name, was))
    return StepsAround(space, trial, source.drawn, moves, source.solved)


def _values(name: str, was: HoleDraw) -> Iterator[float]:
    """What a hole may draw one step away."""
    here = int(was.value) if was.count else was.value
    if not was.count:
        yield from _nudge_value(was)
    elif isinstance(was.hole, Product):
        yield from _factors(was.hole, int(here))
    elif isinstance(was.hole, Split) and not was.hole.solve:
        yield from _shares(*split_size(name), int(here))
    elif was.ordered:
        yield from (value for value in (here - 1, here + 1) if 0 <= value < was.count)
    else:
        yield from (value for value in range(min(was.count, MOST_ALTERNATIVES)) if value != here)


def _nudge_value(was: HoleDraw) -> Iterator[float]:
    low, high, value = (math.log(x) if was.log else x for x in (was.low, was.high, was.value))
    for moved in (value - NUDGE * (high - low), value + NUDGE * (high - low)):
        kept = min(max(moved, low), high)
        if kept != value:
            yield min(max(math.exp(kept), was.low), was.high) if was.log else kept


def _factors(hole: Product, index: int) -> Iterator[int]:
    here = hole.factorisations[index]
    for other, degrees in enumerate(hole.factorisations):
        ratios = [(new, old) for new, old in zip(degrees, here, strict=True) if new != old]
        if len(ratios) == 2 and any(new % old == 0 and len(divisors(new // old)) == 2 for new, old in ratios):
            yield other


def _shares(units: int, parts: int, index: int) -> Iterator[int]:
    here = composition(units, parts, index)
    for give, take in permutations(range(parts), 2):
        if here[give] > 1:
            yield composition_index([s - (i == give) + (i == take) for i, s in enumerate(here)])
