"""Halving-doubling: log2(n) exchanges of halves, quarters, … of the buffer (Thakur, Rabenseifner, Gropp 2005).

log2(n) a + S(n-1)/n/B each way; n must be a power of two. Between neighbours only, the members in between pass the
messages on, and those of the farthest exchange on a closed ring go half of them each way round. Broadcast is the
binomial tree: log2(n)(a + S/B).
"""

from __future__ import annotations

from simcore.collective.base import ALL, GATHERING, SCATTERING, Algorithm, Piece, Plan, Step, mirror_steps
from simcore.document.problem import Refusal
from simcore.network import Exchange, Shape


class HalvingDoubling(Algorithm):
    """Bandwidth-optimal with logarithmic latency."""

    short = "HD"

    def needs(self, members: int) -> str | None:
        """See `Algorithm.needs`."""
        return "a power of two" if members & (members - 1) else None

    def does(self, kind: str, shape: Shape) -> bool:
        """See `Algorithm.does`."""
        return kind != "all_to_all"

    def steps(self, kind: str, members: int) -> tuple[Step, ...]:
        """See `Algorithm.steps`; partners are 1, 2, 4, … ranks away while messages halve."""
        depth = _depth(members)
        if kind == "broadcast":
            return tuple(Step(Exchange(1 << level), 1.0) for level in reversed(range(depth)))
        halving = tuple(Step(Exchange(1 << level), 0.5 ** (level + 1)) for level in range(depth))
        return mirror_steps(halving, kind)

    def plan(self, kind: str, members: int, shape: Shape) -> Plan:
        """See `Algorithm.plan`."""
        n, depth = members, _depth(members)
        plan = Plan(n, 2 if shape.kind == "ring" else 1)
        got: list[list[int]] = [[] for _ in range(n)]
        if kind == "broadcast":
            for level in reversed(range(depth)):
                for i in range(0, n, 2 << level):
                    got[i + (1 << level)] += _add_exchange(plan, n, shape, i, i + (1 << level), range(n), got, False)
            return plan
        for level in range(depth) if kind in SCATTERING else ():
            _add_level(plan, n, shape, level, got, True)
        for level in reversed(range(depth)) if kind in GATHERING else ():
            _add_level(plan, n, shape, level, got, False)
        return plan


def _depth(members: int) -> int:
    if members & (members - 1):
        raise Refusal("a power of two members", str(members), "use ring or direct", where="halving_doubling")
    return members.bit_length() - 1


def _add_level(plan: Plan, n: int, shape: Shape, level: int, got: list[list[int]], reduces: bool) -> None:
    """Everyone exchanges with its partner: the sums that end on the partner's side, or all values it has."""
    distance = 1 << level
    before = [list(numbers) for numbers in got]
    for i in range(n):
        side = i ^ distance if reduces else i
        blocks = range(side % (2 * distance), n, 2 * distance)
        got[i ^ distance] += _add_exchange(plan, n, shape, i, i ^ distance, blocks, before, reduces)


def _add_exchange(
    plan: Plan, n: int, shape: Shape, i: int, j: int, blocks: range, after: list[list[int]], reduces: bool
) -> list[int]:
    """The message from `i` to `j`, by way of the members in between; the two halves of it where it is split."""
    pieces = [Piece(ALL, block, part) for block in blocks for part in range(plan.parts)]
    if shape.kind == "star":
        return [plan.send(i, j, pieces, after[i], reduces)]
    up = 1 if j > i else -1
    opposite = shape.kind == "ring" and 2 * abs(j - i) == n > 2  # of two members, the links split it
    ways = [(up, pieces[::2]), (-up, pieces[1::2])] if opposite else [(up, pieces)]
    sent = []
    for step, half in ways:
        between = tuple((i + step * k) % n for k in range(1, abs(j - i)))
        sent.append(plan.send(i, j, half, after[i], reduces, between))
    return sent
