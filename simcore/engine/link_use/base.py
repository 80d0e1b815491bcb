"""What is said of links: who uses them, and for which share of the time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

FREE = -1
"""The job, and the stage, of an NPU that no job has."""


class Share(NamedTuple):
    """What one group of the NPUs of one stage puts on a link."""

    stage: int
    group: str
    """The parallel group; `pipeline` for messages between stages."""
    share: float
    """Share of the time for which the link carries it."""
    job: int = 0
    """The number of the job."""


@dataclass(frozen=True, slots=True)
class LinkUse:
    """Links of a row that are loaded alike because packets are spread over all of them; most are single links."""

    ends: tuple[tuple[int, int], ...]
    """Nodes that each leads from and to: those below the row's size are NPUs, the others switches."""
    rate: float
    """Rate of one of them [B/s]."""
    by: tuple[Share, ...]
    """The largest share first."""

    @property
    def utilization(self) -> float:
        """Share of the time for which it carries data."""
        return sum(one.share for one in self.by)


@dataclass(frozen=True, slots=True)
class RowUse:
    """The links of a row of NPUs along a dimension."""

    dimension: int
    stages: tuple[int, ...]
    """The stage of each of its NPUs; of groups side by side, the number of the group; `FREE` of no job's."""
    jobs: tuple[int, ...]
    """The job of each of its NPUs."""
    links: tuple[LinkUse, ...]

    @property
    def busiest(self) -> float:
        """The utilization of its busiest link."""
        return max((link.utilization for link in self.links), default=0.0)


def busiest_rows(rows: Sequence[RowUse]) -> dict[int, RowUse]:
    """The busiest row of each dimension."""
    found: dict[int, RowUse] = {}
    for row in rows:
        if row.dimension not in found or row.busiest > found[row.dimension].busiest:
            found[row.dimension] = row
    return found
