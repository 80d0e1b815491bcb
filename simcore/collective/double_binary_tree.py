"""Double binary tree: two trees, each reducing and broadcasting half of the buffer (Sanders, Speck, Träff 2009).

All-reduce only: 2 log2(n) a + 2 S/B, any n. `simcore.network.tree` says who is
whose parent.

The closed form is that of a pipeline with infinitely many pieces. The messages come in `PIECES` pieces a tree: they
take longer by the time to fill the pipeline, a share that falls as 1 / PIECES.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from simcore.collective.base import Algorithm, Plan, Step
from simcore.network import Shape, Tree
from simcore.network.tree import trees

PIECES = 16
"""Pieces into which each tree's half of the buffer is cut."""


@dataclass(frozen=True)
class DoubleBinaryTree(Algorithm):
    """Logarithmic latency at full bandwidth for the whole buffer."""

    short: ClassVar[str] = "DBT"
    pieces: int = PIECES

    def does(self, kind: str, shape: Shape) -> bool:
        """See `Algorithm.does`."""
        return kind == "all_reduce"

    def steps(self, kind: str, members: int) -> tuple[Step, ...]:
        """See `Algorithm.steps`."""
        return (Step(Tree(members.bit_length() - 1), 1.0, 2 * self.pieces),)

    def plan(self, kind: str, members: int, shape: Shape) -> Plan:
        """See `Algorithm.plan`."""
        plan = Plan(2, self.pieces)
        for piece in range(self.pieces):
            for half, parent in enumerate(trees(members)):
                _send_piece(plan, parent, half, piece)
        return plan


def _send_piece(plan: Plan, parent: Sequence[int], half: int, piece: int) -> None:
    """One piece of one half: up the tree, then down."""
    n = len(parent)
    children = [[child for child in range(n) if parent[child] == member] for member in range(n)]
    content = [plan.block_pieces(half)[piece]]
    root = parent.index(-1)

    def send_up(member: int) -> list[int]:
        arrived = [number for child in children[member] for number in send_up(child)]
        if member == root:
            return arrived
        return [plan.send(member, parent[member], content, arrived, reduces=True)]

    def send_down(member: int, after: list[int]) -> None:
        for child in children[member]:
            send_down(child, [plan.send(member, child, content, after)])

    send_down(root, send_up(root))
