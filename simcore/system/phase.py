"""One phase of a chunk, the phases that make up a collective, and durations in whole picoseconds."""

from __future__ import annotations

from typing import NamedTuple

from simcore.design.library import Passes
from simcore.document.problem import InputError, Problem

PICOSECONDS = 1e12

LONGEST = 1 << 62
"""Longest time [ps], 53 days: two of them still add up in 64 bits."""

FLAT = "flat_"
"""Prefix of the kind of a phase that goes round all members of a group at once."""


class Phase(NamedTuple):
    """One phase of one chunk."""

    dimension: int
    serialization: int
    """Time it occupies its dimension [ps], at least 1."""
    latency: int
    """Time from then until its chunk is ready for the next phase [ps]."""
    size: float
    """Bytes of the chunk that enters [B]."""
    sent: float
    """Bytes each NPU sends [B]."""
    kind: str
    """Collective kind, or `send_recv`."""
    passes: Passes | None = None
    """What its library does beyond its links."""
    other_links: int = 0
    """The part of the latency that its steps take on other links than the busiest [ps]."""
    in_switch: bool = False
    """Whether switches add up and copy (`simcore.network.reduction`)."""
    steps: int = 1
    """Messages that its busiest link carries one after the other."""
    begun: bool = False
    """Whether it is a step of a phase that has begun (`simcore.system.steps`)."""
    further_steps: int = 0
    """The part of the latency that steps of a ring over more than its dimension take beyond its algorithm's [ps]."""


class Chunks(NamedTuple):
    """How a collective goes: its different paths, and which of them each chunk takes."""

    paths: list[list[Phase]]
    chosen: list[int]

    def count_paths(self) -> list[tuple[list[Phase], int]]:
        """Each path with the number of chunks that take it."""
        if len(self.paths) == 1:
            return [(self.paths[0], len(self.chosen))]
        return [(path, self.chosen.count(index)) for index, path in enumerate(self.paths)]

    def count_phases(self) -> list[tuple[int, int, int, float]]:
        """Each phase of each path: the chunks that have it, its dimension, how long it serves [ps], its bytes."""
        paths = self.count_paths()
        return [(times, its.dimension, its.serialization, its.sent) for path, times in paths for its in path]


def picoseconds(seconds: float, least: int = 1) -> int:
    """The one place where a duration is rounded, to at least `least`.

    Raises `InputError` where it is longer than `LONGEST`.
    """
    time = seconds * PICOSECONDS
    if not time < LONGEST:
        raise too_long_error(seconds)
    rounded = round(time)
    return rounded if rounded > least else least


def too_long_error(seconds: float) -> InputError:
    """The error of a design whose times do not fit 64 bits of picoseconds."""
    longest = f"an iteration of at most {LONGEST / PICOSECONDS / 86400:.0f} days"
    fix = "use a smaller workload, or faster NPUs and networks"
    return InputError([Problem((), longest, f"{seconds / 86400:.3g} days or more", fix)], "simulation")
