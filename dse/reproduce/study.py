"""A study: documents to run, over the axes that a paper varied, and the values that it published.

    studies/NAME/
      study.yaml      title, source, and parts
      *.yaml          designs and spaces of the parts
      *.csv           published values: a column an axis, `published`, and `why` where ours is known to differ

A part runs one document for each row of its table. An axis has named alternatives, which set keys of the document and
give numbers; a row names one of each axis.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field, ValidationError

from dse.reproduce.files import FILE, raise_all
from dse.reproduce.part import Part, part_problems
from dse.reproduce.published import Row, read_rows
from simcore.document.field import Frozen
from simcore.document.form import describe_error
from simcore.document.problem import InputError, Problem, Refusal, suggest_nearest
from simcore.document.text import Document, read_document

Form = TypeVar("Form", bound=BaseModel)

_ABOUT = "README.md"
_COMMAND = re.compile(r"^```sh\n([^#\n]*[^#\s])", re.MULTILINE)


class _Head(Frozen):
    """`study.yaml`, its parts as they were written."""

    title: str
    source: str
    about: str = ""
    parts: Annotated[tuple[Any, ...], Field(min_length=1)]


@dataclass(frozen=True)
class Study:
    """A study that was read."""

    folder: Path
    title: str
    source: str
    """Where the values were published."""
    about: str
    parts: tuple[Part, ...]
    rows: tuple[Row, ...]
    """Every row of every part."""
    written: Document
    """`study.yaml` as it was written: it knows its lines."""

    @property
    def name(self) -> str:
        """As the command line has it."""
        return self.folder.name

    def error(self, part: Part, problems: Sequence[Problem]) -> InputError:
        """What is wrong with a part, at its places in `study.yaml`; paths of problems are those below the part."""
        index = next(number for number, each in enumerate(self.parts) if each is part)
        return _error(self.written, [replace(p, path=("parts", index, *p.path)) for p in problems])


def read_study(folder: Path) -> Study:
    """The study of a folder; raises `InputError` with every problem of its document and of its tables."""
    path = folder / FILE
    if not path.is_file():
        problem = Problem(("STUDY",), f"a folder with {FILE}", f"'{folder}'", _how_to_run(folder))
        raise InputError([problem], "command line")
    written = read_document(path)
    problems: list[Problem] = []
    head = _validate(_Head, written.data, (), problems)
    listed = written.data.get("parts")
    entries = enumerate(listed if isinstance(listed, list) else [])
    found = {index: _validate(Part, entry, ("parts", index), problems) for index, entry in entries}
    parts = {index: part for index, part in found.items() if part is not None}
    for index, part in parts.items():
        problems += [replace(p, path=("parts", index, *p.path)) for p in part_problems(part)]
    problems += _repeated(parts)
    tables = [_read_table(folder, part, ("parts", index), problems) for index, part in parts.items()]
    errors = [_error(written, problems)] if problems else []
    raise_all(errors + [table for table in tables if isinstance(table, InputError)])
    assert head is not None
    rows = tuple(row for table in tables if not isinstance(table, InputError) for row in table)
    return Study(folder, head.title, head.source, head.about, tuple(parts.values()), rows, written)


def _validate(form: type[Form], data: Any, path: tuple[str | int, ...], problems: list[Problem]) -> Form | None:
    """A section of a document, without the keys whose form is wrong; None where it cannot be without them.

    What is wrong is added to `problems`.
    """
    try:
        return form.model_validate(data)
    except ValidationError as error:
        problems += [Problem((*path, *entry["loc"]), *describe_error(entry)) for entry in error.errors()]
        wrong = {entry["loc"][0] for entry in error.errors() if entry["loc"]}
    sound = {key: value for key, value in data.items() if key not in wrong} if isinstance(data, dict) else None
    with suppress(ValidationError):
        return form.model_validate(sound)
    return None


def _repeated(parts: dict[int, Part]) -> Iterator[Problem]:
    """Names that several parts have, and files that several pictures have."""
    named = [(("parts", index, "name"), part.name) for index, part in parts.items()]
    drawn = [
        (("parts", index, "plots", number, "file"), plot.file)
        for index, part in parts.items()
        for number, plot in enumerate(part.plots)
    ]
    for places in (named, drawn):
        for number, (path, name) in enumerate(places):
            if any(name == other for _, other in places[:number]):
                yield Problem(path, "each once", f"a second '{name}'")


def _read_table(
    folder: Path, part: Part, path: tuple[str | int, ...], problems: list[Problem]
) -> list[Row] | InputError:
    """The rows of a part, or what is wrong in its file; a file that is not there is added to `problems`."""
    try:
        return read_rows(folder, part)
    except Refusal as refusal:
        problems.append(refusal.at((*path, "published")))
        return []
    except InputError as error:
        return error


def _error(written: Document, problems: Sequence[Problem]) -> InputError:
    return InputError([replace(p, line=p.line or written.line(p.path)) for p in problems], written.source)


def _expected(root: Path, known: Mapping[str, Path]) -> str:
    """What a name of a study can be."""
    return f"one of {', '.join(known)}, or a folder" if known else f"the folder of a study, as {root} has none"


def find_studies(root: Path, names: list[str]) -> list[Study]:
    """The studies of these names (or folders); all of `root` unless any is named.

    Raises `InputError` with every problem of any of them.
    """
    known = {path.parent.name: path.parent for path in sorted(root.glob(f"*/{FILE}"))}
    if not known and not names:
        fix = "run it where the folder 'studies' of the project is, or name a study's folder"
        raise InputError([Problem(("STUDY",), "a folder of studies", f"none in {root}", fix)], "command line")
    wanted = names or list(known)
    problems = [
        Problem(("STUDY",), _expected(root, known), f"'{name}'", _fix(root, name, known))
        for name in wanted
        if name not in known and not (Path(name) / FILE).is_file()
    ]
    if problems:
        raise InputError(problems, "command line")
    studies, errors = [], []
    for name in dict.fromkeys(wanted):
        try:
            studies.append(read_study(known.get(name, Path(name))))
        except InputError as error:
            errors.append(error)
    raise_all(errors)
    return studies


def _fix(root: Path, name: str, known: dict[str, Path]) -> str:
    for folder in (root / name, Path(name)):
        if folder.is_dir():
            how = _how_to_run(folder)
            return f"{folder} has no {FILE}" + (f": {how}" if how else "")
    return suggest_nearest(name, known)


def _how_to_run(folder: Path) -> str:
    """What a folder is that is no study but says itself how it is run, and the command."""
    path = folder / _ABOUT
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if not text.startswith("# "):
        return ""
    command = _COMMAND.search(text)
    run = f", which is run by itself: {command[1]}" if command else ""
    return f"{text.splitlines()[0][2:]}{run} ({path})"
