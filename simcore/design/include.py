"""Files that a document names: tables of layers or of measured times, a device, a fabric, software, a model's own file.

A document may come from a stranger, so what it may read is narrow: a `.csv`, `.yaml` or `.yml` file (`.json` for a
model, `{config: FILE}`) in the folder of the document or below it, named by a relative path that does not climb (`..`)
and does not leave through a symbolic link, of at most a MiB, whose every row must be a row of that table, or which must
be an NPU, a fabric, a stack or a model. A document that is no file (sent over a wire, say) reads none. What is read
takes the place of the name when the document is read: what a study stores is complete.
"""

from __future__ import annotations

import copy
import csv
import io
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from simcore.design.compute import MeasuredProduct
from simcore.design.dimension import Dimension
from simcore.design.npu import parse_npu
from simcore.design.software import NamedSoftware, Software
from simcore.design.workload import KINDS
from simcore.document.form import describe_error, format_value
from simcore.document.named_files import Listed, find_again, find_named, is_long
from simcore.document.problem import InputError, InputWarning, Path, Problem, Refusal, format_path, suggest_nearest
from simcore.document.text import Document, parse_document, read_document

SUFFIXES = (".csv", ".yaml", ".yml")
CONFIGURATION = "config"
"""Key of a model that names the file which describes it."""
MOST_BYTES = 1 << 20
UNREAD = "file"
"""Rule of the problems of a file that could not be taken."""

_PARTS = ("cluster", "workload", "software")
"""Parts of a document that may name files."""
_LISTS = ("jobs", "workloads", "futures")
"""Lists whose entries have such parts of their own."""


def _row_of(path: Path) -> type[BaseModel] | None:
    """What the rows of a file are that is named at a path; None where none may be."""
    known: dict[str, type[BaseModel]] = {"table": MeasuredProduct}
    if path[0] == "workload":
        known = {key: row for form in KINDS.values() for key, row in form.rows.items()}
    return next((row for key, row in known.items() if _is_path_of(path, key)), None)


def _listed_at(path: Path) -> Listed | None:
    """What lists the files that are named at a path, and stay where they are; None where none may be."""
    if path[0] != "workload" or len(path) < 2:
        return None
    found = {key: listed for form in KINDS.values() for key, listed in form.files.items()}
    return next((listed for key, listed in found.items() if _is_path_of(path, key)), None)


def _find_named(listed: Listed, name: Any, path: Path, source: str | None, problems: list[Problem]) -> Any:
    """What a document has in the place of a name; what is wrong is added to `problems`, and the name stays."""
    inside = source is not None and FilePath(source).is_file()
    if is_long(name):
        try:
            if source is not None and inside:
                find_again(name, FilePath(source).resolve().parent, listed)
        except Refusal as refusal:
            problems.append(refusal.at(path))
        return name
    if source is None or not inside:
        expected, fix = "a path in a document that is a file", "it is relative to the document"
        problems.append(Problem(path, expected, f"'{name}' in one that is none", fix))
        return name
    try:
        return find_named(name, FilePath(source).resolve().parent, listed)
    except Refusal as refusal:
        problems.append(refusal.at(path))
        return name


def find_files_again(data: Any, folder: FilePath) -> None:
    """Look for the files that a document from `folder` names in the long form (`simcore.document.named_files`).

    Raises `InputError` with all that are gone or others.
    """
    kinds = {key: listed for form in KINDS.values() for key, listed in form.files.items()}
    problems: list[Problem] = []
    _find_inside(data, (), kinds, folder, problems)
    if problems:
        raise InputError(problems)


def _find_inside(
    value: Any, path: Path, kinds: Mapping[str, Listed], folder: FilePath, problems: list[Problem]
) -> None:
    key = next((str(part) for part in reversed(path) if part in kinds), None)
    if is_long(value) and key is not None:
        try:
            find_again(value, folder, kinds[key])
        except Refusal as refusal:
            problems.append(refusal.at(path))
    elif isinstance(value, Mapping | list):
        for part, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
            _find_inside(inner, (*path, part), kinds, folder, problems)


