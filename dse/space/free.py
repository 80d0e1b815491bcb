"""Holes that would be filled for nothing: keys whose other values have a price, or a recording, of their own.

The NICs and the memory of a parameter server are in its price, which the document gives for the whole server; the times
of a trace, or of a table of layers, are those of the NPU and the degrees for which they were recorded. What updates
weights in an expanded memory, and a pool's fabric that copies and adds up, have no price, and a pool without a fabric
has no limit. Varied alone, the best value would always win.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from simcore.document.problem import Path, Problem

_OF_SERVER = ("nics", "memory_bandwidth")


def free_holes(data: Any, path: Path = ()) -> Iterator[Problem]:
    """A problem for each hole of a document that varies what has its price elsewhere."""
    if isinstance(data, Mapping):
        yield from _of_section(data, path)
        for key, value in data.items():
            yield from free_holes(value, (*path, key))
    elif isinstance(data, list | tuple):
        for index, value in enumerate(data):
            yield from free_holes(value, (*path, index))


def _of_section(section: Mapping[str, Any], path: Path) -> Iterator[Problem]:
    if "servers" in section and "price" in section and not isinstance(section["price"], Mapping):
        for key in _OF_SERVER:
            if isinstance(section.get(key), Mapping):
                fix = "list whole servers: parameter_server: {choice: [{nics: 1, price: ...}, {nics: 2, price: ...}]}"
                yield Problem(
                    (*path, key), f"one value beside one price, which is that of a server with its {key}", "a hole", fix
                )
    if "trace" in section and isinstance(section.get("recorded_on"), Mapping):
        fix = "name it; another NPU's times need another trace, or one with FLOPs and bytes"
        yield Problem((*path, "recorded_on"), "the NPU on which the trace was recorded", "a hole", fix)
    if "timed_layers" in section:
        for key in ("recorded_on", "tensor", "data"):
            if isinstance(section.get(key), Mapping):
                fix = "list whole workloads: workload: {choice: [{timed_layers: a.csv, tensor: 4, ...}, ...]}"
                yield Problem((*path, key), "that for which the layers were timed", "a hole", fix)
    if path[-1:] == ("expanded",) or path[-2:-1] == ("expanded",):
        yield from _of_expanded(section, path)


def _of_expanded(section: Mapping[str, Any], path: Path) -> Iterator[Problem]:
    """What has no price in an expanded memory, and what would be a limit or none."""
    for key in ("updates", "in_network"):
        if isinstance(section.get(key), Mapping):
            yield Problem((*path, key), "true or false: it has no price", "a hole", "search both spaces, and compare")
    fabric = section.get("fabric")
    listed = fabric.get("choice") if isinstance(fabric, Mapping) else None
    if isinstance(listed, list | tuple) and any(not levels for levels in listed):
        fix = "leave [] out, or search both spaces, and compare"
        yield Problem(
            (*path, "fabric"), "networks: without one nothing limits, and nothing is paid", "a hole with []", fix
        )
