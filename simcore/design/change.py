"""Changes of a document by path: `cluster.dimensions[1].bandwidth`, or `cluster.dimensions.1.bandwidth`.

`Design.with_` and `dse simulate --set` both speak it. What a document says in one of two ways is said in the new one
alone: a fabric takes the place of dimensions, a model that of layers. Below the name of a catalogue entry a change
makes a variation of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from simcore.check.load import design_from
from simcore.document.problem import InputError, Path, Problem, format_path

_PART = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_INSTEAD: dict[Path, str] = {
    ("cluster", "fabric"): "dimensions",
    ("cluster", "dimensions"): "fabric",
    ("workload", "model"): "layers",
    ("workload", "layers"): "model",
    ("npus",): "nodes",
    ("nodes",): "npus",
}
"""Key -> the key beside it that says the same in another way."""
_NAMED: tuple[Path, ...] = (("workload", "model"), ("cluster", "npu"), ("cost",), ("software",), ("reliability",))
"""Where the name of a catalogue entry may stand, of which a document may write variations."""


def parse_path(text: str) -> Path | None:
    """`cluster.dimensions[1].size` as a path; None where it is none."""
    parts: list[str | int] = []
    position = 0
    while position < len(text):
        if text[position] == "." and parts:
            position += 1
        match = _PART.match(text, position)
        if match is None:
            return None
        parts.append(match[1] if match[1] is not None else int(match[2]))
        position = match.end()
    return tuple(parts) or None


def assign(data: Any, path: Path, value: Any) -> Problem | None:
    """Put `value` at a path of a document, in place; what is wrong with the path, or None."""
    place: Any = data
    for depth, part in enumerate(path[:-1], 1):
        key = _find_key(place, part)
        if key is None:
            return _missing_path_problem(path, part)
        if isinstance(place, dict):
            place.setdefault(key, {})
            if _in_job(path[:depth]) in _NAMED and isinstance(place[key], str):
                place[key] = {"base": place[key]}
        place = place[key]
    key = _find_key(place, path[-1])
    if key is None:
        return _missing_path_problem(path, path[-1])
    if _in_job(path) in _INSTEAD:
        place.pop(_INSTEAD[_in_job(path)], None)
    place[key] = value
    return None


def assign_all(data: Any, changes: Mapping[str, Any]) -> list[Problem]:
    """Make each change of a document, in place, by the text of its path; what is wrong with the paths."""
    problems = []
    for text, value in changes.items():
        path = parse_path(text)
        problem = (
            Problem((text,), "a path such as cluster.dimensions[1].bandwidth", f"'{text}'")
            if path is None
            else assign(data, path, value)
        )
        problems += [problem] if problem is not None else []
    return problems


def _in_job(path: Path) -> Path:
    """The path as it is in a design of one job."""
    return path[2:] if path[:1] == ("jobs",) else path


def _find_key(place: Any, part: str | int) -> str | int | None:
    """The key or the index that a part of a path means in a mapping or a list; None where it means none."""
    if isinstance(place, dict):
        return part if isinstance(part, str) else None
    if not isinstance(place, list):
        return None
    index = int(part) if isinstance(part, str) and part.isdecimal() else part
    return index if isinstance(index, int) and index < len(place) else None


def _missing_path_problem(path: Path, part: str | int) -> Problem:
    return Problem(path, "a path of the document", f"'{format_path(path)}'", f"there is no '{part}'")


def change_design(design: BaseModel, changes: Mapping[str, Any]) -> Any:
    """The design of the document that a `Design` was given as, with each change made; see `Design.with_`.

    Raises `InputError` with every path that is none, and every problem of the design that comes out.
    """
    document = {
        **design.model_dump(mode="json", include={"cost"}),
        **_given_document(design),
    }  # for a variation of the default
    problems = assign_all(document, {text: _given_document(value) for text, value in changes.items()})
    paths = {parse_path(text) for text in changes}
    if ("cluster", "npus") in paths and ("cluster", "fabric") not in paths:
        fix = "give 'cluster.fabric' too: a design knows the dimensions of its fabric alone"
        problems.append(Problem(("cluster", "npus"), "the fabric that has so many NPUs", "none", fix))
    if problems:
        raise InputError(problems)
    return design_from(document)


def _given_document(value: Any) -> Any:
    """The document of a design as the user gave it, without derived values."""
    if isinstance(value, BaseModel):
        return _drop_shares(value.model_dump(mode="json", exclude_unset=True))
    if isinstance(value, list | tuple):
        return [_given_document(inner) for inner in value]
    return value


def _drop_shares(value: Any) -> Any:
    """A document whose dimensions with NICs have no bandwidth: it follows from them."""
    if isinstance(value, list):
        return [_drop_shares(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    return {key: _drop_shares(inner) for key, inner in value.items() if key != "bandwidth" or value.get("nics") is None}
