"""Reading of ASTRA-sim's JSON and YAML documents into checked Python values.

Files are untrusted: their size is bounded, YAML is read by the safe loader, and every value is taken
through `Document`, whose errors name the file and the key.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simcore.astra.files.errors import AstraInputError

MAX_DOCUMENT_BYTES = 16 << 20
"""Largest configuration file read [B]; the real ones have a few hundred."""


MAX_NUMBER = 1e100
"""Bound on single numbers; it also keeps out infinities and NaN."""

MAX_DEPTH = 16
"""Deepest nesting of a YAML file; the real ones have two levels."""


def read_text(path: Path) -> str:
    """Return the text of a small file.

    Raises
    ------
    AstraInputError
        If the file is missing, larger than `MAX_DOCUMENT_BYTES`, or not UTF-8.
    """
    try:
        if path.stat().st_size > MAX_DOCUMENT_BYTES:
            raise AstraInputError(f"{path}: expected at most {MAX_DOCUMENT_BYTES} bytes; is this the right file?")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise AstraInputError(f"{path}: expected a text file, got other bytes ({error.reason})") from None
    except OSError as error:
        raise AstraInputError(f"{path}: cannot be read ({error.strerror}); check the path") from None


@dataclass(frozen=True)
class AstraDocument:
    """A mapping read from a file, with typed access to its keys."""

    path: Path
    values: Mapping[str, Any]

    def error(self, key: str, message: str) -> AstraInputError:
        """Return the error for one key (the caller raises it)."""
        return AstraInputError(f"{self.path}: {key}: {message}")

    def number(self, key: str, default: float | None = None) -> float:
        """Return a finite number; the default stands for a missing key, no default means required."""
        value: object = self.values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < MAX_NUMBER:
            raise self.error(key, f"expected a number, got {value!r}")
        return float(value)

    def integer(self, key: str, default: int | None = None, minimum: int = 0) -> int:
        """Return an integer of at least `minimum`; a fraction is cut off, as ASTRA-sim does."""
        value = int(self.number(key, default))
        if not minimum <= value < 1 << 53:
            raise self.error(key, f"expected a number of at least {minimum}, got {value}")
        return value

    def flag(self, key: str) -> bool:
        """Return a 0/1 (or true/false) switch; missing means off."""
        value = self.values.get(key, 0)
        if not isinstance(value, bool | int | float):
            raise self.error(key, f"expected 0 or 1, got {value!r}")
        return value != 0

    def choice(self, key: str, allowed: tuple[str, ...], default: str | None = None) -> str:
        """Return one of the allowed words."""
        value = self.values.get(key, default)
        if value not in allowed:
            raise self.error(key, f"expected one of {', '.join(allowed)}, got {value!r}")
        return str(value)

    def numbers(self, key: str) -> tuple[float, ...]:
        """Return a list of finite numbers; YAML reads a number such as 1e3 as a word, ASTRA-sim does not."""
        value = self.values.get(key)
        try:
            found = [self._number(entry) for entry in (value if isinstance(value, list) else [value])]
        except (TypeError, ValueError, OverflowError):
            raise self.error(key, f"expected a list of numbers, got {value!r}") from None
        return tuple(found)

    @staticmethod
    def _number(entry: object) -> float:
        if isinstance(entry, bool) or not isinstance(entry, int | float | str):
            raise TypeError
        number = float(entry)
        if not math.isfinite(number):
            raise ValueError
        return number

    def words(self, key: str) -> tuple[str, ...]:
        """Return a non-empty list of words."""
        value = self.values.get(key)
        entries = value if isinstance(value, list) else [value]
        if not entries or not all(isinstance(entry, str) for entry in entries):
            raise self.error(key, f"expected a list of words, got {value!r}")
        return tuple(entries)


def read_json(path: Path) -> AstraDocument:
    """Read a JSON object.

    Raises
    ------
    AstraInputError
        If the text is not JSON, or not an object at the top.
    """
    try:
        return _mapping(path, json.loads(read_text(path)))
    except json.JSONDecodeError as error:
        raise AstraInputError(f"{path}: line {error.lineno}: not JSON ({error.msg})") from None
    except ValueError as error:
        if isinstance(error, AstraInputError):
            raise
        raise AstraInputError(f"{path}: not JSON ({error})") from None
    except RecursionError:
        raise AstraInputError(f"{path}: expected a flat document, got one nested too deeply") from None


def read_yaml(path: Path) -> AstraDocument:
    """Read a YAML mapping with the safe loader.

    Raises
    ------
    AstraInputError
        If the text is not YAML, or not a mapping at the top.
    """
    import yaml

    text = read_text(path)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        depth = 0
        for event in yaml.parse(text, Loader=loader):  # the C loader itself would overflow its stack
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                raise AstraInputError(f"{path}: expected a flat document, got one nested too deeply")
        return _mapping(path, yaml.load(text, Loader=loader))
    except (yaml.YAMLError, ValueError) as error:
        if isinstance(error, AstraInputError):
            raise
        raise AstraInputError(f"{path}: not YAML ({error})") from None


def _mapping(path: Path, value: object) -> AstraDocument:
    if not isinstance(value, dict):
        raise AstraInputError(f"{path}: expected a mapping of keys to values, got {type(value).__name__}")
    return AstraDocument(path, {str(key): entry for key, entry in value.items()})
