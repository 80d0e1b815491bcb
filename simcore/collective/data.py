"""Where the data ends: follows every piece of a plan, and says what is sent before it is there, or never arrives.

A message may carry only what its sender holds from the start or received in the messages it waits for, whatever the
timing of all others. A sum must count every member's contribution exactly once.
"""

from __future__ import annotations

from dataclasses import dataclass

from simcore.collective.base import ALL, Message, Piece, Plan

Content = dict[Piece, frozenset[int]]
"""Whose contributions are in each piece of a message."""


def find_misplaced(kind: str, members: int, plan: Plan) -> list[str]:
    """What is wrong with a plan for a collective `kind`, in sentences; empty where the data ends where it must."""
    return _Delivery(kind, members, plan).problems()


@dataclass
class _Delivery:
    kind: str
    members: int
    plan: Plan

    def problems(self) -> list[str]:
        """See `misplaced`."""
        self.found: list[str] = []
        self.contents: list[Content] = []
        for number, message in enumerate(self.plan.messages):
            if any(earlier >= number for earlier in message.after):
                self.found.append(f"message {number} waits for a later one")
            self.contents.append({piece: self._content(number, message, piece) for piece in message.pieces})
        for member in range(self.members):
            received = [n for n, message in enumerate(self.plan.messages) if message.target == member]
            for block in range(self.plan.blocks):
                for part in range(self.plan.parts):
                    self._check_end(member, Piece(ALL, block, part), received)
        return self.found

    def _content(self, number: int, message: Message, piece: Piece) -> frozenset[int]:
        arrived = [n for n in message.after if self.plan.messages[n].target == message.source]
        if message.reduces and piece.origin == ALL:
            return self._sum(message.source, piece, arrived)
        if message.reduces or self.kind == "all_to_all":
            there = piece.origin == message.source or self._is_carried(piece, arrived)
        else:
            there = self._has_value(message.source, piece, arrived)
        if not there:
            self.found.append(f"message {number}: member {message.source} does not have {piece} yet")
        return frozenset([piece.origin])

    def _is_carried(self, piece: Piece, arrived: list[int]) -> bool:
        return any(piece in self.contents[n] for n in arrived)

    def _sum(self, member: int, piece: Piece, arrived: list[int]) -> frozenset[int]:
        """Contributions to a block that `member` has, its own included."""
        total = frozenset([member])
        for n in arrived:
            if not self.plan.messages[n].reduces:
                continue
            for other, contributors in self.contents[n].items():
                if (other.block, other.part) != (piece.block, piece.part):
                    continue
                if other.origin != ALL and member != piece.block:
                    continue  # passes through on its way to where it is summed
                if total & contributors:
                    self.found.append(f"member {member} counts {sorted(total & contributors)} twice in {piece}")
                total |= contributors
        return total

    def _has_value(self, member: int, piece: Piece, arrived: list[int]) -> bool:
        """Whether `member` has the finished value of a block."""
        first = {"all_gather": member == piece.block, "broadcast": member == 0}
        if first.get(self.kind, False):
            return True
        for n in arrived:
            finished = not self.plan.messages[n].reduces
            if finished and any((p.block, p.part) == (piece.block, piece.part) for p in self.contents[n]):
                return True
        return self.kind == "all_reduce" and len(self._sum(member, piece, arrived)) == self.members

    def _check_end(self, member: int, piece: Piece, received: list[int]) -> None:
        """What must be true of a block at the end."""
        match self.kind:
            case "reduce_scatter":
                good = member != piece.block or len(self._sum(member, piece, received)) == self.members
            case "all_to_all":
                own = piece.block == member
                good = own or self._is_carried(Piece(piece.block, member, piece.part), received)
            case _:
                good = self._has_value(member, piece, received)
        if not good:
            self.found.append(f"member {member} ends without {piece}")
