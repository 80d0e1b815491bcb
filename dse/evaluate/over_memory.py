"""By how much a design does not fit into the memory of its NPUs, and which single changes would make it fit."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from simcore.check.check import check
from simcore.check.load import parse_design
from simcore.design.design import Design
from simcore.memory.expanded import capacity, fits
from simcore.memory.plan import memory_needed

_GIB = 2.0**30
_KEYS: tuple[tuple[str, Any], ...] = (
    ("recompute", "selective"),
    ("recompute", "full"),
    ("zero", 1),
    ("zero", 2),
    ("zero", 3),
    ("microbatch", 1),
    ("sequence_parallel", True),
)
"""Changes of `parallelism` that save memory."""
_SHARED = ("tensor", "pipeline")
"""Degrees that take twice the NPUs from the data-parallel group."""
MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Overflow:
    """What a design needs of the memory of an NPU, beyond what there is."""

    needed: float
    """[B]."""
    capacity: float
    """[B]."""
    remedies: tuple[tuple[str, float], ...]
    """Single changes of its `parallelism`, and what it would need with them [B]; the least first."""

    def __str__(self) -> str:
        over = _write(self.needed - self.capacity)
        told = f"{over} an NPU: it needs {_write(self.needed)} of {_write(self.capacity)}"
        enough = [f"{name} ({_write(needed)})" for name, needed in self.remedies if needed <= self.capacity]
        if enough:
            return f"{told}; what would do: {' or '.join(enough[:MOST_NAMED])}"
        most = "".join(f" (most saves {name}: {_write(needed)})" for name, needed in self.remedies[:1])
        return (
            f"{told}; no single change of its parallelism would do{most}; try several, more NPUs to cut the model "
            "over, or NPUs with more memory"
        )


def overflow(document: Mapping[str, Any]) -> Overflow | None:
    """By how much the design of a complete document is too large; None where it fits, or is no valid design."""
    design, needed = _needed(document)
    if design is None or needed is None or needed <= capacity(design):
        return None
    tried = ((name, _needed(changed)) for name, changed in _changed(document))
    found = [(name, less) for name, (other, less) in tried if other is not None and less is not None and less < needed]
    return Overflow(needed, capacity(design), tuple(sorted(found, key=lambda pair: pair[1])))


def _needed(document: Mapping[str, Any]) -> tuple[Design | None, float | None]:
    """A design and the memory that must be free for it on each NPU [B]; None where it is none, or holds nothing."""
    design, _ = parse_design(document)
    if design is None or check(design):
        return None, None
    memory = memory_needed(design)
    if memory is None:
        return design, None
    # Two memories may hold it together while one of them has more to hold than it can: there is no one number.
    whole = memory.reserved > capacity(design) or fits(design, memory)
    return design, memory.reserved if whole else None


def _changed(document: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each single change, and the document with it."""
    own = document.get("parallelism") or {}
    for key, value in _KEYS:
        if own.get(key) != value:
            yield f"{key}: {str(value).lower()}", _with(document, {key: value})
    for key in _SHARED:
        degree, data = own.get(key, 1), own.get("data") or 1
        if data % 2 == 0:
            yield f"{key}: {2 * degree}, data: {data // 2}", _with(document, {key: 2 * degree, "data": data // 2})


def _with(document: Mapping[str, Any], keys: Mapping[str, Any]) -> dict[str, Any]:
    changed = copy.deepcopy(dict(document))
    changed["parallelism"] = {**(changed.get("parallelism") or {}), **keys}
    return changed


def _write(size: float) -> str:
    return f"{size / _GIB:.4g} GiB"
