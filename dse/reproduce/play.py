"""Rows of studies: what we get for each, beside what was published."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Literal

from dse.reproduce.files import FILE
from dse.reproduce.lookup import evaluate
from dse.reproduce.measures.base import Numbers
from dse.reproduce.part import Part, Place
from dse.reproduce.remember import Remembered
from dse.reproduce.study import Row, Study
from simcore.document.problem import InputError, Problem, Refusal

Verdict = Literal["exact", "reproduced", "differs", "known to differ", "no longer differs", "ours"]
_EXACT = 1e-9


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
        return self.verdict in ("exact", "reproduced", "known to differ", "ours")


class Player:
    """Runs what the parts of a study say; measured values are kept in the folder `kept`."""

    def __init__(self, study: Study, kept: Path) -> None:
        self._study = study
        self._memory = Remembered(kept / f"{study.name}.json", study.folder)
        self._measured: dict[tuple[int, tuple[str, ...]], Numbers] = {}

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
        number = _evaluate(part, text or part.obtained, known)
        shown = {head: _evaluate(part, each, known) for head, each in part.show.items()}
        return Value(float(number), {axis: chosen[axis] for axis in chosen if axis not in place}, shown)

    def _best(self, part: Part, place: Place) -> tuple[Place, Mapping[str, Any]] | None:
        """A place on all axes and the numbers there: the best of what may be chosen; None where nothing may be."""
        open_axes = [axis for axis in part.axes if axis not in place]
        best: tuple[float, Place, Mapping[str, Any]] | None = None
        for names in product(*(part.axes[axis] for axis in open_axes)):
            whole = place | dict(zip(open_axes, names, strict=True))
            known = {**self._measure(part, whole), **part.at(whole)[1]}
            if part.choose is None or not open_axes:
                return whole, known
            if not _evaluate(part, part.choose.where, known):
                continue
            least = float(_evaluate(part, part.choose.least, known))
            if best is None or least < best[0]:
                best = least, whole, known
        return None if best is None else best[1:]

    def _measure(self, part: Part, place: Place) -> Numbers:
        """The numbers at a place on all axes; raises `InputError` that names the part and the place."""
        key = id(part), tuple(place[axis] for axis in part.axes)
        if key not in self._measured:
            self._measured[key] = self._measure_anew(part, place)
        return self._measured[key]

    def _measure_anew(self, part: Part, place: Place) -> Numbers:
        where = f"{self._study.folder / FILE}, '{part.name}'{': ' if place else ''}{', '.join(place.values())}"
        try:
            return self._memory.measure(part, place)
        except InputError as error:
            raise InputError(error.problems, where) from None
        except Refusal as refusal:
            raise InputError([Problem(("run",), refusal.expected, refusal.found, refusal.fix)], where) from None


def _evaluate(part: Part, text: str, known: Mapping[str, Any]) -> Any:
    try:
        return evaluate(text, known)
    except Refusal as refusal:
        fix = "give 'against': it says what base is" if "base" in text and not part.against else refusal.fix
        raise InputError([Problem((part.name, text), refusal.expected, refusal.found, fix)], FILE) from None
