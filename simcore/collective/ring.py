"""Ring: n - 1 steps in each of which every member passes 1/n of the buffer on (Patarasuk, Yuan 2009).

Reduce-scatter and all-gather take (n - 1)(a + S/n/B) each. On a closed ring of neighbours each block is cut in halves
that go round the two ways at once; where NPUs have further neighbours, several rings share each block. On a line there
is no way round: block j collects what lies left of it in a sweep to the right, farthest blocks first, and what lies
right of it in a sweep to the left, at once; all_gather is the same backwards. That takes n - 1 steps as well. Broadcast
sends the n blocks one after the other down the ring.
"""

from __future__ import annotations

from collections.abc import Sequence

from simcore.collective.base import ALL, GATHERING, SCATTERING, Algorithm, Piece, Plan, Step
from simcore.collective.spread import add_spread, spread_parts
from simcore.network import Chain, Shape, Shift, Spread


class Ring(Algorithm):
    """Bandwidth-optimal; latency grows with n. All-to-all relays along the shortest way round."""

    def does(self, kind: str, shape: Shape) -> bool:
        """See `Algorithm.does`."""
        return True

    def steps(self, kind: str, members: int) -> tuple[Step, ...]:
        """See `Algorithm.steps`."""
        if kind == "all_to_all":
            return (Step(Spread(), 1 / members),)
        if kind == "broadcast":
            return (Step(Chain(members), 1 / members),)
        scatter = [Step(Shift(members - 1), 1 / members)] if kind in SCATTERING else []
        gather = [Step(Shift(members - 1, gathers=True), 1 / members)] if kind in GATHERING else []
        return (*scatter, *gather)

    def plan(self, kind: str, members: int, shape: Shape) -> Plan:
        """See `Algorithm.plan`."""
        if kind == "all_to_all":
            plan = Plan(members, spread_parts(members, shape))
            add_spread(plan, members, shape, "exchange")
            return plan
        orders = shape.orders(members)
        plan = Plan(members, len(orders))
        if kind == "broadcast":
            _add_relays(plan, orders)
        elif shape.kind == "line":
            _add_sweeps(plan, kind, members)
        else:
            _add_rounds(plan, kind, orders)
        return plan


def _add_rounds(plan: Plan, kind: str, orders: Sequence[Sequence[int]]) -> None:
    """Each part goes round in an order of its own; the sum of block b starts next to b and ends there."""
    n = len(orders[0])
    places = [{member: place for place, member in enumerate(order)} for order in orders]
    last: dict[tuple[int, int], tuple[int, ...]] = {(b, part): () for b in range(n) for part in range(plan.parts)}
    for reduces in [True] * (kind in SCATTERING) + [False] * (kind in GATHERING):
        for k in range(n - 1):
            for b in range(n):
                for part in range(plan.parts):
                    order, place = orders[part], places[part][b] + k + reduces
                    source, target = order[place % n], order[(place + 1) % n]
                    number = plan.send(source, target, [Piece(ALL, b, part)], last[b, part], reduces)
                    last[b, part] = (number,)


def _add_sweeps(plan: Plan, kind: str, n: int) -> None:
    """A sweep from each end of the line for the sums, one towards each end for the values."""
    home: list[list[int]] = [[] for _ in range(n)]
    ends = ((1, range(n)), (-1, range(n - 1, -1, -1)))
    if kind in SCATTERING:
        for way, nodes in ends:
            arrived: dict[int, int] = {}
            for i in nodes[:-1]:
                beyond = range(n - 1, i, -1) if way == 1 else range(i)
                for b in beyond:
                    after = (arrived[b],) if b in arrived else ()
                    arrived[b] = plan.send(i, i + way, plan.block_pieces(b), after, reduces=True)
                    if i + way == b:
                        home[b].append(arrived[b])
    if kind in GATHERING:
        for way, nodes in ends:
            passed: dict[int, tuple[int, ...]] = {}
            for i in nodes[:-1]:
                passed[i] = tuple(home[i])
                for b in sorted(passed, key=lambda b: abs(i - b)):
                    passed[b] = (plan.send(i, i + way, plan.block_pieces(b), passed[b]),)


def _add_relays(plan: Plan, orders: Sequence[Sequence[int]]) -> None:
    for part, order in enumerate(orders):
        first, n = order.index(0), len(order)
        arrived: dict[int, tuple[int, ...]] = dict.fromkeys(range(n), ())
        for k in range(first, first + n - 1):
            for b in range(n):
                number = plan.send(order[k % n], order[(k + 1) % n], [Piece(ALL, b, part)], arrived[b])
                arrived[b] = (number,)
