"""What is said of a section that a design spells out: its own name, or that it varies an entry of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from dse.report.units import clean_text
from simcore import catalog

_NAMELESS = "inline"


def name_of(section: Mapping[str, Any]) -> str:
    """The name of a section; of one that varies an entry of the catalogue that it does."""
    name = section.get("name", section.get("base"))
    if not isinstance(name, str) or not name:
        return _NAMELESS
    return f"{name} varied" if name in _entries() else name


def describe_model(model: Mapping[str, Any]) -> str:
    """A model by its name; without one of its own by its sizes, too."""
    name, layers, hidden = clean_text(name_of(model)), model.get("layers"), model.get("hidden")
    if name == model.get("name") or not isinstance(layers, int) or not isinstance(hidden, int):
        return name
    sizes = f"{layers} layers of {hidden:,}"
    return f"a model of {sizes}" if name == _NAMELESS else f"{name} ({sizes})"


@cache
def _entries() -> frozenset[str]:
    """Names of all models, devices, stacks, price lists and such in the catalogue."""
    return frozenset(name for section in catalog.SECTIONS for name in catalog.section(section))
