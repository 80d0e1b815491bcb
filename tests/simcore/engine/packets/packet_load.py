"""Loads on small fabrics, and what must hold of each while it is played."""

from __future__ import annotations

import random
from dataclasses import dataclass

from simcore.design.transport import Marks, Transport
from simcore.engine.packets import layout as at
from simcore.engine.packets.fabric import Fabric
from simcore.engine.packets.graph import Graph
from simcore.engine.packets.play import Played, play
from simcore.network import Block, Link, Route, Shape, Slice, block

RATE, LATENCY = 25e9, 1e-6

Sent = tuple[int, int, int]
"""Sender, receiver, bytes."""


def fabric(topology: str, size: int, leaf: int = 4, oversubscription: float = 1.0, **given: object) -> Fabric:
    its = block(topology) if topology == "switch" else block(topology, leaf, oversubscription, **given)
    return Fabric(its, size, RATE, LATENCY)


def transport(**given: object) -> Transport:
    """A transport with these values in bytes and seconds."""
    return Transport().model_copy(update=given)


def marks(low: float, high: float, most: float = 1.0) -> Marks:
    """Marking between these lengths of a queue [B]."""
    return Marks.model_construct(low=low, high=high, most=most)


def graph_of(npus: int, messages: list[Sent], connections: int = 1) -> Graph:
    graph = Graph(npus, connections=connections)
    for source, target, size in messages:
        graph.message(source, target, size)
    return graph


def play_all(its: Fabric, messages: list[Sent], transport: Transport | None = None, every: int = at.NEVER) -> Played:
    """Play messages that are all sent at once; whenever it is looked at, no packet may be lost track of."""
    checks = []
    graph = graph_of(its.npus, messages, getattr(its.block, "connections", 1))
    played = play(its, graph, transport or Transport(), watch=lambda p: checks.append(p.lost_count), every=every)
    assert not any(checks)
    assert every == at.NEVER or checks or played.now < every
    return played


def drawn_messages(npus: int, number: int, seed: int, most: int = 60_000) -> list[Sent]:
    draw = random.Random(seed)
    return [(*draw.sample(range(npus), 2), draw.randint(1, most)) for _ in range(number)]  # type: ignore[misc]


def column(played: Played, *columns: int) -> list[list[int]]:
    """Columns of all links."""
    return played.tables.w[at.LINKS][:, list(columns)].tolist()


@dataclass(frozen=True)
class RingOfSwitches(Block):
    """An NPU at each of the switches of a one-way ring: its ways depend on each other in a circle."""

    switched = True

    def shape(self, part: Slice) -> Shape:
        return Shape("star", part.members)

    def wiring(self, part: Slice) -> tuple[Link, ...]:
        n = part.members
        ports = [Link(i, n + i, 1.0, 1) for i in range(n)] + [Link(n + i, i, 1.0, 1) for i in range(n)]
        onward = [Link(n + i, n + (i + 1) % n, 1.0, 1) for i in range(n)]
        return (*ports, *onward, *(Link(link.target, link.source, 1.0, 1) for link in onward))

    def routes(self, part: Slice, source: int, target: int) -> tuple[Route, ...]:
        n, passed = part.members, (target - source) % part.members
        return ((source, *(2 * n + (source + i) % n for i in range(passed)), n + target),)
