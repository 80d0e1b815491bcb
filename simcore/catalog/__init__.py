"""The catalogue: models, NPUs, curves, fabrics and price lists as YAML data, each number with its source. No code.

An entry is the mapping that could stand inline in a design document in place of its name; `source` and `sources` say
where its numbers were read, or *assumed*. Installed packages add entries by entry points: one in the group
`simcore.prices` names a mapping that is a price list.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from simcore.document.problem import Refusal, suggest_nearest
from simcore.document.text import read_document
from simcore.family import Family

SECTIONS = (
    "models",
    "networks",
    "recommenders",
    "npus",
    "nodes",
    "fabrics",
    "prices",
    "parts",
    "curves",
    "software",
    "libraries",
    "reliability",
)

_PARTS = {"npus": {"curve": "curves"}, "curves": {"library": "libraries"}}
"""Keys of the entries of a section that name entries of other ones."""

_ONE = {
    "models": "a model",
    "networks": "a network",
    "recommenders": "a recommender",
    "npus": "an NPU",
    "nodes": "a node",
    "fabrics": "a fabric",
    "prices": "a price list",
    "parts": "a part",
    "curves": "a curve",
    "software": "a software stack",
    "libraries": "a library of collectives",
    "reliability": "a reliability",
}
"""What an entry is called."""


@cache
def section(name: str) -> dict[str, dict[str, Any]]:
    """All entries of one of `SECTIONS`, by name, those of installed packages last."""
    entries = {key: {"name": key, **values} for key, values in _own_entries(name).items()}
    for key, part in _PARTS.get(name, {}).items():
        for one in entries.values():
            one |= {key: entry(part, one[key])} if key in one else {}
    if name == "fabrics":
        for fabric in entries.values():
            fabric["dimensions"] = [_with_library(dimension) for dimension in fabric["dimensions"]]
    installed = _installed(name)
    return entries | {key: {"name": key, **installed[key]} for key in installed if key not in entries}


@cache
def _own_entries(name: str) -> dict[str, dict[str, Any]]:
    """The entries of a section in the project's own file."""
    data: dict[str, dict[str, Any]] = read_document(Path(__file__).with_name(f"{name}.yaml")).data
    return data


def _installed(name: str) -> Family[dict[str, Any]]:
    """The entries of a section that installed packages bring."""
    return Family(f"simcore.{name}", dict, {})


def origin(section_name: str, name: str) -> str | None:
    """The package and version that brings an entry; None for one of the project's own files."""
    return None if name in _own_entries(section_name) else _installed(section_name).origin(name)


def _with_library(dimension: dict[str, Any]) -> dict[str, Any]:
    """A dimension of a fabric with the library of collectives that it names spelled out."""
    named = dimension.get("library")
    return {**dimension, "library": entry("libraries", named)} if isinstance(named, str) else dimension


def entry(section_name: str, name: str) -> dict[str, Any]:
    """The entry called `name`.

    Raises `Refusal` where there is none, with the nearest name as its fix, or where all are listed.
    """
    entries = section(section_name)
    if name in entries:
        return entries[name]
    fix = suggest_nearest(name, entries, section_name)
    raise Refusal(f"{_ONE[section_name]} of the catalogue or one spelled out", f"'{name}'", fix)
