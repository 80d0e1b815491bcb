"""Rows of studies: what we get for each, beside what was published."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path as FilePath
from typing import Any, Literal

from dse.reproduce.lookup import evaluate
from dse.reproduce.measures import MEASURES
from dse.reproduce.measures.base import Case, Numbers, measure_of
from dse.reproduce.part import Part, Place
from dse.reproduce.published import Row
from dse.reproduce.remember import Remembered
from dse.reproduce.study import Study
from simcore.document.problem import InputError, Path, Problem, Refusal, format_path

Verdict = Literal["exact", "reproduced", "fitted", "differs", "known to differ", "no longer differs", "ours"]
_EXACT = 1e-9
_Spot = tuple[int, tuple[str, ...]]
"""A part, and a place on all its axes."""


@dataclass(frozen=True, slots=True)
class Value:
    """What a part comes to at a place."""

    number: float | None
    """None where nothing that may be chosen there meets the condition."""
    chosen: Place = field(default_factory=dict)
    """What was chosen on the axes that a row does not name."""
    shown: Mapping[str, Any] = field(default_factory=dict)
    """The further columns."""


@dataclass(frozen=True, slots=True)
class Obtained:
    """A row, and what we get."""

    study: str
    row: Row
    value: Value

    @property
    def difference(self) -> float | None:
        """Ours less the published value: in its unit, or as a share of it; None without either."""
        published, number = self.row.published, self.value.number
        if published is None or number is None:
            return None
        gap = number - published
        return gap / abs(published) if self.row.part.relative and published else gap

    @property
    def verdict(self) -> Verdict:
        """Whether the value is reproduced. A reason why it is not counts as known, and must not outlive its cause."""
        if self.row.published is None:
            return "ours"
        near = self._is_near
        if near and self.row.why:
            return "no longer differs"
        if near:
            number = self.value.number
            assert number is not None
            if self.row.fitted:
                return "fitted"
            return "exact" if math.isclose(number, self.row.published, rel_tol=_EXACT) else "reproduced"
        return "known to differ" if self.row.why else "differs"

    @property
    def _is_near(self) -> bool:
        difference = self.difference
        if difference is None:
            return False
        part = self.row.part
        most = part.within * (1 + _EXACT)
        if part.compare == "equal":
            return abs(difference) <= most
        return difference >= -most if part.compare == "at_least" else difference <= most

    @property
    def expected(self) -> bool:
        """Whether the verdict is the one that the study says."""
        return self.verdict in ("exact", "reproduced", "fitted", "known to differ", "ours")


class Player:
    """Runs what the parts of a study say; measured values are kept in the folder `kept`."""

    def __init__(self, study: Study, kept: FilePath) -> None:
        self._study = study
        self._memory = Remembered(kept / f"{study.name}.json")
        self._read: dict[_Spot, Case] = {}
        self._measured: dict[_Spot, Numbers] = {}

    def check(self, rows: Iterable[Row]) -> list[InputError]:
        """What is wrong with the documents that rows run: every alternative is read once, and nothing is measured."""
        seen: set[tuple[int, str, str]] = set()
        errors = []
        for row in rows:
            for place in _places(row.part, row.place):
                fresh = {(id(row.part), axis, name) for axis, name in place.items()} | {(id(row.part), "", "")}
                if fresh <= seen:
                    continue
                seen |= fresh
                try:
                    self._read[_spot(row.part, place)] = self._case(row.part, place)
                except InputError as error:
                    errors.append(error)
        return errors

    def obtain(self, rows: Iterable[Row], note: Callable[[Row], None] = lambda row: None) -> Iterator[Obtained]:
        """What we get for rows of the study."""
        for row in rows:
            note(row)
            yield Obtained(self._study.name, row, self.value(row.part, row.place))

    def value(self, part: Part, place: Place, text: str | None = None) -> Value:
        """What `text` (the part's `obtained` unless given) is at a place on the axes that a row names."""
        found = self._best(part, place)
        if found is None:
            return Value(None)
        chosen, known = found
        if part.against:
            base = self._best(part, place | part.against)
            if base is None:
                return Value(None)
            known = {**known, "base": base[1]}
        number = self._evaluate(part, ("obtained",) if text is None else ("plots",), text or part.obtained, known)
        shown = {head: self._evaluate(part, ("show", head), each, known) for head, each in part.show.items()}
        return Value(float(number), {axis: chosen[axis] for axis in chosen if axis not in place}, shown)

    def _best(self, part: Part, place: Place) -> tuple[Place, Mapping[str, Any]] | None:
        """A place on all axes and the numbers there: the best of what may be chosen; None where nothing may be."""
        best: tuple[float, Place, Mapping[str, Any]] | None = None
        for whole in _places(part, place):
            known = {**self._measure(part, whole), **part.at(whole)[1]}
            if part.choose is None or len(whole) == len(place):
                return whole, known
            if not self._evaluate(part, ("choose", "where"), part.choose.where, known):
                continue
            least = float(self._evaluate(part, ("choose", "least"), part.choose.least, known))
            if best is None or least < best[0]:
                best = least, whole, known
        return None if best is None else best[1:]

    def _measure(self, part: Part, place: Place) -> Numbers:
        """The numbers at a place on all axes; raises `InputError` at its place in the study."""
        spot = _spot(part, place)
        if spot not in self._measured:
            case = self._read.pop(spot, None) or self._case(part, place)
            with self._placing(part, place):
                self._measured[spot] = self._memory.measure(case)
        return self._measured[spot]

    def _case(self, part: Part, place: Place) -> Case:
        with self._placing(part, place):
            return measure_of(part.run, MEASURES).read(self._study.folder, part.run, part.at(place)[0])

    @contextmanager
    def _placing(self, part: Part, place: Place) -> Iterator[None]:
        """What is wrong with a document stays in its file; with what a place sets, or asks for, it is the study's."""
        at = f" at {', '.join(place.values())}" if place else ""
        try:
            yield
        except InputError as error:
            if error.source:
                raise
            problems = [replace(p, path=_key_of(part, place, p.path), found=p.found + at) for p in error.problems]
            raise self._study.error(part, problems) from None
        except Refusal as refusal:
            raise self._study.error(part, [replace(refusal.at(("run",)), found=refusal.found + at)]) from None

    def _evaluate(self, part: Part, path: Path, text: str, known: Mapping[str, Any]) -> Any:
        try:
            return evaluate(text, known)
        except Refusal as refusal:
            fix = "give 'against': it says what base is" if "base" in text and not part.against else refusal.fix
            raise self._study.error(part, [Problem(path, refusal.expected, refusal.found, fix)]) from None


def _spot(part: Part, place: Place) -> _Spot:
    return id(part), tuple(place[axis] for axis in part.axes)


def _places(part: Part, place: Place) -> Iterator[Place]:
    """A place on some axes, with every combination of the others."""
    open_axes = [axis for axis in part.axes if axis not in place]
    for names in product(*(part.axes[axis] for axis in open_axes)):
        yield place | dict(zip(open_axes, names, strict=True))


def _key_of(part: Part, place: Place, path: Path) -> Path:
    """The key of an alternative that put what is at a path of a document there; what is run, where none did."""
    text = format_path(path)
    for axis, name in reversed(place.items()):
        for key in part.axes[axis][name].set:
            if text.startswith(key) or key.startswith(text):
                return "axes", axis, name, "set", key
    return ("run",)
