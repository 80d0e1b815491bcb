"""`--set PATH=VALUE`: change a document before it is used."""

from __future__ import annotations

import copy

from simcore.design.change import assign, parse_path
from simcore.document.problem import InputError, Problem
from simcore.document.text import Document, parse_document


def change_document(document: Document, changes: list[str]) -> Document:
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
        problem = assign(data, path, value)
        if problem is not None:
            problems.append(Problem(("--set",), problem.expected, f"'{change}'", problem.fix))
    if problems:
        raise InputError(problems, "command line")
    return Document(document.source, data, document.lines)
