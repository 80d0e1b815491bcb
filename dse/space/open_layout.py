"""Whether designs of a template have stages, or recomputation, that are solved for each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.space.hole import Choice


def has_open_layout(template: Mapping[str, Any]) -> bool:
    """Whether a design of a template may ask for stages or recomputation to be solved.

    These follow from what layers take on its network, so such a job is another one on each.
    """
    sections = _alternatives(template.get("parallelism"))
    return any(_asks(section) for section in sections if isinstance(section, Mapping))


def _asks(section: Mapping[str, Any]) -> bool:
    stages = any(isinstance(value, Mapping) and "solve" in value for value in _alternatives(section.get("stages")))
    return stages or "solve" in _alternatives(section.get("recompute"))


def _alternatives(value: Any) -> list[Any]:
    if isinstance(value, Choice):
        return [inner for alternative in value.alternatives for inner in _alternatives(alternative)]
    return [value]
