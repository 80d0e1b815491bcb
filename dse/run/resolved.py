"""A space's document with everything spelled out that it takes from the catalogue: it then means the same for ever."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dse.space.space import Space
from dse.space.stack import usual_stack
from simcore import catalog
from simcore.design.reliability import usual_reliability
from simcore.document.problem import format_path

_PRESETS = {
    ("workload", "model"): "models",
    ("workload", "layers"): "networks",
    ("cluster", "npu"): "npus",
    ("cluster", "node"): "nodes",
    ("cost",): "prices",
    ("software",): "software",
    ("reliability",): "reliability",
    ("cluster", "fabric"): "fabrics",
}


def resolved(space: Space) -> dict[str, Any]:
    """The space's document with the catalogue entries it names spelled out.

    Where it names no software and its NPUs or workloads have different usual stacks, it still names none: each design
    has its own.
    """
    out: dict[str, Any] = json.loads(json.dumps(dict(space.source)))
    out.setdefault("cost", "libra")
    if stack := usual_stack(out):
        out.setdefault("software", stack)
    out.setdefault("reliability", usual_reliability().name)
    for holder in _holders(out):
        for path, section in _PRESETS.items():
            _spell(holder, path, section)
        _spell_libraries(holder.get("cluster") if isinstance(holder, dict) else None)
    return out


def _holders(document: dict[str, Any]) -> Iterator[Any]:
    """Everything in which names of the catalogue stand: the document, its workloads, its futures and theirs."""
    yield document
    yield from document.get("workloads", [])
    for future in document.get("futures", []):
        for entry in (future, *future.get("workloads", [])):
            yield entry
            change = entry.get("change", {})
            for path, section in _PRESETS.items():
                if (text := format_path(path)) in change:
                    change[text] = _spelled(change[text], section)


def _spell_libraries(value: Any) -> None:
    """Spell out the libraries of collectives of dimensions, wherever they stand: as alternatives, in a fabric's own."""
    if isinstance(value, list):
        for entry in value:
            _spell_libraries(entry)
    elif isinstance(value, dict):
        if "topology" in value and "library" in value:
            value["library"] = _spelled(value["library"], "libraries")
        else:
            for entry in value.values():
                _spell_libraries(entry)


def _spell(holder: Any, path: tuple[str, ...], section: str) -> None:
    if isinstance(holder, dict) and "choice" in holder and path[0] not in holder:
        for index, alternative in enumerate(holder["choice"]):
            if (len(path) == 1 and isinstance(alternative, dict)) or len(path) > 1:
                _spell(alternative, path, section)
            holder["choice"][index] = alternative
        return
    if not isinstance(holder, dict) or path[0] not in holder:
        return
    if len(path) > 1:
        _spell(holder[path[0]], path[1:], section)
        return
    holder[path[0]] = _spelled(holder[path[0]], section)


def _spelled(value: Any, section: str) -> Any:
    if isinstance(value, str):
        holding = (
            name for name in ("networks", "recommenders") if section == "models" and value in catalog.section(name)
        )
        return dict(catalog.entry(next(holding, section), value))
    if isinstance(value, dict) and "choice" in value:
        return {**value, "choice": [_spelled(alternative, section) for alternative in value["choice"]]}
    return value
