"""Bruck: ceil(log2 n) steps for any number of members (Bruck et al. 1997).

In the all-gather's step k everyone sends the 2^k blocks it has, its own and those that follow it, to the member 2^k
places before it (in the last step only those that are missing there). The reduce-scatter is the same backwards. Members
send to others far away, so between neighbours alone the stand-in takes its place.
"""

from __future__ import annotations

from simcore.collective import ALL, GATHERING, SCATTERING, Algorithm, Piece, Plan, Step
from simcore.network import Listed, Shape


def jumps(members: int) -> list[tuple[int, int]]:
    """Of each step of the all-gather: how far messages go, and how many blocks they carry."""
    return [(1 << k, min(1 << k, members - (1 << k))) for k in range((members - 1).bit_length())]


class Bruck(Algorithm):
    """Bandwidth-optimal with logarithmic latency, for any number of members."""

    def does(self, kind: str, shape: Shape) -> bool:
        return kind in SCATTERING + GATHERING and shape.kind == "star"

    def steps(self, kind: str, members: int) -> tuple[Step, ...]:
        scatter = [_all_send(members, jump, blocks) for jump, blocks in reversed(jumps(members))]
        gather = [_all_send(members, -jump, blocks) for jump, blocks in jumps(members)]
        return (*(scatter if kind in SCATTERING else ()), *(gather if kind in GATHERING else ()))

    def plan(self, kind: str, members: int, shape: Shape) -> Plan:
        plan = Plan(members)
        got: list[list[int]] = [[] for _ in range(members)]
        for jump, blocks in reversed(jumps(members)) if kind in SCATTERING else ():
            _step(plan, got, jump, range(jump, jump + blocks), reduces=True)
        for jump, blocks in jumps(members) if kind in GATHERING else ():
            _step(plan, got, -jump, range(blocks), reduces=False)
        return plan


def _all_send(members: int, jump: int, blocks: int) -> Step:
    """A step in which everyone sends `blocks` of the buffer's `members` blocks `jump` places on."""
    return Step(Listed(tuple((i, (i + jump) % members, float(blocks)) for i in range(members))), 1 / members)


def _step(plan: Plan, got: list[list[int]], jump: int, offsets: range, reduces: bool) -> None:
    """Everyone sends `jump` places on the blocks that lie `offsets` behind its own."""
    members = len(got)
    before = [tuple(numbers) for numbers in got]
    for i in range(members):
        pieces = [Piece(ALL, (i + offset) % members, 0) for offset in offsets]
        target = (i + jump) % members
        got[target].append(plan.send(i, target, pieces, before[i], reduces))


BRUCK = Bruck()
