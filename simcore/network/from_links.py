"""What a step costs over given links: the busiest link's bytes, the longest way's hops.

Messages that are sent at once share the links of their ways, and the step takes as long as the link that has most to
carry. That is the least it can take; where messages also wait for each other on their way, it takes longer, and only a
closed form of the block's own, or the link-level engine, knows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from simcore.network.pattern import Chain, Exchange, Listed, Loads, Pattern, Send, Shift, Spread, StepCost, Tree
from simcore.network.tree import tree_cost, tree_loads
from simcore.network.wiring import Link, Route, Shape, Slice, Wired

Sent = tuple[int, int, float]
"""A message: source, target, how many times the step's share."""


@lru_cache(maxsize=1024)
def cost_from_links(pattern: Pattern, block: Wired, part: Slice) -> StepCost:
    """Cost of `pattern` for a group on `part`; see `simcore.network.base.Block.step`.

    The work grows with the messages of the pattern: of a Spread, with the square of the members.
    """
    n, shape, links = part.members, block.shape(part), _Links(block, part)
    rings = _rings(n, shape)
    match pattern:
        case Shift(steps):
            once = links.cost(message for ring in rings for message in ring)
            hops = [[links.cost([message]).hops for message in ring] for ring in rings]
            longest = max(_longest_run(each, steps, shape.kind != "line") for each in hops)
            return once._replace(load=steps * once.load, hops=longest)
        case Exchange(distance):
            return links.cost((i, i ^ distance, 1.0) for i in range(n) if i ^ distance < n)
        case Spread(window):
            return _in_turn([links.cost(messages) for messages in _spread(n, shape, window)])
        case Tree():
            return tree_cost(n, links.all, links.routes)
        case Chain(pieces):
            chains = _chains(n, shape)
            together = links.cost(message for chain in chains for message in chain)
            alone = [links.cost(hop) for hop in zip(*chains, strict=True)]
            load = sum(cost.load for cost in alone) + (pieces - 1) * together.load
            return together._replace(load=load, hops=sum(cost.hops for cost in alone))
        case Send(distance):
            alone = [links.cost([(i, i + distance, 1.0)]) for i in range(n - distance)]
            return max(alone, key=lambda cost: cost.load)._replace(hops=max(cost.hops for cost in alone))
        case _:
            assert_never(pattern)


def loads_from_links(pattern: Pattern, block: Wired, part: Slice) -> NDArray[np.float64]:
    """Load of `pattern` on each link of a group on `part`; see `simcore.network.base.Block.carried`.

    It takes as much work as `cost_from_links`.
    """
    n, shape, links = part.members, block.shape(part), _Links(block, part)
    match pattern:
        case Shift(steps):
            if shape.kind == "line":
                return links.sums(_sweeps(n, steps, pattern.gathers))
            return links.sums((message for ring in _rings(n, shape) for message in ring), steps)
        case Exchange(distance):
            return links.sums((i, i ^ distance, 1.0) for i in range(n) if i ^ distance < n)
        case Spread():
            return links.sums((i, j, 1.0) for i in range(n) for j in range(n) if i != j)
        case Tree():
            return np.array(tree_loads(n, links.all, links.routes)[0])
        case Chain(pieces):
            return links.sums((message for chain in _chains(n, shape) for message in chain), pieces)
        case Send(distance):  # as `cost_from_links`: one message, whatever the others do
            alone: NDArray[np.float64] = np.array([links.sums([(i, i + distance, 1.0)]) for i in range(n - distance)])
            most: NDArray[np.float64] = alone.max(axis=0)
            return most
        case _:
            assert_never(pattern)


def listed_cost(pattern: Listed, block: Wired, part: Slice) -> StepCost:
    """Cost of the messages of `pattern` for a group on `part`; see `simcore.network.base.Block.step`."""
    return _Links(block, part).cost(pattern.messages)


def listed_loads(pattern: Listed, block: Wired, part: Slice) -> dict[int, Loads]:
    """The load of each link that messages of `pattern` pass, each message by itself."""
    loads = _Links(block, part).loads(pattern.messages)
    return {link: tuple(sorted(load)) for link, load in loads.items()}


