"""A topology block: one network dimension as a parallel group sees it.

A group takes a factor of a dimension: `members` NPUs, `stride` apart, out of `size`. A block says the same thing
twice. `step` is the closed form: for a *step* in which every member of the group does the same (a `Pattern`), how long
it occupies each member's ports, and how many neighbour-to-neighbour hops its slowest message travels; occupancy is a
factor on bytes / bandwidth, so that it can be worked out once for a group and used for every message size. `wiring`
and `routes` are the links themselves, over which the link-level engine sends the messages of `simcore.collective`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, NamedTuple


@dataclass(frozen=True, slots=True)
class Shift:
    """Each member sends a message to the next one, `steps` < members times in a row, so that each passes all others.

    Around a closed ring the two directions carry half of every message each; on a line it is a sweep from each end.
    """

    steps: int


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
    """Any messages at once: (source, target, how many times the step's share). See `simcore.network.listed`."""

    messages: tuple[tuple[int, int, float], ...]


Pattern = Shift | Exchange | Spread | Tree | Chain | Send


Loads = tuple[tuple[float, float], ...]
"""A link's load message by message size: (load, size of a message as it passes the link)."""


class StepCost(NamedTuple):
    """Cost of a step: `load` x (bytes of one message) / bandwidth [s], and `hops` x latency [s]."""

    load: float
    hops: int
    messages: Loads = ((1.0, 1.0),)
    """(Share of the load, size as it passes a link per byte of one message): not 1 where messages are split on their
    way, or put together with others."""

    @property
    def loads(self) -> Loads:
        """The load, message size by message size."""
        return tuple((self.load * share, message) for share, message in self.messages)


class Slice(NamedTuple):
    """The part of a dimension that a group takes."""

    size: int
    members: int
    stride: int


class Shape(NamedTuple):
    """What an algorithm must know of the links between members to say who sends what to whom.

    `ring`: neighbours only, closed; `line`: neighbours only, open; `star`: everyone reaches everyone in one step, and
    the `leaf` members that follow one another from a multiple of `leaf` on are nearer to each other than to others.
    """

    kind: Literal["ring", "line", "star"]
    leaf: int = 0


class Link(NamedTuple):
    """A one-way link from node to node: nodes 0 … members - 1 are the NPUs, those above are switches."""

    source: int
    target: int
    rate: float
    """Its bandwidth, as a factor on the injection bandwidth B of an NPU."""
    hops: int
    """Its latency, in steps between neighbours."""


Route = tuple[int, ...]
"""Links by number, from the sender to the receiver."""


class Block(ABC):
    """A kind of topology."""

    @abstractmethod
    def step(self, pattern: Pattern, part: Slice) -> StepCost:
        """Cost of `pattern` for a group on `part`, per byte of one message.

        The load counts from the injection bandwidth B of one NPU: 1 means that the message passes at B.
        """

    @abstractmethod
    def shape(self, part: Slice) -> Shape:
        """How the members of a group on `part` are connected."""

    @abstractmethod
    def wiring(self, part: Slice) -> tuple[Link, ...]:
        """The links of a group on `part`; of links that it shares with other groups, its share."""

    @abstractmethod
    def routes(self, part: Slice, source: int, target: int) -> tuple[Route, ...]:
        """The ways from member `source` to member `target`; a message splits evenly among them."""
