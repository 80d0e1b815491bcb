"""A user's own algorithm: for each kind, a list of messages in steps, for one number of members.

All messages of a step are sent at once, and the next step begins when all of them have arrived. The closed form of a
step is that of its busiest link and its longest way; the messages take just that where those of a step that share a
link share it from the start (on one port, say), and may take longer where they meet on the way.
"""

from __future__ import annotations

from dataclasses import dataclass

from simcore.collective.base import ALL, Algorithm, Piece, Plan, Step
from simcore.document.problem import Refusal
from simcore.network import Listed, Shape


@dataclass(frozen=True, slots=True)
class ListedMessage:
    """In step `step`, `source` sends `blocks` to `target`, to be added up there if `reduces`."""

    step: int
    source: int
    target: int
    blocks: tuple[int, ...]
    reduces: bool


@dataclass(frozen=True, slots=True)
class ListedKind:
    """One collective kind: its buffer in `blocks` equal blocks, its messages in the order of their steps."""

    kind: str
    members: int
    blocks: int
    messages: tuple[ListedMessage, ...]

    @property
    def pieces(self) -> int:
        """Into how many pieces the buffer of one member is cut: of an all_to_all, one for each member."""
        return self.members if self.kind == "all_to_all" else self.blocks


@dataclass(frozen=True)
class CustomAlgorithm(Algorithm):
    """See the module."""

    name: str
    kinds: tuple[ListedKind, ...]

    def does(self, kind: str, shape: Shape) -> bool:
        """See `Algorithm.does`."""
        return any(listed.kind == kind for listed in self.kinds)

    def steps(self, kind: str, members: int) -> tuple[Step, ...]:
        """See `Algorithm.steps`."""
        listed = self._find_listed(kind, members)
        out = []
        for number in sorted({message.step for message in listed.messages}):
            together = [message for message in listed.messages if message.step == number]
            moves = tuple((message.source, message.target, float(len(message.blocks))) for message in together)
            out.append(Step(Listed(moves), 1 / listed.pieces))
        return tuple(out)

    def plan(self, kind: str, members: int, shape: Shape) -> Plan:
        """See `Algorithm.plan`."""
        listed = self._find_listed(kind, members)
        plan = Plan(listed.pieces)
        earlier: list[int] = []
        for number in sorted({message.step for message in listed.messages}):
            together = [message for message in listed.messages if message.step == number]
            earlier += [
                plan.send(
                    message.source,
                    message.target,
                    [self._piece(kind, block, listed) for block in message.blocks],
                    tuple(earlier),
                    message.reduces,
                )
                for message in together
            ]
        return plan

    def misfit(self, kind: str) -> tuple[str, str] | None:
        """What number of blocks a kind needs, and what is listed; None where it has that many."""
        listed = next(listed for listed in self.kinds if listed.kind == kind)
        n = listed.members
        need = {"all_gather": n, "reduce_scatter": n, "all_to_all": n * n}.get(kind, listed.blocks)
        return None if listed.blocks == need else (f"{need} blocks for {n} members", str(listed.blocks))

    def _piece(self, kind: str, block: int, listed: ListedKind) -> Piece:
        """In an all_to_all block `o n + t` is what member o has for member t; else it is a block of the buffer."""
        if kind == "all_to_all":
            return Piece(block // listed.members, block % listed.members, 0)
        return Piece(ALL, block, 0)

    def _find_listed(self, kind: str, members: int) -> ListedKind:
        listed = next(listed for listed in self.kinds if listed.kind == kind)
        if listed.members != members:
            raise Refusal(f"a group of {listed.members} members for {kind}", str(members), where=self.name)
        return listed
