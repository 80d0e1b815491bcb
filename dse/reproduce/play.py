"""Rows of studies, obtained one after the other, and remembered, so that an interrupted run goes on."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from dse.reproduce.measure import Numbers, measure_of
from dse.reproduce.study import Row, Study
from dse.space.expression import Expression, make_lookup
from dse.study.files import write_whole

Verdict = Literal["exact", "reproduced", "differs", "known to differ", "no longer differs"]
_EXACT = 1e-9


@dataclass(frozen=True, slots=True)
class Obtained:
    """A row, and what we get."""

    study: str
    row: Row
    value: float

    @property
    def difference(self) -> float:
        """Ours less the published value: in its unit, or as a share of it."""
        gap = self.value - self.row.published
        return gap / abs(self.row.published) if self.row.part.relative and self.row.published else gap

    @property
    def verdict(self) -> Verdict:
        """Whether the value is reproduced. A reason why it is not counts as known, and must not outlive its cause."""
        near = abs(self.difference) <= self.row.part.within * (1 + _EXACT)
        if near and self.row.why:
            return "no longer differs"
        if near:
            same = math.isclose(self.value, self.row.published, rel_tol=_EXACT)
            return "exact" if same else "reproduced"
        return "known to differ" if self.row.why else "differs"

    @property
    def expected(self) -> bool:
        """Whether the verdict is the one that the study says."""
        return self.verdict in ("exact", "reproduced", "known to differ")


def obtain(study: Study, rows: list[Row], kept: Path, note: Callable[[Row], None]) -> Iterator[Obtained]:
    """What we get for rows of a study; measured values are kept in the folder `kept`."""
    memory = Remembered(kept / f"{study.name}.json")
    for row in rows:
        note(row)
        numbers = memory.measure(study, row, row.place)
        given = row.at(row.place)[1]
        known: dict[str, Any] = {**numbers, **given}
        if row.part.against:
            known["base"] = memory.measure(study, row, row.place | row.part.against)
        yield Obtained(study.name, row, float(Expression(row.part.obtained).value(make_lookup(known))))


class Remembered:
    """Numbers that were measured, in a file: a JSON object from what they depend on to the numbers."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, Numbers] = json.loads(path.read_text()) if path.is_file() else {}

    def measure(self, study: Study, row: Row, place: dict[str, str]) -> Numbers:
        """The numbers of a row at a place, measured if nobody has."""
        changes, _ = row.at(place)
        measure = measure_of(row.part.run)
        identity = f"{_code()} {measure.identity(study.folder, row.part.run, changes)}"
        key = blake2b(identity.encode(), digest_size=16).hexdigest()
        if key not in self._known:
            self._known[key] = measure.numbers(study.folder, row.part.run, changes)
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._path, json.dumps(self._known).encode())
        return self._known[key]


@cache
def _code() -> str:
    """What the code is: its sources in one number, so that nothing is remembered from other code."""
    digest = blake2b(digest_size=16)
    for package in ("dse", "simcore"):
        spec = find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        for path in sorted(Path(spec.origin).parent.rglob("*")):
            if path.suffix in (".py", ".yaml"):
                digest.update(path.read_bytes())
    return digest.hexdigest()