def include_files(data: Any, source: str | None) -> tuple[Any, list[Problem]]:
    """The document with the rows of the files that it names in their place, and what is wrong with those files."""
    problems: list[Problem] = []
    if not isinstance(data, Mapping):
        return data, problems
    out = dict(data)
    for part in _PARTS:
        if part in out:
            out[part] = _include_value(copy.deepcopy(out[part]), (part,), source, problems)
    for key in _LISTS:
        listed = out.get(key)
        if isinstance(listed, list):
            read = [include_files(entry, source) for entry in listed]
            out[key] = [entry for entry, _ in read]
            for index, (_, found) in enumerate(read):
                problems += [replace(problem, path=(key, index, *problem.path)) for problem in found]
    return out, [replace(problem, rule=UNREAD) for problem in problems]


def _include_value(value: Any, path: Path, source: str | None, problems: list[Problem]) -> Any:
    if isinstance(value, list):
        return [_include_value(inner, (*path, index), source, problems) for index, inner in enumerate(value)]
    listed = _listed_at(path) if isinstance(value, str) or is_long(value) else None
    if listed is not None:
        return _find_named(listed, value, path, source, problems)
    if not isinstance(value, dict):
        part = _part_of(path)
        if part is not None and isinstance(value, str) and value.endswith(SUFFIXES[1:]):
            return _read_part(value, part, path, source, problems)
        row = _row_of(path) if isinstance(value, str) and value.endswith(SUFFIXES) else None
        if row is None:
            return value
        return _read_rows(value, path, source, row, problems)
    if CONFIGURATION in value and path[0] == "workload" and _is_path_of(path, "model"):
        return _read_model(value, path, source, problems)
    return {key: _include_value(inner, (*path, key), source, problems) for key, inner in value.items()}


def _is_path_of(path: Path, key: str) -> bool:
    """Whether a path is that of `key`, or of an alternative of a choice there."""
    return path[-1] == key or (len(path) > 2 and path[-3:-1] == (key, "choice"))


def _key(path: Path) -> str:
    """The key that a path is of, or that the choice of alternatives there is of."""
    return str(path[-3] if path[-2] == "choice" else path[-1])


def _part_of(path: Path) -> str | None:
    """The part of a document that may be a file of its own, if `path` is that of one."""
    inside = ("software",) if path[0] == "software" else ("npu", "fabric") if path[0] == "cluster" else ()
    return next((part for part in inside if _is_path_of(path, part)), None)


def _read_part(name: str, part: str, path: Path, source: str | None, problems: list[Problem]) -> Any:
    """What a file describes as a plain mapping; what is wrong is added to `problems`, and the name stays."""
    called, check = _PARTS_READ[part]
    found = _find_file(name, path, source, f"{called} of the catalogue, or a file with one beside the design", problems)
    if found is None:
        return name
    try:
        described = read_document(found).data
        wrong = check(described)
    except InputError as error:
        wrong = error.problems
    problems += [Problem(path, f"{p.expected} in '{name}' ({format_path(p.path)})", p.found, p.fix) for p in wrong]
    return name if wrong else described


def _read_model(value: dict[str, Any], path: Path, source: str | None, problems: list[Problem]) -> Any:
    """The model that a file describes, with the other keys of the mapping in place of its own."""
    name = value[CONFIGURATION]
    if not isinstance(name, str):
        fix = "for a choice of models, choose among mappings with a 'config' each"
        problems.append(Problem(path, "the name of a configuration file as 'config'", format_value(name), fix))
        return {}
    found = _find_file(name, path, source, "a model's configuration, a file beside the document", problems, (".json",))
    if found is None:
        return {}
    try:
        read = next(filter(None, (form.model_from(found) for form in KINDS.values())))
    except InputError as error:
        problems += [
            Problem(path, f"{p.expected} in '{name}'{_inside(p)}", p.found, p.fix, rule=UNREAD) for p in error.problems
        ]
        return {}
    except OSError as error:
        problems.append(Problem(path, f"a file that can be read as '{name}'", str(error.strerror)))
        return {}
    model, left_out = read
    if left_out:
        warnings.warn(f"{format_path(path)}: '{name}': not modelled: {'; '.join(left_out)}", InputWarning, stacklevel=2)
    return model | {key: own for key, own in value.items() if key != CONFIGURATION}


