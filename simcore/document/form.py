"""What pydantic finds wrong with the form of a document, in the words of this project: expected, got, likely fix."""

from __future__ import annotations

import re
from typing import Any

from simcore.document.problem import UNKNOWN_KEY, Refusal

MOST_SHOWN = 60
"""Characters of a value that a message shows."""


def describe_error(entry: Any) -> tuple[str, str, str]:
    """What one error of `ValidationError.errors()` expected, what it found, and the fix."""
    kind, found = entry["type"], entry["input"]
    if kind == "extra_forbidden":
        return UNKNOWN_KEY, f"'{entry['loc'][-1]}'", ""
    if kind == "missing":
        return "this required key", "nothing", f"add '{entry['loc'][-1]}'"
    if kind == "value_error":
        error = entry["ctx"]["error"]
        if isinstance(error, Refusal):
            return error.expected, error.found, error.fix
        return str(error), format_value(found), ""
    if kind == "invalid_key":
        return (
            "a key of letters",
            format_value(found),
            "a comma in a number begins another entry: write 1024, not 1,024",
        )
    if kind in ("int_type", "int_from_float", "int_parsing", "int_parsing_size"):
        whole = isinstance(found, float) and found.is_integer() and abs(found) <= 1e15
        tokens = str(entry["loc"][-1]).endswith("_length")
        fix = f"write {int(found)}" if whole else _without_prefix(found, True, tokens)
        if fix and entry["loc"][-1] == "global_batch":
            fix += ", which counts sequences or samples, not tokens"
        return "a whole number", format_value(found), fix
    if kind in ("float_type", "float_parsing"):
        return "a number", format_value(found), _without_prefix(found)
    if kind in ("too_short", "too_long"):
        least, bound = kind == "too_short", entry["ctx"]["min_length" if kind == "too_short" else "max_length"]
        said = f"{'at least' if least else 'at most'} {bound:,} {'entry' if bound == 1 else 'entries'}"
        held = len(found) if isinstance(found, list | tuple | dict) else 0
        return said, f"{held:,}" if held else "none", ""
    if kind in ("tuple_type", "list_type"):
        return "a list", format_value(found), ""
    if kind == "less_than_equal":
        most = entry["ctx"]["le"]
        return f"at most {most:,}", format_value(found), ""
    return entry["msg"].removeprefix("Input should be "), format_value(found), ""


_PREFIXED = re.compile(r"\s*(\d{1,15}(?:\.\d{1,15})?)\s*([kKMBGT])\s*")
_POWERS = {"k": 3, "K": 3, "M": 6, "B": 9, "G": 9, "T": 12}
_BINARY = 1024


def _without_prefix(found: Any, whole: bool = False, tokens: bool = False) -> str:
    """How a count such as `1.5T` is written; of `tokens` 128k are 131,072."""
    match = _PREFIXED.fullmatch(found) if isinstance(found, str) else None
    if match is None:
        return ""
    written = f"{match[1]}e{_POWERS[match[2]]}"
    if not whole:
        return f"write {written}"
    binary = f"{round(float(match[1]) * _BINARY)} or " if tokens and match[2] in "kK" else ""
    return f"write {binary}{round(float(written))}"


def format_value(found: Any) -> str:
    """A value as a message shows it: mappings and lists by their kind, long texts and numbers cut."""
    if isinstance(found, dict):
        return "a mapping"
    if isinstance(found, list):
        return "a list"
    text = repr(found)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"
