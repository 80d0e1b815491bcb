"""A step in which every member of a group does the same (a pattern), and what a step costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Shift:
    """Each member sends a message to the next one, `steps` < members times in a row, so that each passes all others.

    Around a closed ring the two directions carry half of every message each; on a line it is a sweep from each end, of
    what is meant for the members beyond (on the way back, `gathers`, of what the members behind have).
    """

    steps: int
    gathers: bool = False


@dataclass(frozen=True, slots=True)
class Exchange:
    """Each member exchanges its message with the member whose rank differs in the bit `distance`."""

    distance: int


@dataclass(frozen=True, slots=True)
class Spread:
    """Each member sends a message of its own to every other member, all at once.

    With a `window`, to so many others at a time: the next ones only once those have arrived everywhere.
    """

    window: int = 0


@dataclass(frozen=True, slots=True)
class Tree:
    """A double binary tree, pipelined: every byte goes up one of two trees and down again (Sanders et al. 2009)."""

    depth: int


@dataclass(frozen=True, slots=True)
class Chain:
    """The first member sends `pieces` messages, one after the other, down the chain of members."""

    pieces: int


@dataclass(frozen=True, slots=True)
class Send:
    """Each member sends one message to the member `distance` further on, without wrap-around."""

    distance: int


@dataclass(frozen=True, slots=True)
class Listed:
    """Any messages at once: (source, target, how many times the step's share)."""

    messages: tuple[tuple[int, int, float], ...]


Pattern = Shift | Exchange | Spread | Tree | Chain | Send
"""What every member of a group does in a step."""

Loads = tuple[tuple[float, float], ...]
"""A link's load message by message size: (load, size of a message as it passes the link)."""


class StepCost(NamedTuple):
    """Cost of a step: `load` x (bytes of one message) / bandwidth [s], and `hops` x latency [s]."""

    load: float
    hops: float
    messages: Loads = ((1.0, 1.0),)
    """(Share of the load, size as it passes a link per byte of one message): not 1 where messages are split on their
    way, or put together with others."""

    @property
    def loads(self) -> Loads:
        """The load, message size by message size."""
        return tuple((self.load * share, message) for share, message in self.messages)
