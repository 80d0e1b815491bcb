"""Holes whose keyword is misspelt, `{choise: [a, b]}`, or missing, `[a, b]`: no key of a design may have such a value.

Only a space that already has problems is searched for misspelt keywords, so that a valid key is never reported as one.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from dse.space.expression import make_lookup
from dse.space.hole import KINDS_OF_HOLE
from simcore.design.design import Design
from simcore.document.form import format_value
from simcore.document.problem import Path, Problem, Refusal

_NEARLY = 0.7
"""How alike a key is to a keyword (of 1) to be taken for it."""
_SHORT = 40
"""Characters of values that are written out."""
_STEM = 4
"""Characters with which a key may begin as a keyword does, or the other way round: `expression`, `prod`."""


def add_misspelt_holes(problems: list[Problem], data: dict[str, Any]) -> list[Problem]:
    """The problems of a space's design, those of misspelt holes in place of what follows from them."""
    found = list(_misspelt_problems(data, ())) if problems else []
    places = [problem.path[:-1] for problem in found]
    others = [p for p in problems if not any(p.path[: len(place)] == place for place in places)]
    return found + [_as_choice(problem, data) for problem in others]


def _as_choice(problem: Problem, data: Any) -> Problem:
    """A problem with a list in place of one value, as one that says how a choice is written."""
    if problem.found != format_value([]) or problem.path[:1] == ("study",):
        return problem
    try:
        values = make_lookup(data)(problem.path)
    except Refusal:  # of a key that a default gives, or an alternative of a choice
        return problem
    if not isinstance(values, list) or not values:
        return problem
    text = ", ".join(map(str, values))
    listed = text if len(text) <= _SHORT and all(isinstance(each, str | int | float) for each in values) else "…"
    return replace(problem, fix=f"a choice of values is written {{choice: [{listed}]}}")


def _misspelt_problems(value: Any, path: Path) -> Iterator[Problem]:
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _misspelt_problems(inner, (*path, index))
    if not isinstance(value, dict):
        return
    meant = (
        {}
        if any(kind in value for kind in KINDS_OF_HOLE)
        else {str(key): _nearest_keyword(str(key), path) for key in value}
    )
    for key, kind in meant.items():
        if kind and path:
            yield Problem((*path, key), "the keyword of a hole", f"'{key}'", f"did you mean '{kind}'?")
    for key, inner in value.items():
        yield from _misspelt_problems(inner, (*path, key))


def _nearest_keyword(key: str, path: Path) -> str:
    """The keyword that an unknown key is nearly; empty where it is none, or a key of a design."""
    word = key.lower().replace("-", "_").replace(" ", "_")
    near = difflib.get_close_matches(word, KINDS_OF_HOLE, n=1, cutoff=_NEARLY)
    near = near or [kind for kind in KINDS_OF_HOLE if min(len(word), len(kind)) >= _STEM and _is_prefix(word, kind)]
    return near[0] if near and not _is_known(key, path) else ""


def _is_prefix(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def _is_known(key: str, path: Path) -> bool:
    """Whether a key is one of the section of a design that its place lies in; of any section where that is open."""
    section = next((str(part) for part in path if part in _keys_by_section()), "")
    return key in _keys_by_section()[section]


@cache
def _keys_by_section() -> dict[str, frozenset[str]]:
    """Section -> every key that some part of it has; of `""` those of all."""
    schema = Design.model_json_schema()
    found = {name: frozenset(_keys(form, schema["$defs"], set())) for name, form in schema["properties"].items()}
    found["cluster"] |= {"fabric", "npus", "domain"}
    return found | {"": frozenset().union(*found.values(), found, ("change",))}


def _keys(form: Any, parts: dict[str, Any], seen: set[str]) -> Iterator[str]:
    """The names of all properties in a JSON schema and in the parts that it refers to."""
    if isinstance(form, list):
        for entry in form:
            yield from _keys(entry, parts, seen)
    if not isinstance(form, dict):
        return
    yield from form.get("properties", {})
    if (name := str(form.get("$ref", "")).rpartition("/")[2]) and name not in seen:
        seen.add(name)
        yield from _keys(parts[name], parts, seen)
    for inner in form.values():
        yield from _keys(inner, parts, seen)
