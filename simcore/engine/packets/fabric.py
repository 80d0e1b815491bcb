"""The links between the ports of NPUs: as many copies of a block's wiring as there are rows of NPUs along it.

The block's `wiring` gives links and rates, its `routes` the ways. A block may count the latency of both directions of
a cable at one of them; here each direction takes half of the two, because a pause takes as long as data do: the latency
of a way up and down is the same.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property

from simcore.network import Block, Link, Slice
from simcore.network.ways import Ways, Worn
from simcore.system.chunks import picoseconds


@dataclass(frozen=True)
class Port:
    """One direction of a cable."""

    source: int
    """A switch, or -1: an NPU."""
    target: int
    rate: float
    """[B/s]."""
    delay: int
    """[ps]."""
    back: int
    """Number of the other direction."""
    name: str


Way = tuple[int, ...]


@dataclass(frozen=True)
class Fabric:
    """The links of one dimension: NPUs `stride` apart are on one copy of its block."""

    block: Block
    size: int
    bandwidth: float
    """Bandwidth of a port of an NPU [B/s]."""
    latency: float
    """One step [s]."""
    stride: int = 1
    """NPUs of all dimensions further in, each of which is on a copy of its own."""
    worn: Worn = field(default_factory=dict)
    """What is left of links that have failed, or carry less; failed ones have rate 0."""

    @property
    def npus(self) -> int:
        """All NPUs."""
        return self.size * self.stride

    @cached_property
    def _ways(self) -> Ways:
        return Ways(self.block, Slice(self.size, self.size, 1), self.worn)

    @cached_property
    def _wiring(self) -> tuple[Link, ...]:
        return self._ways.links

    @cached_property
    def switches_each(self) -> int:
        """Switches of one copy."""
        return 1 + max(max(link.source, link.target) for link in self._wiring) - self.size

    @property
    def switches(self) -> int:
        """All switches."""
        return self.switches_each * self.stride

    @cached_property
    def ports(self) -> tuple[Port, ...]:
        """All links, copy by copy."""
        opposite = _match_directions(self._wiring)
        ports = []
        for copy in range(self.stride):
            first = copy * len(self._wiring)
            for link, back in zip(self._wiring, opposite, strict=True):
                delay = (link.hops + self._wiring[back].hops) * self.latency / 2
                ends = self._switch(copy, link.source), self._switch(copy, link.target)
                name = f"{self._name(copy, link.source)} -> {self._name(copy, link.target)}"
                rate = link.rate * self.bandwidth
                ports.append(Port(*ends, rate, picoseconds(delay, least=0), first + back, name))
        return tuple(ports)

    @cached_property
    def uplinks(self) -> tuple[int, ...]:
        """The port of each NPU."""
        own = {link.source: number for number, link in enumerate(self._wiring) if link.source < self.size}
        links = len(self._wiring)
        return tuple(npu % self.stride * links + own[npu // self.stride] for npu in range(self.npus))

    def ways(self, source: int, target: int) -> tuple[Way, ...]:
        """The ways from one NPU to another of its copy: sprayed over, or one for each connection between the two.

        Raises `ValueError` where the NPUs are on different copies, `InputError` where failed links leave no way.
        """
        copy = source % self.stride
        if target % self.stride != copy:
            raise ValueError(f"NPUs {source} and {target} are on different copies of the fabric")
        first = copy * len(self._wiring)
        ways = self._ways.routes(source // self.stride, target // self.stride)
        return tuple(tuple(first + link for link in way) for way in ways)

    @cached_property
    def into(self) -> tuple[tuple[int, ...], ...]:
        """The links into each switch that packets may come by: none from a switch with a single neighbour.

        A block of one leaf may list spines above it that join it to nothing.
        """
        near: list[set[str]] = [set() for _ in range(self.switches)]
        for port in self.ports:
            if port.target >= 0:
                near[port.target].add(port.name.partition(" -> ")[0])
        joins = [port.source < 0 or len(near[port.source]) > 1 for port in self.ports]
        links: list[list[int]] = [[] for _ in range(self.switches)]
        for number, port in enumerate(self.ports):
            if port.target >= 0 and joins[number]:
                links[port.target].append(number)
        return tuple(map(tuple, links))

    def _switch(self, copy: int, node: int) -> int:
        return -1 if node < self.size else copy * self.switches_each + node - self.size

    def _name(self, copy: int, node: int) -> str:
        if node < self.size:
            return f"NPU {node * self.stride + copy}"
        return f"switch {self._switch(copy, node)}"


def _match_directions(links: tuple[Link, ...]) -> list[int]:
    """For each link the one that goes back; of several between two nodes the first for the first, and so on.

    Raises `ValueError` where there is none.
    """
    between: dict[tuple[int, int], list[int]] = defaultdict(list)
    for number, link in enumerate(links):
        between[link.source, link.target].append(number)
    opposite = []
    for number, link in enumerate(links):
        rank, back = between[link.source, link.target].index(number), between[link.target, link.source]
        if rank >= len(back):
            raise ValueError(f"link {link.source} -> {link.target} has no way back, which pauses need")
        opposite.append(back[rank])
    return opposite
