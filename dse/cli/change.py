"""`--set PATH=VALUE`: change a document before it is used."""

from __future__ import annotations

import argparse
import copy
from dataclasses import replace

from simcore.check.load import design_from
from simcore.design.change import assign_all, parse_path
from simcore.design.design import Design
from simcore.document.problem import InputError, Problem
from simcore.document.text import Document, parse_document, read_document


def read_design(options: argparse.Namespace) -> Design:
    """The checked design that `dse.cli.arguments.add_design` names, with its changes.

    Raises `InputError` with every problem in it.
    """
    document = change_document(read_document(options.design), options.changes)
    return design_from(document.data, document)


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
        path = path_text.strip()
        if not equals or parse_path(path) is None:
            problems.append(Problem(("--set",), "PATH=VALUE, such as parallelism.tensor=8", f"'{change}'"))
            continue
        value = parse_document(f"value: {value_text}", f"--set {change}").data["value"]
        problems += [replace(p, path=("--set",), found=f"'{change}'") for p in assign_all(data, {path: value})]
    if problems:
        raise InputError(problems, "command line")
    return Document(document.source, data, document.lines)
