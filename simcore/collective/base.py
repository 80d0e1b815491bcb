"""A collective algorithm: the steps of one phase, that is, of one collective kind on one network dimension.

The steps are written for a group of n members that holds a buffer of 1 byte per member (for all_gather: the buffer
that results); they scale with the buffer. Kinds: `reduce_scatter`, `all_gather`, `all_reduce`, `all_to_all`. An
algorithm that lacks a kind says so with an empty tuple, and `direct` (on a ring: `ring`) takes its place.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from simcore.network import Pattern


class Step(NamedTuple):
    """A step in which every member follows `pattern` with messages of `share` of the buffer."""

    pattern: Pattern
    share: float


class Algorithm(ABC):
    """A way to move the data of a collective within one dimension."""

    @abstractmethod
    def steps(self, kind: str, members: int) -> tuple[Step, ...]:
        """The steps of `kind` among `members` >= 2 NPUs, one after the other; empty where it has no such kind."""


def mirrored(reduce_scatter: tuple[Step, ...], kind: str) -> tuple[Step, ...]:
    """The steps of `kind` for an algorithm whose all-gather is its reduce-scatter backwards."""
    match kind:
        case "reduce_scatter":
            return reduce_scatter
        case "all_gather":
            return reduce_scatter[::-1]
        case "all_reduce":
            return reduce_scatter + reduce_scatter[::-1]
        case _:
            return ()
