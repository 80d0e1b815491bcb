"""What is said of a section that a design spells out: its own name, or that it varies an entry of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from dse.report.units import clean_text
from simcore import catalog

_NAMELESS = "inline"
_TOLD = 2
"""Keys in which a section varies its entry that are told; more than so many are counted as one variation."""


def name_of(section: Mapping[str, Any]) -> str:
    """The name of a section; of one that varies an entry of the catalogue that it does."""
    name = section.get("name", section.get("base"))
    if not isinstance(name, str) or not name:
        return _NAMELESS
    entry = _entries().get(name)
    return name if entry is None else f"{name} varied{_describe_varied(section, entry)}"


def _describe_varied(section: Mapping[str, Any], entry: Mapping[str, Any]) -> str:
    """What a section says in a word or two where its entry of the catalogue says nothing, or another word."""
    told = [
        f"{key} {value}"
        for key, value in section.items()
        if key not in ("name", "base")
        and _is_word(value)
        and _is_word(entry.get(key, value))
        and entry.get(key) != value
    ]
    return f" ({', '.join(map(clean_text, told))})" if 0 < len(told) <= _TOLD else ""


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and value[:1].isalpha()


def describe_model(model: Mapping[str, Any]) -> str:
    """A model by its name; without one of its own by its sizes, too."""
    name, layers, hidden = clean_text(name_of(model)), model.get("layers"), model.get("hidden")
    if name == model.get("name") or not isinstance(layers, int) or not isinstance(hidden, int):
        return name
    sizes = f"{layers} layers of {hidden:,}"
    return f"a model of {sizes}" if name == _NAMELESS else f"{name} ({sizes})"


@cache
def _entries() -> dict[str, Mapping[str, Any]]:
    """All models, devices, stacks, price lists and such of the catalogue, by name."""
    return {name: entry for section in catalog.SECTIONS for name, entry in catalog.section(section).items()}
