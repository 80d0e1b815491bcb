"""A study: documents to run, over the axes that a paper varied, and the values that it published.

    studies/NAME/
      study.yaml      title, source, and parts
      *.yaml          designs and spaces of the parts
      *.csv           published values: a column an axis, `published`, and `why` where ours is known to differ

A part runs one document for each row of its table. An axis has named alternatives, which set keys of the document and
give numbers; a row names one of each axis.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from dse.reproduce.files import FILE, inside
from dse.reproduce.part import Part, Place
from simcore.document.field import Frozen
from simcore.document.form import describe_error
from simcore.document.problem import InputError, Problem, suggest_nearest
from simcore.document.text import read_document

PUBLISHED, WHY = "published", "why"


class StudyDocument(Frozen):
    """`study.yaml`."""

    title: str
    source: str
    """Where the values were published."""
    about: str = ""
    parts: Annotated[tuple[Part, ...], Field(min_length=1)]


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
        wanted = self.part.quick
        return wanted is not None and all(self.place[axis] in names for axis, names in wanted.items())

    @property
    def text(self) -> str:
        """Where it stands."""
        return ", ".join(self.place.values()) or self.part.name


@dataclass(frozen=True)
class Study:
    """A study that was read."""

    folder: Path
    document: StudyDocument

    @property
    def name(self) -> str:
        """As the command line has it."""
        return self.folder.name

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """Every row of every part; raises `InputError` with all that is wrong in the tables."""
        problems: list[Problem] = []
        rows = [row for part in self.document.parts for row in _rows(self.folder, part, problems)]
        if problems:
            raise InputError(problems, str(self.folder))
        return tuple(rows)


def read_study(folder: Path) -> Study:
    """The study of a folder; raises `InputError` with every problem of its document."""
    path = folder / FILE
    if not path.is_file():
        raise InputError([Problem(("STUDY",), f"a folder with {FILE}", f"{folder}")], "command line")
    document = read_document(path)
    try:
        return Study(folder, TypeAdapter(StudyDocument).validate_python(document.data))
    except ValidationError as error:
        entries = [entry for entry in error.errors() if entry["type"] != "too_short"] or error.errors()
        problems = [
            Problem(entry["loc"], *describe_error(entry), line=document.line(entry["loc"])) for entry in entries
        ]
        raise InputError(problems, str(path)) from None


def find_studies(root: Path, names: list[str]) -> list[Study]:
    """The studies of these names (or folders); all of `root` unless any is named."""
    known = {path.parent.name: path.parent for path in sorted(root.glob(f"*/{FILE}"))}
    if not known and not names:
        fix = "run it where the folder 'studies' of the project is, or name a study's folder"
        raise InputError([Problem(("STUDY",), "a folder of studies", f"none in {root}", fix)], "command line")
    wanted = names or list(known)
    problems = [
        Problem(("STUDY",), f"one of {', '.join(known)}, or a folder", name, suggest_nearest(name, known))
        for name in wanted
        if name not in known and not Path(name).is_dir()
    ]
    if problems:
        raise InputError(problems, "command line")
    return [read_study(known.get(name, Path(name))) for name in wanted]


def _rows(folder: Path, part: Part, problems: list[Problem]) -> Iterator[Row]:
    if part.published is None:
        for names in product(*(part.axes[axis] for axis in part.columns)):
            yield Row(part, dict(zip(part.columns, names, strict=True)))
        return
    path = inside(folder, part.published)
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        wanted, found = [*part.columns, PUBLISHED], reader.fieldnames or []
        missing = [name for name in wanted if name not in found]
        if missing:
            expected = f"the columns {', '.join(wanted)}, and {WHY}"
            problems.append(Problem((part.published,), expected, ", ".join(found) or "nothing", line=1))
            return
        for number, line in enumerate(reader, 2):
            place = {axis: line.get(axis) or "" for axis in part.columns}
            wrong = [axis for axis, name in place.items() if name not in part.axes[axis]]
            problems += [
                Problem((part.published, axis), f"one of {', '.join(part.axes[axis])}", f"'{place[axis]}'", line=number)
                for axis in wrong
            ]
            try:
                published = float(line.get(PUBLISHED) or "")
            except ValueError:
                problems.append(Problem((part.published, PUBLISHED), "a number", f"{line.get(PUBLISHED)}", line=number))
                continue
            if not wrong:
                yield Row(part, place, published, (line.get(WHY) or "").strip())
