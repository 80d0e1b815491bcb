"""Which kind of workload a document means: the keys it has, or the section of the catalogue that has its model."""

from __future__ import annotations

import difflib
from functools import cache
from typing import Any

from simcore import catalog

TAGS = ("transformer", "collective", "layers", "recommender", "inference")
"""Kinds of workload."""

_SECTIONS = {"networks": "layers", "recommenders": "recommender"}
"""Sections of the catalogue whose entries are models of another kind than the transformers in `models`."""


def workload_kind(value: Any) -> str:
    """The tag of a workload: a document, or one already read."""
    keys = value if isinstance(value, dict) else getattr(value, "__dict__", {})
    if "collective" in keys:
        return "collective"
    if "layers" in keys:
        return "layers"
    if "prompt_length" in keys or "output_length" in keys:
        return "inference"
    model = keys.get("model")
    if isinstance(model, str):
        return _of_name(model)
    inside = model if isinstance(model, dict) else getattr(model, "__dict__", {})
    if isinstance(inside.get("layers"), list | tuple):
        return "layers"
    return "recommender" if "tables" in inside else "transformer"


@cache
def _of_name(name: str) -> str:
    """The kind of the model called `name`, or of the one that is most likely meant."""
    kinds = {known: kind for section, kind in _SECTIONS.items() for known in catalog.section(section)}
    names = [*catalog.section("models"), *kinds]
    meant = difflib.get_close_matches(name, names, n=1)
    return kinds.get(meant[0] if meant else name, "transformer")
