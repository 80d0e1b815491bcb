"""Messages over the links of one dimension: each link carries one message at a time, first come, first served.

Cut-through: a message's head goes on at the next node as soon as it has arrived there, unless the next link is busy;
a link stays busy until the message's tail has left. Store-and-forward: a message goes on once it has arrived whole.
NPUs in between and switches do the same. A message that has several ways splits evenly among them. `ways` says which
ones are left where links have failed.

Interleaved: messages travel as segments, cut-through, and a link takes the connections that wait for it in turn, each
two NPUs' own. Turns are those of self-clocked fair queueing (Golestani, INFOCOM 1994): a segment goes when a link that
served its connections bit by bit in turn would be done with it. So a large message is no reason why others wait, and a
connection gets no more of a link for having more on its way.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import simpy

from simcore.design.efficiency import EfficiencyTable, slowdown
from simcore.engine.reference.clock import NETWORK, PICK, Moment, now
from simcore.network import Block, Link, Route, Slice
from simcore.network.ways import Ways, Worn
from simcore.system.chunks import picoseconds

Switching = Literal["cut_through", "store_and_forward", "interleaved"]
SEGMENT = 65536.0
"""Bytes; of large messages more, so that they are no more than `MOST_SEGMENTS`."""
MOST_SEGMENTS = 16
Then = Callable[[], None]


@dataclass
class Transit:
    """A message (or a part of one that has several ways) between its sender and its receiver."""

    size: float
    route: Route
    key: int
    arrived: Then
    position: int = 0
    tail: int = 0
    """When its last byte is at the link that it waits for [ps]."""
    slowed: float = 1.0
    """How many times as long as its bytes its library makes it occupy each link."""
    whole: float = 0.0
    """The message whose packets it is a part of [B]; 0 where it is a message itself."""
    connection: tuple[int, int] = (0, 0)
    """The NPUs that it goes from and to."""
    taken: Callable[[int], None] | None = None
    """Who takes over behind its last link, with the time of its tail: a switch that adds up or copies."""


class Channel:
    """One link."""

    def __init__(self, network: LinkNetwork, link: Link) -> None:
        self.network, self.link = network, link
        self.waiting: list[tuple[int, float, int, Transit]] = []
        self.turns: dict[tuple[int, int], float] = {}  # of each connection the turn of its last segment
        self.turn = 0.0
        self.free_at = 0
        self.about_to_pick = False
        self.bytes = 0.0
        self.load = 0.0  # bytes, as if all messages got the network's bandwidth

    def enter(self, transit: Transit) -> None:
        """The head of a message (stored and forwarded: all of it) is at the link."""
        self.network.entered += 1
        key = 0 if self.network.of_jobs and self.link.source >= self.network.part.members else transit.key
        heapq.heappush(self.waiting, (key, self._turn_of(transit), self.network.entered, transit))
        self._pick_soon(0)

    def _turn_of(self, transit: Transit) -> float:
        """When it is its turn: first come, first served, or bit by bit, in bytes."""
        if self.network.switching != "interleaved":
            return now(self.network.env)
        begin = max(self.turn, self.turns.get(transit.connection, 0.0))
        self.turns[transit.connection] = begin + transit.size
        return begin + transit.size

    def _pick_soon(self, delay: int) -> None:
        if not self.about_to_pick:
            self.about_to_pick = True
            Moment(self.network.env, delay, PICK, self._pick)

    def _pick(self) -> None:
        self.about_to_pick = False
        begin = now(self.network.env)
        if begin < self.free_at:
            self._pick_soon(self.free_at - begin)
            return
        if not self.waiting:
            return
        _, self.turn, _, transit = heapq.heappop(self.waiting)
        slowed = transit.size * transit.slowed * slowdown(self.network.efficiency, transit.whole or transit.size)
        self.bytes += transit.size
        self.load += slowed
        serialization = picoseconds(slowed / (self.link.rate * self.network.bandwidth))
        self.free_at = max(begin + serialization, transit.tail)
        self.network.tell_carrying(self.link.source, self.free_at - begin)
        if self.waiting:
            self._pick_soon(self.free_at - begin)
        latency = picoseconds(self.link.hops * self.network.latency, least=0)
        transit.position += 1
        transit.tail = self.free_at + latency
        last = transit.position == len(transit.route)
        onward: Then = partial(self.network.enter, transit)
        if last:
            onward = transit.arrived if transit.taken is None else partial(transit.taken, transit.tail)
        waits_for_tail = onward is transit.arrived or self.network.switching == "store_and_forward"
        Moment(self.network.env, transit.tail - begin if waits_for_tail else latency, NETWORK, onward)


@dataclass
class LinkNetwork:
    """The links between the NPUs of one dimension that differ in that dimension alone (or of a group on it)."""

    env: simpy.Environment
    block: Block
    part: Slice
    bandwidth: float
    """Most injection bandwidth of an NPU [B/s]."""
    latency: float
    """One step [s]."""
    switching: Switching = "cut_through"
    worn: Worn = field(default_factory=dict)
    """What is left of links that have failed, or carry less."""
    efficiency: float | EfficiencyTable = 1.0
    """How much of it which messages get, where that is a table."""
    serve: Callable[[int, int], None] | None = None
    """Who is told that a link out of a node begins (1) or ends (-1) to carry a message, if anybody."""
    of_jobs: bool = False
    """Whether several jobs share it: switches then serve messages as they come, since keys are a job's own."""
    entered: int = 0
    channels: list[Channel] = field(init=False)

    def __post_init__(self) -> None:
        self.ways = Ways(self.block, self.part, self.worn)
        self.channels = [Channel(self, link) for link in self.ways.links]

    def send(self, nodes: Sequence[int], size: float, key: int, arrived: Then, slowed: float = 1.0) -> None:
        """Send `size` [B] from the first of `nodes` to the last; those in between receive it whole and pass it on.

        Smaller `key` goes first where messages wait for the same link. `slowed`: see `Transit`.
        """
        if len(nodes) == 1:
            arrived()
            return
        routes = self.ways.routes(nodes[0], nodes[1])
        segments = self._segments_of(size / len(routes))
        left = len(routes) * segments

        def part_arrived() -> None:
            nonlocal left
            left -= 1
            if not left:
                self.send(nodes[1:], size, key, arrived, slowed)

        part = size / len(routes)
        whole = size if self.block.sprayed else part
        for _ in range(segments):
            for route in routes:
                transit = Transit(part / segments, route, key, part_arrived, slowed=slowed, whole=whole)
                transit.connection = (nodes[0], nodes[1])
                self.enter(transit)

    def _segments_of(self, size: float) -> int:
        """In how many segments a message travels."""
        return min(MOST_SEGMENTS, max(1, round(size / SEGMENT))) if self.switching == "interleaved" else 1

    def tell_carrying(self, node: int, time: int) -> None:
        """A link out of a node carries a message for `time` [ps] from now."""
        if self.serve is not None and node < self.part.members:
            self.serve(node, 1)
            Moment(self.env, time, NETWORK, partial(self.serve, node, -1))

    def enter(self, transit: Transit) -> None:
        """A message is at the next link of its way."""
        self.channels[transit.route[transit.position]].enter(transit)
