"""Values out of a journal: metrics by name from a result's document, and plain JSON with nothing unwritable in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dse.evaluate.read import finite_or_none as finite_or_none
from dse.evaluate.read import read_result as read_result
from dse.evaluate.read import trial_metrics as trial_metrics


def to_plain(value: Any) -> Any:
    """`value` as JSON types only; NaN and infinities become None, tuples lists, keys text."""
    if isinstance(value, Mapping):
        return {str(key): to_plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(entry) for entry in value]
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if hasattr(value, "item"):
        return to_plain(value.item())
    return finite_or_none(value) if isinstance(value, float) else str(value)


def to_json(value: Any, indent: int | None = None) -> str:
    """Strict JSON of `value`: no NaN, no Infinity."""
    separators = (",", ":") if indent is None else None
    return json.dumps(to_plain(value), allow_nan=False, ensure_ascii=False, indent=indent, separators=separators)


def cell(value: Any) -> str:
    """A parameter's value as text: a list or a subtree as compact JSON."""
    return value if isinstance(value, str) else to_json(value)


def flatten(document: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Dotted path -> value of every leaf of nested mappings (a list is a leaf)."""
    leaves: dict[str, Any] = {}
    for key, value in document.items():
        path = f"{above}.{key}" if above else str(key)
        if isinstance(value, Mapping):
            leaves |= flatten(value, path)
        else:
            leaves[path] = value
    return leaves
