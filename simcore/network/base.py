"""A topology block: one network dimension as a parallel group sees it.

A group takes a factor of a dimension: `members` NPUs, `stride` apart, out of `size`. What a block answers is one
question: a *step* in which every member of the group does the same (a `Pattern`), how long does it occupy each
member's ports, and how many neighbour-to-neighbour hops does its slowest message travel. Occupancy is a factor on
bytes / bandwidth, so that it can be worked out once for a group and used for every message size.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Shift:
    """Each member sends its message to the next member, cyclically, `steps` times in a row.

    `steps` < members, so that no dependent chain of messages crosses the wrap-around twice.
    """

    steps: int


@dataclass(frozen=True, slots=True)
class Exchange:
    """Each member exchanges its message with the member whose rank differs in the bit `distance`."""

    distance: int


@dataclass(frozen=True, slots=True)
class Spread:
    """Each member sends a message of its own to every other member, all at once."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A double binary tree, pipelined: every byte goes up one of two trees and down again (Sanders et al. 2009)."""

    depth: int


@dataclass(frozen=True, slots=True)
class Send:
    """Each member sends one message to the member `distance` further on, without wrap-around."""

    distance: int


Pattern = Shift | Exchange | Spread | Tree | Send


class StepCost(NamedTuple):
    """Cost of a step: `load` x (bytes of one message) / bandwidth [s], and `hops` x latency [s]."""

    load: float
    hops: int


@dataclass(frozen=True, slots=True)
class Slice:
    """The part of a dimension that a group takes."""

    size: int
    members: int
    stride: int


class Block(ABC):
    """A kind of topology."""

    @abstractmethod
    def step(self, pattern: Pattern, part: Slice) -> StepCost:
        """Cost of `pattern` for a group on `part`, per byte of one message.

        The load counts from the injection bandwidth B of one NPU: 1 means that the message passes at B.
        """
