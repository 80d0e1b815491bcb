"""The rows of a part: a CSV of published values, or every combination of the axes where nothing was published."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from dse.reproduce.files import inside
from dse.reproduce.part import Part, Place
from simcore.document.problem import InputError, Problem, suggest_nearest

PUBLISHED, WHY = "published", "why"


@dataclass(frozen=True)
class Row:
    """A row of a part: where it stands on the axes, and the value that was published there, if any was."""

    part: Part
    place: Place
    published: float | None = None
    why: str = ""
    """Why ours differs; empty where it should not."""

    @property
    def quick(self) -> bool:
        """Whether it is one of `--quick`."""
        return self.part.quick is not None and self._is_among(self.part.quick)

    @property
    def fitted(self) -> str:
        """What was fitted to the published values that it rests on; empty where nothing was."""
        fitted = self.part.fitted
        return fitted.what if fitted is not None and self._is_among(fitted.rows) else ""

    def _is_among(self, wanted: Mapping[str, tuple[str, ...]]) -> bool:
        return all(self.place.get(axis) in names for axis, names in wanted.items())

    @property
    def text(self) -> str:
        """Where it stands."""
        return ", ".join(self.place.values()) or self.part.name


def read_rows(folder: Path, part: Part) -> list[Row]:
    """The rows of a part; raises `InputError` with all that is wrong in its file."""
    if part.published is None:
        places = product(*(part.axes[axis] for axis in part.columns))
        return [Row(part, dict(zip(part.columns, names, strict=True))) for names in places]
    path = inside(folder, part.published)
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        heads = next(reader, [])
        problems = list(_head_problems(part, heads))
        if not problems:
            lines = [(reader.line_num, cells) for cells in reader if any(cells)]
            rows = list(_read_lines(part, heads, lines, problems))
    if problems:
        raise InputError(problems, str(path))
    return rows


def _head_problems(part: Part, heads: list[str]) -> Iterator[Problem]:
    wanted = [*part.columns, PUBLISHED]
    expected = f"the columns {', '.join(wanted)}, and {WHY}"
    if any(name not in heads for name in wanted):
        yield Problem(("columns",), expected, ", ".join(heads) or "nothing", line=1)
    for index, name in enumerate(heads):
        if name not in (*wanted, WHY):
            yield Problem((name,), expected, f"another column, '{name}'", suggest_nearest(name, wanted), line=1)
        elif name in heads[:index]:
            yield Problem((name,), "each column once", f"a second '{name}'", line=1)


def _read_lines(
    part: Part, heads: list[str], lines: list[tuple[int, list[str]]], problems: list[Problem]
) -> Iterator[Row]:
    first: dict[tuple[str, ...], int] = {}
    for number, cells in lines:
        if len(cells) > len(heads):
            found = f"{len(cells)}; a cell with a comma is quoted"
            problems.append(Problem(("row",), f"{len(heads)} cells", found, line=number))
            continue
        line = dict(zip(heads, cells, strict=False))
        place = {axis: line.get(axis, "") for axis in part.columns}
        wrong = [axis for axis, name in place.items() if name not in part.axes[axis]]
        for axis in wrong:
            expected = f"one of {', '.join(part.axes[axis])}"
            fix = suggest_nearest(place[axis], part.axes[axis])
            problems.append(Problem((axis,), expected, f"'{place[axis]}'", fix, line=number))
        before = first.setdefault(tuple(place.values()), number)
        if before != number and not wrong:
            found = f"{', '.join(place.values())} again (first on line {before})"
            problems.append(Problem(("row",), "each row once", found, line=number))
        try:
            published = float(line.get(PUBLISHED, ""))
        except ValueError:
            problems.append(Problem((PUBLISHED,), "a number", f"'{line.get(PUBLISHED, '')}'", line=number))
            continue
        if not wrong:
            yield Row(part, place, published, line.get(WHY, "").strip())
