"""A line of JSON as its shape and its leaves, so that lines of one shape become columns, and lines again to the byte.

    {"number":7,"design":{"zero":1}}   =   {"number":⇥,"design":{"zero":⇥}}   with   7, 1

The shape is the line with a tab for each leaf: a number, a text, `true`, `false` or `null`. A tab stands in no line
that Python's JSON writes. A leaf's place is a JSON pointer (RFC 6901).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

Kind = Literal["int", "float", "bool", "text", "raw", "null"]
"""`raw`: a number that no column of numbers gives again as it is written, such as one beyond 64 bits."""
WRITTEN: tuple[Kind, ...] = ("text", "raw")
"""Kinds whose values are kept as texts."""
GAP = "\t"
_TEXT = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_PIECE = re.compile(rf'((?:[{{}}\[\],:]+|{_TEXT}:)*)({_TEXT}|[^\[\]{{}},:"]+)?')
"""Brackets, commas and keys; then a leaf. Nothing possessive: Python 3.11.2 loses groups there (gh-101955)."""
_WORDS: dict[str, tuple[Kind, Any]] = {
    "null": ("null", None),
    "true": ("bool", True),
    "false": ("bool", False),
    "NaN": ("float", math.nan),
    "Infinity": ("float", math.inf),
    "-Infinity": ("float", -math.inf),
}
_LARGEST = 2**63


def split_line(line: str) -> tuple[str, list[str]] | None:
    """The shape of a line, and its leaves as they are written; None where they do not give the line again."""
    pieces = _PIECE.findall(line)[:-1]  # the last one is empty
    leaves = [leaf for _, leaf in pieces[:-1]]
    shape = GAP.join([struct for struct, _ in pieces])
    if shape.count(GAP) != len(leaves) or join_line(shape, leaves) != line:
        return None
    return shape, leaves


def join_line(shape: str, leaves: Sequence[str]) -> str:
    """The line of a shape and its leaves."""
    return template(shape) % tuple(leaves)


def template(shape: str) -> str:
    """The shape as a format with `%s` for each leaf."""
    return shape.replace("%", "%%").replace(GAP, "%s")


def read_leaf(leaf: str) -> tuple[Kind, Any]:
    """What kind of leaf that is, and its value (of a text: what is written between the quotation marks)."""
    if leaf.startswith('"'):
        return "text", leaf[1:-1]
    if leaf in _WORDS:
        return _WORDS[leaf]
    try:
        whole = int(leaf)
    except ValueError:
        try:
            number = float(leaf)
        except ValueError:
            return "raw", leaf
        return ("float", number) if repr(number) == leaf else ("raw", leaf)
    return ("int", whole) if str(whole) == leaf and -_LARGEST <= whole < _LARGEST else ("raw", leaf)


def write_leaf(kind: Kind, value: Any) -> str:
    """The leaf that `read_leaf` reads so."""
    if value is None:
        return "null"
    if kind == "text":
        return f'"{value}"'
    if kind == "raw":
        return str(value)
    if kind == "bool":
        return "true" if value else "false"
    if kind == "float" and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def text_of(written: str) -> str:
    """The text that is so written between quotation marks."""
    return str(json.loads(f'"{written}"')) if "\\" in written else written


def pointers(shape: str) -> list[str]:
    """The JSON pointer of each leaf. Raises `ValueError` for a shape of no JSON object."""
    found: list[str] = []
    document = json.loads(shape.replace(GAP, "0"))
    _walk(document, "", found)
    if len(found) != shape.count(GAP) or len(set(found)) != len(found):
        raise ValueError("no shape of a line")
    return found


def _walk(node: Any, where: str, found: list[str]) -> None:
    items: Iterator[tuple[Any, Any]] | None = None
    if isinstance(node, dict):
        items = iter(node.items())
    elif isinstance(node, list):
        items = iter(enumerate(node))
    if items is None:
        found.append(where)
        return
    for key, inner in items:
        _walk(inner, f"{where}/{pointer_text(str(key))}", found)


def key_of(written: str) -> str:
    """The key that stands so in a JSON pointer."""
    return written.replace("~1", "/").replace("~0", "~")


def pointer_text(key: str) -> str:
    """A key as it stands in a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")
