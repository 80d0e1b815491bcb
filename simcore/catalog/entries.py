"""Finds every name in a document that the catalogue lacks, even if the document has other problems.

A design is read part by part, and a part that cannot be read (a fabric of no such name) hides what stands in it. So
where a document has problems, its names are looked up once more, in holes (`choice`) too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from simcore import catalog
from simcore.document.problem import Path, Problem, Refusal, suggest_nearest

_SECTIONS: dict[str, tuple[str, ...]] = {
    "model": ("models", "networks", "recommenders"),
    "npu": ("npus",),
    "node": ("nodes",),
    "fabric": ("fabrics",),
    "cost": ("prices",),
    "software": ("software",),
    "library": ("libraries",),
    "reliability": ("reliability",),
}
"""Key of a document -> where its names are, the first of them for messages."""
_PARTS = ("workload", "jobs", "workloads", "futures", "cluster", "cost", "software", "reliability")
_NO_FABRIC = "it is a node: give the 'dimensions' of the network, and it as 'node'"


def add_unknown_entries(problems: list[Problem], data: Any) -> list[Problem]:
    """The problems of a document, with those of all names in it that the catalogue lacks; none where there are none."""
    if not problems or not isinstance(data, dict):
        return problems
    named = [found for part in _PARTS if part in data for found in _unknown_entry_problems(data[part], (part,))]
    said = {(problem.found, problem.path[:depth]) for problem in named for depth in range(len(problem.path) + 1)}
    return [problem for problem in problems if (problem.found, problem.path) not in said] + named


def _unknown_entry_problems(value: Any, path: Path) -> Iterator[Problem]:
    if isinstance(value, str):
        key = _key(path)
        if path[0] == "reliability" and key != "reliability":
            return  # what fails has the names of pieces, and times beside them
        if key in _SECTIONS and not value.endswith((".yaml", ".yml")):
            yield from _missing_entry_problems(value, path, _SECTIONS[key])
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key != "sources":  # words, no names
                yield from _unknown_entry_problems(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _unknown_entry_problems(inner, (*path, index))


def _key(path: Path) -> str:
    """The key that a name stands for: that of an alternative is its choice's, that of a `base` what it varies."""
    while len(path) > 2 and path[-2] == "choice":
        path = path[:-2]
    if path[-1] == "base" and len(path) > 1:
        return _key(path[:-1])
    return str(path[-1])


def _missing_entry_problems(name: str, path: Path, sections: tuple[str, ...]) -> Iterator[Problem]:
    known = [entry for section in sections for entry in catalog.section(section)]
    if name in known:
        return
    try:
        catalog.entry(sections[0], name)
    except Refusal as refusal:
        elsewhere = _NO_FABRIC if name in catalog.section("nodes") and "fabrics" in sections else ""
        fix = elsewhere or suggest_nearest(name, known) or refusal.fix
        yield Problem(path, refusal.expected, refusal.found, fix)
