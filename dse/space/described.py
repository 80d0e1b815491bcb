"""What each key of a section means: the sentences below the fields of its class, as its source has them.

`described_keys(Parallelism)["zero"]` is the docstring that follows `zero: ... = 0`. Read from the source where it is
asked for (the JSON Schema, the reference of keys), so that a search pays nothing for it.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel


@cache
def described_keys(section: type[BaseModel]) -> dict[str, str]:
    """Field -> its docstring in one line, those of base classes included; a field without one is not in it."""
    inherited = [base for base in section.__bases__ if issubclass(base, BaseModel) and base is not BaseModel]
    found = {key: text for base in inherited for key, text in described_keys(base).items()}
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(section))).body
    assert isinstance(tree, ast.ClassDef)
    for field, after in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and (text := _text_of(after)):
            found[field.target.id] = " ".join(text.split())
    return found


def _text_of(statement: ast.stmt) -> str:
    """The text of a statement that is a text and nothing else."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return statement.value.value if isinstance(statement.value.value, str) else ""
    return ""


def sections_in(annotation: Any) -> list[type[BaseModel]]:
    """The sections that a field's annotation holds, in order."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [section for part in get_args(annotation) for section in sections_in(part)]
