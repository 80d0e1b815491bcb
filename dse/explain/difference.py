"""What differs between two designs: the changes that lead from the one to the other, and the parts of time and cost.

Leaves of the two complete documents that differ are one change each, but for those that must go together: the degrees
of parallelism; the stage of ZeRO; a network of other blocks with what names its dimensions; the NICs of a dimension
with its bandwidth, which follows from them; another NPU with what its machine brings along. Where the blocks are the
same, each other key of each dimension is a change of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from dse.explain.changes import (
    ABSENT,
    DIMENSIONS,
    MACHINE,
    NETWORK,
    NIC_KEYS,
    NICS,
    Change,
    Document,
    job_path,
    value_at,
)
from dse.report.reasons import breakdown, memory_parts
from dse.report.screen import name_memory
from simcore.document.problem import Path, format_path
from simcore.result import Cost, Result

DEGREES = ("tensor", "pipeline", "data", "context", "expert")
_WITH_BLOCKS: tuple[Path, ...] = (DIMENSIONS, ("system", "collective"), ("cluster", "placement"))
_SHARDED = ("zero", "accumulate", "gather")
"""The stage of ZeRO, and what only some stages have."""
_NPU: Path = ("cluster", "npu")
_OF_MACHINE = ("latency", "tier", "efficiency", "affinity", "at_once", "library")
"""Keys of a dimension that follow from the machine."""
_SHORT = ("parallelism", "system", "cluster", "workload")


@dataclass(frozen=True, slots=True)
class PartDifference:
    """A part of a total in two designs."""

    part: str
    before: float
    after: float

    @property
    def change(self) -> float:
        """What it adds to the total difference."""
        return self.after - self.before


def changes_between(one: Document, other: Document) -> tuple[Change, ...]:
    """The changes that lead from the one complete document to the other, in the document's order."""
    return tuple(_changes(one, other))


def _changes(one: Document, other: Document) -> Iterator[Change]:
    section: Path = (*job_path(one), "parallelism")
    degrees: list[Path] = [(*section, name) for name in DEGREES]
    blocks = _blocks(one) != _blocks(other)
    together = [("degrees", degrees), *([(NETWORK, list(_WITH_BLOCKS))] if blocks else [])]
    sharded: list[Path] = [(*section, name) for name in _SHARDED]
    if value_at(one, sharded[0]) != value_at(other, sharded[0]):
        together.append(("zero", sharded))
    machine = _of_machine(one, other) if not blocks else []
    together += [(MACHINE, [_NPU, *machine])] if machine else []
    taken = {path for _, paths in together for path in paths}
    for path in _differing_leaves(one, other):
        if path == DIMENSIONS and not blocks:
            yield from _of_dimensions(one, other, taken)
        elif path not in taken:
            yield _change(_short(path), [path], one, other)
    for name, paths in together:
        change = _change(name, paths, one, other)
        if change.values:
            yield change


def _differing_leaves(one: Document, other: Document) -> list[Path]:
    paths = dict.fromkeys([*_leaves(one), *_leaves(other)])
    inside = {path for path in paths if any(path[:length] in paths for length in range(1, len(path)))}  # a name there
    return [path for path in paths if path not in inside and value_at(one, path) != value_at(other, path)]


def _leaves(value: Any, path: Path = ()) -> Iterator[Path]:
    """The paths of all values that are no mappings; of `jobs` those inside them."""
    if path == ("jobs",):
        value = dict(enumerate(value))
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    else:
        yield path


def _change(name: str, paths: list[Path], one: Document, other: Document) -> Change:
    pairs = {path: (value_at(one, path), value_at(other, path)) for path in paths}
    return Change(name, {path: pair for path, pair in pairs.items() if pair[0] is not pair[1] and pair[0] != pair[1]})


def _blocks(document: Document) -> list[Any]:
    dimensions = value_at(document, DIMENSIONS)
    return [] if dimensions is ABSENT else [(entry.get("topology"), entry.get("size")) for entry in dimensions]


def _of_dimensions(one: Document, other: Document, taken: set[Path]) -> Iterator[Change]:
    for index, differing in enumerate(_differing_keys(one, other)):
        keys = [key for key in differing if (*DIMENSIONS, index, key) not in taken]
        shared = [key for key in NIC_KEYS if key in keys] if {"nics", "nic_bandwidth"} & set(keys) else []
        for group in ([shared] if shared else []) + [[key] for key in keys if key not in shared]:
            name = NICS if group is shared else group[0]
            paths: list[Path] = [(*DIMENSIONS, index, key) for key in group]
            yield _change(f"{name} of dimension {index}", paths, one, other)


def _differing_keys(one: Document, other: Document) -> list[list[str]]:
    """The keys in which two networks of the same blocks differ, by dimension."""
    pairs = [(value_at(one, (*DIMENSIONS, i)), value_at(other, (*DIMENSIONS, i))) for i in range(len(_blocks(one)))]
    return [[key for key in dict.fromkeys([*a, *b]) if a.get(key, ABSENT) != b.get(key, ABSENT)] for a, b in pairs]


def _of_machine(one: Document, other: Document) -> list[Path]:
    """What comes with another NPU in a network of the same blocks; other NICs come with all that they decide."""
    npus = [value_at(document, _NPU) for document in (one, other)]
    if npus[0] == npus[1] or all(isinstance(npu, Mapping) for npu in npus):
        return []
    paths: list[Path] = []
    for index, differing in enumerate(_differing_keys(one, other)):
        follows = (*_OF_MACHINE, *(NIC_KEYS if "nic_bandwidth" in differing else ()))
        paths += [(*DIMENSIONS, index, key) for key in differing if key in follows]
    return paths


def _short(path: Path) -> str:
    path = path[2:] if path[0] == "jobs" else path
    return format_path(path[1:] if path[0] in _SHORT and len(path) > 1 else path)


def time_differences(one: Result, other: Result) -> tuple[PartDifference, ...]:
    """The parts of the iteration time that either has, the largest change first; the changes add up to the total."""
    return _differences(breakdown(one), breakdown(other))


def cost_differences(one: Result, other: Result) -> tuple[PartDifference, ...]:
    """The parts of the cost, likewise; electricity is what the total has beyond the parts."""
    return _differences(_costs(one.cost), _costs(other.cost))


def memory_differences(one: Result, other: Result) -> tuple[PartDifference, ...]:
    """The parts of the memory that must be reserved, likewise; empty where a workload has none."""
    return (
        _differences(*(_memory(result) for result in (one, other))) if one.memory_bytes and other.memory_bytes else ()
    )


def _costs(cost: Cost) -> dict[str, float]:
    parts = {field.name: float(getattr(cost, field.name)) for field in fields(Cost) if field.name != "total"}
    rest = cost.total - sum(parts.values())
    return {**parts, "electricity": rest if abs(rest) > 1e-9 * abs(cost.total) else 0.0}


def _memory(result: Result) -> dict[str, float]:
    memory = result.memory_bytes
    assert memory is not None
    return {name_memory(part): size for part, size in memory_parts(memory).items()}


def _differences(one: dict[str, float], other: dict[str, float]) -> tuple[PartDifference, ...]:
    parts = [PartDifference(name, before, other[name]) for name, before in one.items() if before or other[name]]
    return tuple(sorted(parts, key=lambda part: -abs(part.change)))