def _inside(problem: Problem) -> str:
    """Where in a file a problem is."""
    if problem.line is not None:
        return f" (line {problem.line})"
    return f" ({format_path(problem.path)})" if problem.path else ""


def npu_problems(described: Any) -> list[Problem]:
    """What is wrong with an NPU that a file describes."""
    return _form_problems(parse_npu, described)


def fabric_problems(described: Any) -> list[Problem]:
    """What is wrong with a fabric that a file describes."""
    dimensions = described.get("dimensions") if isinstance(described, dict) else None
    if not isinstance(dimensions, list) or not dimensions:
        return [Problem(("dimensions",), "a list of dimensions, innermost first", "none")]
    fix = f"known keys: {', '.join(_FABRIC)}"
    problems = [Problem((key,), "a key of a fabric", f"'{key}'", fix) for key in described if key not in _FABRIC]
    for index, dimension in enumerate(dimensions):
        form = {"size": 1, **_with_bandwidth(dimension)}
        problems += _form_problems(Dimension.model_validate, form, ("dimensions", index))
    return problems


def software_problems(described: Any) -> list[Problem]:
    """What is wrong with a software stack that a file describes."""
    return _form_problems(_SOFTWARE.validate_python, described)


def _form_problems(parse: Callable[[Any], object], described: Any, place: Path = ()) -> list[Problem]:
    """What `parse`, of pydantic, finds wrong with something that stands at `place`."""
    try:
        parse(described)
    except ValidationError as error:
        return [Problem((*place, *wrong["loc"]), *describe_error(wrong)) for wrong in error.errors(include_url=False)]
    return []


def _with_bandwidth(dimension: Any) -> dict[str, Any]:
    """A dimension as far as it is a mapping, with that of its NICs where it has but them."""
    given = dimension if isinstance(dimension, dict) else {}
    return {"bandwidth": given["nic_bandwidth"], **given} if "nic_bandwidth" in given else given


_PARTS_READ: dict[str, tuple[str, Callable[[Any], list[Problem]]]] = {
    "npu": ("an NPU", npu_problems),
    "fabric": ("a fabric", fabric_problems),
    "software": ("a software stack", software_problems),
}
"""Parts of a document that may be files of their own: what each is called, and what is wrong with one."""
_SOFTWARE: TypeAdapter[Software] = TypeAdapter(NamedSoftware)
_FABRIC = ("name", "sizes", "dimensions", "source")


def _read_rows(name: str, path: Path, source: str | None, row: type[BaseModel], problems: list[Problem]) -> Any:
    """The rows of a file as plain mappings; what is wrong is added to `problems`, and the name stays."""
    found = _find_file(name, path, source, "a table file beside the design", problems)
    if found is None:
        return name
    try:
        text = found.read_text(encoding="utf-8-sig")
        listed = _parse_csv(text) if found.suffix == ".csv" else _parse_yaml(text, name, _key(path))
    except UnicodeDecodeError as error:
        problems.append(Problem(path, f"a UTF-8 text file '{name}'", f"bytes that are not text ({error.reason})"))
        return name
    except csv.Error as error:
        problems.append(Problem(path, f"a CSV table '{name}'", f"text that is none ({error})"))
        return name
    except InputError as error:
        problems += [Problem(path, f"{p.expected} in '{name}'", p.found, p.fix) for p in error.problems]
        return name
    wrong = [
        problem for number, entry in enumerate(listed, 1) for problem in _check_row(entry, number, name, path, row)
    ]
    problems += wrong
    return name if wrong else listed


