"""Entries of the catalogue as objects: by name, as a variation of one (`base`), or spelled out.

An object that equals an entry is written as its name.
"""

from __future__ import annotations

import contextlib
from functools import cache
from typing import Any, TypeVar

from pydantic import BeforeValidator, PlainSerializer

from simcore import catalog
from simcore.document.field import Frozen
from simcore.document.problem import Refusal
from simcore.document.quantity import parse_quantity

Spec = TypeVar("Spec", bound=Frozen)


def preset(spec: type[Spec], section: str, name: str) -> Spec:
    """The entry `name` of a section as a frozen object, the same one at every call.

    Raises `Refusal` where the catalogue has no such name.
    """
    found: Spec = _kept(spec, section, name)
    return found


@cache
def _kept(spec: type[Frozen], section: str, name: str) -> Any:
    return spec.model_validate(catalog.entry(section, name))


def preset_name(value: Any, section: str) -> str | None:
    """The name of a value that the catalogue has, or None."""
    known = value.name in catalog.section(section) and preset(type(value), section, value.name) == value
    return value.name if known else None


def named(spec: type[Frozen], section: str) -> tuple[BeforeValidator, PlainSerializer]:
    """What a field of type `spec` is annotated with, so that a document may say it by a name of `section`."""

    def read(value: Any) -> Any:
        if isinstance(value, dict) and "base" in value:
            return _varied(section, value)
        return preset(spec, section, value) if isinstance(value, str) else value

    def write(value: Any) -> Any:
        return preset_name(value, section) or value.model_dump(mode="json", exclude_defaults=True)

    return BeforeValidator(read), PlainSerializer(write)


def part_named(section: str) -> BeforeValidator:
    """Reads the name of an entry of `section`, a part of another entry, as that entry."""
    return BeforeValidator(lambda value: catalog.entry(section, value) if isinstance(value, str) else value)


def _varied(section: str, value: dict[str, Any]) -> dict[str, Any]:
    """A catalogue entry, `base`, with some of its keys changed."""
    base = value["base"]
    if not isinstance(base, str):
        raise Refusal("the name of an entry of the catalogue as 'base'", repr(base))
    own = {key: entry for key, entry in value.items() if key != "base"}
    return _merged(catalog.entry(section, base), own)


def _merged(entry: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """`entry` with the keys of `own`, mappings in mappings too; of another capacity as large a share is usable."""
    both = {
        key: _merged(entry[key], value) if isinstance(value, dict) and isinstance(entry.get(key), dict) else value
        for key, value in own.items()
    }
    if isinstance(capacity := own.get("capacity"), str) and "usable" in entry and "usable" not in own:
        with contextlib.suppress(Refusal):  # what is no size is refused where it stands
            usable, of = (parse_quantity(entry[key], "size") for key in ("usable", "capacity"))
            both["usable"] = f"{usable / of * parse_quantity(capacity, 'size'):.0f} B"
    return {**entry, **both}
