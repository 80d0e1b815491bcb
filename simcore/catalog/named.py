"""Catalogue entries by name or spelled out, for the sections that belong to a kind of workload."""

from __future__ import annotations

from functools import cache
from typing import Any

from simcore import catalog
from simcore.design.spec import Frozen


@cache
def entry_of(spec: type[Frozen], section: str, name: str) -> Any:
    """The entry `name` of a section as a frozen object, the same one at every call.

    Raises `ValueError` where the catalogue has no such name.
    """
    return spec.model_validate(catalog.entry(section, name))


def written(value: Any, section: str) -> Any:
    """The name of a value that the catalogue has, or None."""
    known = value.name in catalog.section(section) and entry_of(_class_of(value), section, value.name) == value
    return value.name if known else None


def _class_of(value: Frozen) -> type[Frozen]:
    return type(value)
