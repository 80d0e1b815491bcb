"""`--set PATH=VALUE`: change a document before it is used."""

from __future__ import annotations

import copy
import re
from typing import Any

from simcore.document import Document, parse_document
from simcore.problem import InputError, Path, Problem

_PART = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def changed(document: Document, changes: list[str]) -> Document:
    """The document with each change made; VALUE is read as YAML.

    Raises `InputError` for a change that is not PATH=VALUE, or whose path cannot be.
    """
    if not changes:
        return document
    data = copy.deepcopy(document.data)
    problems: list[Problem] = []
    for change in changes:
        path_text, equals, value_text = change.partition("=")
        path = parse_path(path_text.strip())
        if not equals or path is None:
            problems.append(Problem(("--set",), "PATH=VALUE, such as parallelism.tensor=8", f"'{change}'"))
            continue
        value = parse_document(f"value: {value_text}", f"--set {change}").data["value"]
        problem = _assign(data, path, value, change)
        if problem is not None:
            problems.append(problem)
    if problems:
        raise InputError(problems, "command line")
    return Document(document.source, data, document.lines)


def parse_path(text: str) -> Path | None:
    """`cluster.dimensions[1].size` as a path; None where it is none."""
    parts: list[str | int] = []
    position = 0
    while position < len(text):
        if text[position] == "." and parts:
            position += 1
        match = _PART.match(text, position)
        if match is None:
            return None
        parts.append(match[1] if match[1] is not None else int(match[2]))
        position = match.end()
    return tuple(parts) or None


def _assign(data: Any, path: Path, value: Any, change: str) -> Problem | None:
    for part in path[:-1]:
        if isinstance(data, dict) and isinstance(part, str):
            data = data.setdefault(part, {})
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
        else:
            return Problem(("--set",), "a path of the document", f"'{change}'", f"there is no '{part}'")
    last = path[-1]
    if (isinstance(data, dict) and isinstance(last, str)) or (
        isinstance(data, list) and isinstance(last, int) and last < len(data)
    ):
        data[last] = value  # type: ignore[index]
        return None
    return Problem(("--set",), "a path of the document", f"'{change}'", f"there is no '{last}'")
