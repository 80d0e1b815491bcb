"""A collective algorithm: one collective kind on one network dimension, said twice.

`steps` is the closed form: what every member does, step after step, as patterns that a topology block can price.
`plan` is the schedule of messages: who sends what to whom after what. The two must agree on an idle network, and the
messages must leave the data where the kind says (`simcore.collective.data`); conformance tests hold both.

Everything is written for n members with a buffer of 1 byte each (for all_gather: the buffer that results) and scales
with it. Kinds: all_reduce, reduce_scatter, all_gather, all_to_all, broadcast (from member 0). An algorithm that lacks
a kind says so in `does`, and `direct` takes its place (`ring` between neighbours, and to broadcast).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from simcore.network import Listed, Pattern, Shape

ALL = -1
"""Origin of a piece that is the sum of what its sender has collected so far."""


class Step(NamedTuple):
    """A step in which every member follows `pattern` with messages of `share` of the buffer."""

    pattern: Pattern | Listed
    share: float
    pieces: int = 1
    """Messages in which the share is sent, one after the other."""


class Piece(NamedTuple):
    """Part `part` of block `block`: of what `origin` alone contributes to it (or of the sum, `ALL`)."""

    origin: int
    block: int
    part: int


class Message(NamedTuple):
    """`source` sends `pieces` to `target`, once the messages `after` (by number) have arrived.

    `way` lists members in between that receive the message whole and pass it on. With `reduces` the pieces are
    contributions to a sum; else they are finished values.
    """

    source: int
    target: int
    pieces: tuple[Piece, ...]
    after: tuple[int, ...]
    reduces: bool
    way: tuple[int, ...] = ()


@dataclass(slots=True)
class Plan:
    """All messages of one collective: its buffer consists of `blocks` x `parts` equal pieces."""

    blocks: int
    parts: int = 1
    messages: list[Message] = field(default_factory=list)

    def send(
        self,
        source: int,
        target: int,
        pieces: Iterable[Piece],
        after: Iterable[int] = (),
        reduces: bool = False,
        way: tuple[int, ...] = (),
    ) -> int:
        """Add a message; its number."""
        self.messages.append(Message(source, target, tuple(pieces), tuple(after), reduces, way))
        return len(self.messages) - 1

    def block_pieces(self, block: int) -> tuple[Piece, ...]:
        """All parts of a block."""
        return tuple(Piece(ALL, block, part) for part in range(self.parts))

    def share(self, message: Message) -> float:
        """Bytes of a message per byte of the buffer."""
        return len(message.pieces) / (self.blocks * self.parts)


class Algorithm(ABC):
    """A way to move the data of a collective within one dimension."""

    short: ClassVar[str] = ""
    """Its name in tables; empty where that is the name in documents."""

    def needs(self, members: int) -> str | None:
        """What number of members it needs ("a power of two"); None where it serves so many."""
        return None

    @abstractmethod
    def does(self, kind: str, shape: Shape) -> bool:
        """Whether it has a kind of its own between members connected like `shape`."""

    @abstractmethod
    def steps(self, kind: str, members: int) -> tuple[Step, ...]:
        """The steps of a kind it does among `members` >= 2 NPUs, one after the other.

        Raises `ValueError` for a number of members that it cannot serve.
        """

    @abstractmethod
    def plan(self, kind: str, members: int, shape: Shape) -> Plan:
        """The messages of a kind it does among `members` >= 2 NPUs connected like `shape`; raises as `steps`."""


def mirror_steps(reduce_scatter: tuple[Step, ...], kind: str) -> tuple[Step, ...]:
    """The steps of `kind` for an algorithm whose all-gather is its reduce-scatter backwards."""
    scatter = reduce_scatter if kind in ("reduce_scatter", "all_reduce") else ()
    gather = reduce_scatter[::-1] if kind in ("all_gather", "all_reduce") else ()
    return scatter + gather


SCATTERING = ("reduce_scatter", "all_reduce")
GATHERING = ("all_gather", "all_reduce")
