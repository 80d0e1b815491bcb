"""Finds the draws with which a space gives a recorded design again (the inverse of filling).

A journal keeps what every hole was given, by its path, but not what a sampler drew. `Recall` fills a space and answers
each hole with the index of the value that the journal has at its path. Two alternatives may look alike there (two
networks of one shape, with other tiers); then each is tried, and the one that gives the very design is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from dse.evaluate.record import TrialRecord
from dse.space.draw import PlacedDraw
from dse.space.hole import Choice, PowersOfTwo, Product, Range, Split, composition_index, magnitude
from dse.space.screen import ScreenedDesign
from dse.space.space import Space
from simcore.check.load import parse_design
from simcore.document.problem import Path, Refusal, format_path
from simcore.document.quantity import parse_quantity

MOST_TRIES = 32
"""Fillings that are tried where alternatives look alike."""


class UnknownError(Refusal):
    """A hole that the journal has no value of."""


@dataclass(frozen=True, slots=True)
class HoleDraw:
    """What one hole drew: an index below `count`, or a real number of [`low`, `high`] (then `count` is 0)."""

    hole: Any
    paths: tuple[Path, ...]
    value: float
    count: int
    ordered: bool = True
    low: float = 0.0
    high: float = 0.0
    log: bool = False


@dataclass
class Recall(PlacedDraw):
    """Draws what gives `params` (path -> value); `drawn` is what was drawn, by name."""

    params: Mapping[str, Any]
    given: Mapping[str, int] = field(default_factory=dict)
    """Which of several alternatives that look alike, by name."""
    drawn: dict[str, HoleDraw] = field(default_factory=dict)
    alike: dict[str, int] = field(default_factory=dict)
    """How many alternatives looked alike, by name, where more than one did."""
    solved: int = 0
    """Splits that were solved."""
    smooth: ClassVar[bool] = False
    _hole: Any = None
    _paths: tuple[Path, ...] = ()

    def place(self, hole: Any, paths: tuple[Path, ...]) -> None:
        """See `PlacedDraw.place`."""
        self._hole, self._paths = hole, paths
        self.solved += isinstance(hole, Split) and bool(hole.solve)

    def index(self, name: str, count: int, ordered: bool) -> int:
        """See `Draw.index`. Raises `UnknownError` where `params` has no value that the hole can take."""
        found = indices_of(self._hole, [self._value(path) for path in self._paths])
        if not found:
            paths = " ".join(map(format_path, self._paths))
            raise UnknownError(f"a value of the space at {paths}", "another", where=name)
        if len(found) > 1:
            self.alike[name] = len(found)
        value = found[self.given.get(name, 0) % len(found)]
        self.drawn[name] = HoleDraw(self._hole, self._paths, value, count, ordered)
        return value

    def real(self, name: str, low: float, high: float, log: bool) -> float:
        """See `Draw.real`."""
        number = magnitude(self._value(self._paths[0]))
        if number is None:
            raise UnknownError(f"a number at {format_path(self._paths[0])}", "none", where=name)
        self.drawn[name] = HoleDraw(self._hole, self._paths, number, 0, True, low, high, log)
        return number

    def _value(self, path: Path) -> Any:
        try:
            return self.params[format_path(path)]
        except KeyError:
            raise UnknownError(f"a value of {format_path(path)}", "none") from None


def indices_of(hole: Any, values: Sequence[Any]) -> list[int]:
    """The indices with which a hole gives `values`, one for each of its paths; none where it cannot."""
    first = values[0]
    if isinstance(hole, Choice):
        return [i for i, label in enumerate(hole.labels) if _is_same(label, first)]
    if isinstance(hole, PowersOfTwo):
        return [index for index in range(hole.count) if hole.low << index == first]
    if isinstance(hole, Range):
        number = magnitude(first)
        found = -1 if number is None or hole.step is None else round((number - hole.low) / hole.step)
        return [found] if hole.step is not None and 0 <= found < hole.steps else []
    if isinstance(hole, Product):
        return [hole.factorisations.index(tuple(values))] if tuple(values) in hole.factorisations else []
    assert isinstance(hole, Split)
    if hole.solve:
        return [hole.solve.index(first)] if first in hole.solve else []
    return [composition_index(shares_of(hole, values))]


def shares_of(split: Split, values: Sequence[Any]) -> list[int]:
    """Shares of a budget in whole steps."""
    return [round(parse_quantity(value, "bandwidth") / split.step) for value in values]


def _is_same(one: Any, other: Any) -> bool:
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def recall(space: Space, trial: TrialRecord) -> Recall | None:
    """What the holes of a space drew for a trial; None where the space does not give its design."""
    design = None if trial.design is None else parse_design(trial.design)[0]
    if design is None:
        return None
    waiting: list[dict[str, int]] = [{}]
    for _ in range(MOST_TRIES):
        if not waiting:
            return None
        source = Recall(trial.params, waiting.pop(0))
        try:
            filled = space.fill(source)
        except (ValueError, TypeError):
            continue  # the wrong one of what looks alike may have holes that the journal lacks
        found, _problems = parse_design(filled.document)
        if found is not None and ScreenedDesign(found, ()).key == design.key:
            return source
        unsettled = [name for name in source.alike if name not in source.given]
        waiting += [{**source.given, name: i} for name in unsettled[:1] for i in range(source.alike[name])]
    return None