def _find_file(
    name: str,
    path: Path,
    source: str | None,
    expected: str,
    problems: list[Problem],
    suffixes: tuple[str, ...] = SUFFIXES,
) -> FilePath | None:
    """The file of a name; None where there is none, which is added to `problems`."""
    found = _locate_file(name, source, suffixes)
    if not isinstance(found, str):
        return found
    fix = "put the file beside the design and name it without a folder above"
    problems.append(Problem(path, expected, found, fix))
    return None


def _locate_file(name: str, source: str | None, suffixes: tuple[str, ...]) -> FilePath | str:
    """The file's path, or the reason why the file may not be read."""
    if source is None or not FilePath(source).is_file():
        return f"'{name}' in a document that is no file"
    given = FilePath(name)
    if given.is_absolute() or ".." in given.parts or "\\" in name:
        return f"'{name}', which is outside its folder"
    folder = FilePath(source).resolve().parent
    path = (folder / given).resolve()
    if not path.is_relative_to(folder):
        return f"'{name}', which leads outside its folder"
    if not path.is_file():
        return f"'{name}', which is not there"
    if path.suffix not in suffixes or path.stat().st_size > MOST_BYTES:
        kind = "table" if suffixes == SUFFIXES else " or ".join(suffixes) + " file"
        return f"'{name}', which is no {kind} of at most {MOST_BYTES >> 20} MiB"
    return path


def _parse_csv(text: str) -> list[dict[str, Any]]:
    reader = csv.reader(io.StringIO(text), strict=True)
    header = [column.strip() for column in next(reader, [])]
    if not header or len(set(header)) < len(header):
        raise InputError([Problem((), "a first row that names each column once", ", ".join(header) or "nothing")])
    rows = []
    for number, cells in enumerate((cells for cells in reader if any(cells)), 1):
        if len(cells) != len(header):
            expected = f"{len(header)} cells in row {number} (line {number + 1})"
            raise InputError([Problem((), expected, str(len(cells)))])
        rows.append(
            {column: _parse_cell(cell.strip()) for column, cell in zip(header, cells, strict=True) if cell.strip()}
        )
    if not rows:
        raise InputError([Problem((), "at least one row", "none")])
    return rows


def _parse_cell(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _parse_yaml(text: str, name: str, key: str) -> list[Any]:
    document: Document = parse_document(text, name)
    layers = document.data.get(key)
    if not isinstance(layers, list) or not layers or len(document.data) > 1:
        found = ", ".join(document.data) or "nothing"
        raise InputError([Problem((), f"the key '{key}' alone, a list of rows,", found)])
    return layers


def _check_row(entry: Any, number: int, name: str, path: Path, row: type[BaseModel]) -> list[Problem]:
    """What is wrong with a row, each with its column."""
    try:
        row.model_validate(entry)
    except ValidationError as error:
        return [_row_problem(wrong, number, name, path, row) for wrong in error.errors(include_url=False)]
    return []


def _row_problem(wrong: Any, number: int, name: str, path: Path, row: type[BaseModel]) -> Problem:
    columns = [str(part) for part in wrong["loc"]]
    where = f"row {number} of '{name}'" + (f", column '{'.'.join(columns)}'" if columns else "")
    if wrong["type"] == "extra_forbidden":
        known = list(row.model_fields)
        fix = suggest_nearest(columns[-1], known) or f"known columns: {', '.join(known)}"
        return Problem(path, f"a known column in {where}", f"'{columns[-1]}'", fix)
    if wrong["type"] == "missing":
        return Problem(path, f"a value in {where}", "nothing")
    expected, got, fix = describe_error(wrong)
    return Problem(path, f"{expected} in {where}", got, fix)
