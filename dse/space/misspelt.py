"""Holes whose keyword is misspelt: `{choise: [a, b]}` is a mapping that no key of a design may have.

Only a space that already has problems is searched for misspelt keywords, so that a valid key is never reported as one.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from functools import cache
from typing import Any

from dse.space.hole import KINDS_OF_HOLE
from simcore.design.design import Design
from simcore.document.problem import Path, Problem

_NEARLY = 0.7
"""How alike a key is to a keyword (of 1) to be taken for it."""
_STEM = 4
"""Characters with which a key may begin as a keyword does, or the other way round: `expression`, `prod`."""


def add_misspelt_holes(problems: list[Problem], data: dict[str, Any]) -> list[Problem]:
    """The problems of a space's design, those of misspelt holes in place of what follows from them."""
    found = list(_misspelt_problems(data, ())) if problems else []
    places = [problem.path[:-1] for problem in found]
    return found + [p for p in problems if not any(p.path[: len(place)] == place for place in places)]


def _misspelt_problems(value: Any, path: Path) -> Iterator[Problem]:
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _misspelt_problems(inner, (*path, index))
    if not isinstance(value, dict):
        return
    meant = (
        {} if any(kind in value for kind in KINDS_OF_HOLE) else {str(key): _nearest_keyword(str(key)) for key in value}
    )
    for key, kind in meant.items():
        if kind and path:
            yield Problem((*path, key), "the keyword of a hole", f"'{key}'", f"did you mean '{kind}'?")
    for key, inner in value.items():
        yield from _misspelt_problems(inner, (*path, key))


def _nearest_keyword(key: str) -> str:
    """The keyword that an unknown key is nearly; empty where it is none, or a key of a design."""
    word = key.lower().replace("-", "_").replace(" ", "_")
    near = difflib.get_close_matches(word, KINDS_OF_HOLE, n=1, cutoff=_NEARLY)
    near = near or [kind for kind in KINDS_OF_HOLE if min(len(word), len(kind)) >= _STEM and _is_prefix(word, kind)]
    return near[0] if near and key not in _known_keys() else ""


def _is_prefix(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


@cache
def _known_keys() -> frozenset[str]:
    """Every key that some part of a design has."""
    schema = Design.model_json_schema()
    parts = (schema, *schema["$defs"].values())
    return frozenset(key for part in parts for key in part.get("properties", {})) | {
        "fabric",
        "npus",
        "domain",
        "change",
    }
