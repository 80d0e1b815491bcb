"""Kineto's timeline of a rank: a Chrome trace whose events carry the times of operators, launches and kernels.

An event of an operator names its record function (`Record function id`), a launch the operator it runs in
(`External id`), and a kernel the launch (`correlation`). Times are in [µs]. Sources: PyTorch Kineto's Chrome trace
(`libkineto/src/output_json.cpp`), and what of it Chakra's `trace_link` reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simcore.traces.base import refuse
from simcore.traces.pytorch.files import number, read_object, text, whole

WHAT = "a timeline of Kineto (Chrome trace)"
HOST = ("cpu_op", "user_annotation")
LAUNCH = ("cuda_runtime", "cuda_driver", "hip_runtime", "xpu_runtime")
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
BLOCKING = re.compile(r"(cuda|hip)(Device|Stream|Event)Synchronize|(cuda|hip)Memcpy|cu(Ctx|Stream|Event)Synchronize")
"""Calls in which the host waits for its devices."""


@dataclass(frozen=True)
class Event:
    """A span of the timeline [µs]."""

    name: str
    category: str
    start: float
    duration: float
    thread: str
    arguments: Mapping[str, Any]

    @property
    def end(self) -> float:
        """When it ends."""
        return self.start + self.duration

    @property
    def record(self) -> int:
        """Id of the record function."""
        return whole(self.arguments, "Record function id")

    @property
    def external(self) -> int:
        """Id of the operator it belongs to."""
        return whole(self.arguments, "External id", whole(self.arguments, "external id"))

    @property
    def correlation(self) -> int:
        """Id that a launch and its kernel share."""
        return whole(self.arguments, "correlation")

    @property
    def stream(self) -> int:
        """Stream of a kernel."""
        return whole(self.arguments, "stream", 0)


@dataclass(frozen=True)
class Timeline:
    """The events of a rank by what they are, each in the order of their starts."""

    path: Path
    host: tuple[Event, ...]
    launches: tuple[Event, ...]
    device: tuple[Event, ...]
    groups: Mapping[str, tuple[int, ...]]
    rank: int
    world: int


def read_timeline(path: Path) -> Timeline:
    """Read the timeline of a rank.

    Raises `InputError` where it is none, or cut short.
    """
    document = read_object(path, WHAT)
    listed = document.get("traceEvents")
    if not isinstance(listed, list):
        found = "an execution trace" if "nodes" in document else "an object without traceEvents"
        refuse(str(path), WHAT, found, "the execution trace comes first, its timeline after --timeline")
    events = [_event(entry) for entry in listed if isinstance(entry, dict) and entry.get("ph") == "X"]
    events.sort(key=lambda event: (event.start, -event.duration))
    job = document.get("distributedInfo")
    return Timeline(
        path,
        tuple(event for event in events if event.category in HOST),
        tuple(event for event in events if event.category in LAUNCH),
        tuple(event for event in events if event.category in DEVICE),
        _groups(job),
        whole(job, "rank"),
        whole(job, "world_size", 0),
    )


def _event(entry: dict[str, Any]) -> Event:
    arguments = entry.get("args")
    return Event(
        text(entry, "name"),
        text(entry, "cat"),
        number(entry, "ts"),
        max(0.0, number(entry, "dur")),
        str(entry.get("tid")),
        arguments if isinstance(arguments, dict) else {},
    )


def _groups(job: Any) -> dict[str, tuple[int, ...]]:
    listed = job.get("pg_config") if isinstance(job, dict) else None
    groups = {}
    for entry in listed if isinstance(listed, list) else ():
        ranks = entry.get("ranks") if isinstance(entry, dict) else None
        if isinstance(ranks, list) and all(type(rank) is int and rank >= 0 for rank in ranks):
            groups[str(entry.get("pg_name"))] = tuple(ranks)
    return groups
