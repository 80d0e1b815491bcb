"""One collective among the members of one slice by its switches, which add up what goes up and copy what goes down.

A switch waits for the heads of all that it adds, takes one step's latency for that, and lets the sum go on while it
still arrives: up over the links of all members below it, to the top, and from there down to the targets. A flow with
one source is copied on the way and waits for nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from simcore.engine.reference.clock import NETWORK, Moment
from simcore.engine.reference.links import LinkNetwork, Then, Transit
from simcore.network import Flow, Rung, flows
from simcore.system.chunks import picoseconds

Arrived = Callable[[int], None]
"""Called when the head of all that was sent is there, with the time of the tail [ps]."""


@dataclass
class SwitchExchange:
    """The flows of one collective."""

    kind: str
    network: LinkNetwork
    nodes: Sequence[int]
    """The node of each member."""
    levels: int
    """Levels of the tree."""
    size: float
    """The buffer [B]."""
    key: int = 0
    slowed: float = 1.0
    """See `Transit`."""

    def __post_init__(self) -> None:
        network = self.network
        self.ladders = [network.block.ladder(network.part, node)[: self.levels] for node in self.nodes]
        self.flows = [FlowOnItsWay(self, flow) for flow in flows(self.kind, len(self.nodes))]
        self.left = [sum(member in flow.members for flow in self.flows) for member in range(len(self.nodes))]
        self.done: dict[int, Then] = {}

    def begin(self, member: int, done: Then) -> None:
        """A member takes part from now on; `done` is called when all flows have arrived that it is in."""
        self.done[member] = done
        if not self.left[member]:
            done()
        for flow in self.flows:
            if member in flow.flow.sources:
                flow.climb(member)

    def end(self, flow: FlowOnItsWay) -> None:
        """A flow has arrived at all its targets."""
        for member in flow.members:
            self.left[member] -= 1
            if not self.left[member] and member in self.done:
                self.done[member]()

    def members_below(self, level: int, switch: int) -> list[int]:
        """The members below a switch of a level."""
        return [member for member, ladder in enumerate(self.ladders) if ladder[level].switch == switch]

    def send(self, links: Sequence[int], size: float, tail: int, arrived: Arrived, whole: bool = False) -> None:
        """Send `size` [B] over all of `links` that work; `whole`: it arrives with its tail, not its head."""
        known = self.network.ways.links
        working = [link for link in dict.fromkeys(links) if known[link].rate]
        if not working:
            first = known[links[0]]
            self.network.ways.routes(first.source, first.target)  # raises: there is none
        tails: list[int] = []

        def arrive(tail: int) -> None:
            tails.append(tail)
            if len(tails) == len(working):
                arrived(max(tails))

        for link in working:
            transit = Transit(size / len(working), (link,), self.key, lambda: arrive(0), tail=tail, slowed=self.slowed)
            transit.taken = None if whole else arrive
            self.network.enter(transit)


@dataclass
class FlowOnItsWay:
    """One flow."""

    exchange: SwitchExchange
    flow: Flow
    tails: dict[tuple[int, int], list[int]] = field(default_factory=lambda: defaultdict(list))
    """When all is at a switch that comes from below, by level and switch [ps]."""

    def __post_init__(self) -> None:
        self.members = frozenset(self.flow.sources + self.flow.targets)
        self.left = len(self.flow.targets)

    def climb(self, member: int) -> None:
        """A source sends."""
        self._send_up(0, [self.exchange.ladders[member][0]], 0)

    @property
    def _size(self) -> float:
        return self.flow.share * self.exchange.size

    def _send_up(self, level: int, rungs: list[Rung], tail: int) -> None:
        switch = rungs[0].switch
        links = [link for rung in rungs for link in rung.up]
        self.exchange.send(links, self._size, tail, partial(self._add, level, switch))

    def _add(self, level: int, switch: int, tail: int) -> None:
        """What comes from one place below is at a switch."""
        tails = self.tails[level, switch]
        tails.append(tail)
        if len(tails) < self._places_below(level, switch):
            return
        network = self.exchange.network
        step = picoseconds(network.latency, least=0) if len(self.flow.sources) > 1 else 0
        last = max(tails) + step
        Moment(network.env, step, NETWORK, lambda: self._pass_on(level, switch, last))

    def _places_below(self, level: int, switch: int) -> int:
        """Sources, or switches with sources, directly below a switch."""
        ladders = self.exchange.ladders
        below = [source for source in self.flow.sources if ladders[source][level].switch == switch]
        return len({ladders[source][level - 1].switch for source in below}) if level else len(below)

    def _pass_on(self, level: int, switch: int, tail: int) -> None:
        exchange = self.exchange
        if level == exchange.levels - 1:
            self._send_down(level, switch, tail)
            return
        below = exchange.members_below(level, switch)
        self._send_up(level + 1, [exchange.ladders[member][level + 1] for member in below], tail)

    def _send_down(self, level: int, switch: int, tail: int) -> None:
        """Copies to every target, or switch with targets, directly below."""
        exchange, ladders = self.exchange, self.exchange.ladders
        below = [target for target in self.flow.targets if ladders[target][level].switch == switch]
        if not level:
            for target in below:
                exchange.send(ladders[target][0].down, self._size, tail, self._end_at_target, whole=True)
            return
        for child in sorted({ladders[target][level - 1].switch for target in below}):
            rungs = [ladders[member][level] for member in exchange.members_below(level - 1, child)]
            links = [link for rung in rungs for link in rung.down]
            exchange.send(links, self._size, tail, partial(self._send_down, level - 1, child))

    def _end_at_target(self, tail: int) -> None:
        self.left -= 1
        if not self.left:
            self.exchange.end(self)
