"""Everyone to everyone: the messages of a Spread, by what connects the members.

On a star every member sends each other one its piece directly, near peers first, in an order in which no two
members send to the same one at the same time. Between neighbours pieces are passed on, everyone in step: on a closed
ring in floor(n/2) steps the shorter way round (what has equally far both ways is halved); on a line in n - 1 steps of
equal size, 1/(n - 1) of what the middle link has to carry, in which what has farthest to go leaves first.
"""

from __future__ import annotations

from simcore.collective.base import Piece, Plan
from simcore.network import Shape


def spread_parts(members: int, shape: Shape) -> int:
    """Into how many parts a block must be cut."""
    return {"star": 1, "ring": 2 - members % 2 if members > 2 else 1, "line": members - 1}[shape.kind]


def add_spread(
    plan: Plan,
    members: int,
    shape: Shape,
    what: str,
    ready: list[list[int]] | None = None,
    window: int = 0,
) -> list[list[int]]:
    """Add the messages; for each member the numbers of those that bring it something.

    `what` is `reduce` (members' contributions to each other's block), `gather` (each member's finished block) or
    `exchange`. `ready` lists for each member what must have arrived before it may begin.
    """
    begin = ready or [[] for _ in range(members)]
    if shape.kind == "star":
        return _send_directly(plan, members, shape, what, begin, window)
    if shape.kind == "ring" and members > 2:  # two members are a line, with two links
        return _send_around(plan, members, what, begin)
    return _send_along(plan, members, what, begin)


def _piece(what: str, source: int, target: int, part: int) -> Piece:
    """What `source` has for `target`; of a gather, block and origin are both the source's."""
    return Piece(target, source, part) if what == "gather" else Piece(source, target, part)


def _send_directly(plan: Plan, n: int, shape: Shape, what: str, ready: list[list[int]], window: int) -> list[list[int]]:
    order = [list(shape.peers(i, n)) for i in range(n)]
    got: list[list[int]] = [[] for _ in range(n)]
    window = window or n - 1
    for begin in range(0, n - 1, window):
        arriving: list[list[int]] = [[] for _ in range(n)]
        for k in range(begin, min(begin + window, n - 1)):
            for i in range(n):
                j = order[i][k]
                pieces = [_piece(what, i, j, part) for part in range(plan.parts)]
                arriving[j].append(plan.send(i, j, pieces, ready[i], what == "reduce"))
        ready = [ready[i] + arriving[i] for i in range(n)]
        for i in range(n):
            got[i] += arriving[i]
    return got


def _send_around(plan: Plan, n: int, what: str, ready: list[list[int]]) -> list[list[int]]:
    got: list[list[int]] = [[] for _ in range(n)]
    before = {way: [list(ready[i]) for i in range(n)] for way in (1, -1)}
    for step in range(1, n // 2 + 1):
        arriving: dict[int, list[list[int]]] = {way: [[] for _ in range(n)] for way in (1, -1)}
        for i in range(n):
            for way in (1, -1):
                pieces = [
                    _piece(what, (i - way * (step - 1)) % n, (i + way * (far - step + 1)) % n, part)
                    for far in range(step, n // 2 + 1)
                    for part in _halves(n, far, way)
                ]
                number = plan.send(i, (i + way) % n, pieces, before[way][i], what == "reduce")
                arriving[way][(i + way) % n].append(number)
                got[(i + way) % n].append(number)
        before = arriving
    return got


def _halves(n: int, distance: int, way: int) -> tuple[int, ...]:
    """Which parts of a piece go `way` over a distance: all of them, or one half where both ways are as long."""
    if n % 2:
        return (0,)
    if 2 * distance == n:
        return (0,) if way == 1 else (1,)
    return (0, 1)


def _send_along(plan: Plan, n: int, what: str, ready: list[list[int]]) -> list[list[int]]:
    """See the module; the pieces of each step follow from passing on, at most `most` at a time, farthest first."""
    most = n * n // 4
    held: list[list[tuple[int, Piece]]] = [  # with its destination
        [(j, _piece(what, i, j, part)) for j in range(n) if j != i for part in range(plan.parts)] for i in range(n)
    ]
    got: list[list[int]] = [[] for _ in range(n)]
    before = [list(ready[i]) for i in range(n)]
    for _ in range(n - 1):
        arriving: list[list[int]] = [[] for _ in range(n)]
        moved: list[tuple[int, list[tuple[int, Piece]]]] = []
        for i in range(n):
            for way in (1, -1):
                onward = sorted(piece for piece in held[i] if (piece[0] - i) * way > 0)
                leaving = onward[::-1][:most] if way == 1 else onward[:most]
                if leaving:
                    number = plan.send(i, i + way, [piece for _, piece in leaving], before[i], what == "reduce")
                    arriving[i + way].append(number)
                    moved.append((i + way, leaving))
                    gone = set(leaving)
                    held[i] = [piece for piece in held[i] if piece not in gone]
        for i, pieces in moved:
            held[i] += pieces
        for i in range(n):
            got[i] += arriving[i]
            before[i] = before[i] + arriving[i]
    return got