@dataclass(frozen=True)
class _Links:
    """The links of a group."""

    block: Wired
    part: Slice

    @cached_property
    def all(self) -> tuple[Link, ...]:
        return self.block.wiring(self.part)

    def routes(self, source: int, target: int) -> tuple[Route, ...]:
        return self.block.routes(self.part, source, target)

    def loads(self, messages: Iterable[Sent]) -> dict[int, list[tuple[float, float]]]:
        """(load, size) of each link that messages pass."""
        loads: dict[int, list[tuple[float, float]]] = {}
        for source, target, share in messages:
            routes = self.routes(source, target)
            each = share / len(routes)
            for route in routes:
                for link in route:
                    loads.setdefault(link, []).append((each / self.all[link].rate, each))
        return loads

    def sums(self, messages: Iterable[Sent], times: int = 1) -> NDArray[np.float64]:
        """What messages, sent so many times, load every link with `[links]`."""
        found = np.zeros(len(self.all))
        for link, loads in self.loads(messages).items():
            found[link] = times * sum(load for load, _ in loads)
        return found

    def cost(self, messages: Iterable[Sent]) -> StepCost:
        """Cost of messages that are sent at once."""
        sent = list(messages)
        ways = (route for source, target, _ in sent for route in self.routes(source, target))
        hops = max(sum(self.all[link].hops for link in route) for route in ways)
        busiest = max(self.loads(sent).values(), key=lambda loads: sum(load for load, _ in loads))
        return _of_sizes(busiest, hops)


def _of_sizes(loads: Sequence[tuple[float, float]], hops: float) -> StepCost:
    """A cost, its load message size by message size; `loads` are (load, size)."""
    total = sum(load for load, _ in loads)
    by_size: dict[float, float] = defaultdict(float)
    for load, size in loads:
        by_size[size] += load
    return StepCost(total, hops, tuple((load / total, size) for size, load in sorted(by_size.items())))


def _in_turn(costs: Sequence[StepCost]) -> StepCost:
    """The cost of steps one after the other."""
    return _of_sizes([load for cost in costs for load in cost.loads], sum(cost.hops for cost in costs))


def _rings(n: int, shape: Shape) -> list[list[Sent]]:
    """Each member's message to the next one, ring by ring, and on a line in either direction: see `Shift`."""
    if shape.kind == "line":
        onward = [(i, i + 1, 1.0) for i in range(n - 1)]
        return [onward, [(j, i, share) for i, j, share in onward]]
    orders = shape.orders(n)
    return [[(order[k], order[(k + 1) % n], 1 / len(orders)) for k in range(n)] for order in orders]


def _chains(n: int, shape: Shape) -> list[list[Sent]]:
    """The hops from the first member on, in order: see `Chain`. On a line they go one way."""
    if shape.kind == "line":
        return _rings(n, shape)[:1]
    begins = [order.index(0) for order in shape.orders(n)]
    return [[*ring[first:], *ring[:first]][: n - 1] for ring, first in zip(_rings(n, shape), begins, strict=True)]


def _sweeps(n: int, steps: int, gathers: bool) -> Iterator[Sent]:
    """What passes the links of a line in a Shift: of the members beyond each link, or of those behind it."""
    for i in range(n - 1):
        beyond, behind = float(min(steps, n - 1 - i)), float(min(steps, i + 1))
        yield i, i + 1, behind if gathers else beyond
        yield i + 1, i, beyond if gathers else behind


def _spread(n: int, shape: Shape, window: int) -> Iterator[list[Sent]]:
    """What is sent at once of a Spread; between neighbours all of it, piece by piece as it is passed on."""
    if shape.kind != "star":
        yield [(i, j, 1.0) for i in range(n) for j in range(n) if i != j]
        return
    order = [list(shape.peers(i, n)) for i in range(n)]
    for begin in range(0, n - 1, window or n - 1):
        yield [(i, j, 1.0) for i in range(n) for j in order[i][begin : begin + (window or n - 1)]]


def _longest_run(hops: Sequence[float], steps: int, closed: bool) -> float:
    """The most hops of `steps` ways in a row."""
    row = [*hops, *(hops[: steps - 1] if closed else ())]
    return max(sum(row[i : i + steps]) for i in range(len(row) - steps + 1))
