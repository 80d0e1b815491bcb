"""In which order the chunks that wait for a dimension are served: fifo, lifo, scf, priority.

A policy is two numbers: the key of a phase, and what each later issue adds to it. The smallest key is served first;
ties go by arrival, then issue, then chunk. A started phase is never interrupted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from simcore.design.system import System


@dataclass(frozen=True, slots=True)
class Policy:
    """`key(system, group, size)` of a phase that begins with a chunk of `size` [B], and the weight of its issue."""

    key: Callable[[System, str, int], int]
    issue_weight: int = 0
    by_arrival: bool = False
    """Whether nothing but arrivals counts: then a phase never overtakes another."""


_KNOWN_AS = dict.fromkeys(("data_context", "expert_data", "shard", "expert_shard", "replica"), "data")
"""Groups over which gradients are reduced, and parameters gathered, count as data parallel."""


def _rank(system: System, group: str, size: int) -> int:
    listed: tuple[str, ...] = system.priority
    group = _KNOWN_AS.get(group, group)
    return listed.index(group) if group in listed else len(listed)


POLICIES: dict[str, Policy] = {
    "fifo": Policy(lambda system, group, size: 0, by_arrival=True),
    "lifo": Policy(lambda system, group, size: 0, issue_weight=-1),
    "scf": Policy(lambda system, group, size: size),
    "priority": Policy(_rank),
}
