"""Finding a kind and an entry by what a user types."""

from __future__ import annotations

from dse.catalogue.base import Entry, Kind
from dse.catalogue.families import FAMILIES
from dse.catalogue.presets import PRESETS
from simcore.document.problem import InputError, Problem, suggest_nearest

KINDS: dict[str, Kind] = {kind.name: kind for kind in (*PRESETS, *FAMILIES)}
"""All kinds by name, in the order in which a design is written."""


def find_kind(name: str) -> Kind:
    """The kind of that name; its singular will do.

    Raises `InputError` where there is none: what it may have meant, an entry of that name among it.
    """
    for known, kind in KINDS.items():
        if name.lower() in (known, known.removesuffix("s"), f"{known.removesuffix('ies')}y"):
            return kind
    holding = kinds_with(name)
    if holding:
        fix = f"it is one of {' and of '.join(holding)}: dse catalogue {holding[0]} {name}"
    else:
        fix = suggest_nearest(name, KINDS) or f"kinds: {', '.join(KINDS)}"
    raise InputError([Problem(("KIND",), "a kind of things in the catalogue", f"'{name}'", fix)], "command line")


def kinds_with(name: str) -> list[str]:
    """The kinds that have an entry of that name."""
    return [known for known, kind in KINDS.items() if name in kind.names()]


def find_entry(kind: Kind, name: str) -> Entry:
    """The entry of a kind.

    Raises `InputError` where there is none, with the nearest name, all names where nothing is near, and the kinds that
    have the name.
    """
    if name in kind.names():
        return kind.entry(name)
    elsewhere = [f"dse catalogue {other} {name}" for other in kinds_with(name)]
    fix = elsewhere[0] if elsewhere else suggest_nearest(name, kind.names(), kind.name)
    raise InputError([Problem(("NAME",), f"one of the {kind.name}", f"'{name}'", fix)], "command line")
