"""Any network: NPUs and switches, and the links between them, as a design lists them.

A message takes paths of fewest links. Each link leads both ways, each way at its bandwidth. Its latency, unless it has
one of its own, is one step; a link from an NPU up to a switch has none, so that NPUs at one switch are one step apart,
as on a `switch`. Rings go round in the order of the NPUs' numbers, both ways where neighbours by number are neighbours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from simcore.network.base import Misfit, Seen
from simcore.network.paths import PathsBlock, reached
from simcore.network.wiring import Link, Shape, Slice

MOST_NPUS = 1024
"""Largest graph."""


class Joint(NamedTuple):
    """A link of a graph, both ways; its ends are numbers of NPUs or names of switches."""

    between: tuple[int | str, int | str]
    rate: float
    """Its bandwidth, over that of the dimension."""
    hops: float | None
    """Its latency, over that of the dimension; None where it has none of its own."""


@dataclass(frozen=True)
class Graph(PathsBlock):
    """See the module."""

    graph: tuple[tuple[str, ...], tuple[Joint, ...]] = ((), ())
    """The switches, and the links."""

    short = "Graph"
    keys = ("graph",)

    @property
    def levels(self) -> float:
        """See `Block.levels`: NPUs pay for their ends of links, and all of them for those between switches."""
        return sum(joint.rate * (2 if self._npu_ends(joint) == 2 else 1) for joint in self.graph[1]) / self._npus

    @property
    def ports(self) -> float:
        """See `Block.ports`."""
        return sum(joint.rate for joint in self.graph[1] if self._npu_ends(joint) < 2) / self._npus

    @property
    def _npus(self) -> int:
        return len({end for joint in self.graph[1] for end in joint.between if isinstance(end, int)})

    def _npu_ends(self, joint: Joint) -> int:
        return sum(isinstance(end, int) for end in joint.between)

    def links(self, size: int) -> tuple[Link, ...]:
        """See `SharedBlock.links`."""
        return _links(self, size)

    def shape(self, part: Slice) -> Shape:
        """See `Block.shape`."""
        order = tuple(range(part.members))
        both = part.members > 2 and _joins_neighbours(self, part)
        return Shape("star", part.members, (order, order[::-1]) if both else ())

    def seen_alone(self, size: int, places: Sequence[int]) -> Seen:
        """See `Block.seen_alone`: any part of it, whose idle NPUs the document's links name as switches."""
        return Seen()

    def misfits(self, size: int) -> Iterator[Misfit]:
        """See `Block.misfits`."""
        switches, joints = self.graph
        if size > MOST_NPUS:
            yield Misfit("size", f"a graph of at most {MOST_NPUS:,} NPUs", f"{size:,}", "use another topology")
            return
        if not joints:
            yield Misfit("graph", "the links between the NPUs", "none", "add 'graph: {switches: […], links: […]}'")
            return
        if len(set(switches)) < len(switches):
            yield Misfit("graph", "switches of different names", ", ".join(switches))
        wrong = list(self._wrong_ends(size))
        yield from wrong
        if not wrong:
            yield from self._too_fast(size)
            yield from self._cut_off(size)

    def _wrong_ends(self, size: int) -> Iterator[Misfit]:
        switches, joints = self.graph
        known = f"NPUs 0 to {size - 1}" + (f" or switches {', '.join(switches)}" if switches else "")
        told: set[int | str] = set()
        for number, joint in enumerate(joints):
            for end in set(joint.between) - told:
                if end not in switches and not (isinstance(end, int) and end < size):
                    told.add(end)
                    yield Misfit("graph", f"ends of link {number} among {known}", f"'{end}'", "name it in 'switches'")
            if joint.between[0] == joint.between[1]:
                yield Misfit("graph", f"two different ends of link {number}", f"'{joint.between[0]}' twice")

    def _too_fast(self, size: int) -> Iterator[Misfit]:
        """An NPU sends at most at the dimension's bandwidth; proven bounds rest on it."""
        rates: dict[int | str, float] = defaultdict(float)
        for joint in self.graph[1]:
            for end in joint.between:
                rates[end] += joint.rate
        npu = max(range(size), key=lambda npu: rates[npu])
        if rates[npu] > 1 + 1e-9:
            expected = "a bandwidth of the dimension that is at least what each NPU's links carry together"
            yield Misfit("bandwidth", expected, f"{1 / rates[npu]:.3g} of that of NPU {npu}")

    def _cut_off(self, size: int) -> Iterator[Misfit]:
        there = reached(self, size, 0)
        lost = [npu for npu in range(size) if npu not in there]
        if lost:
            yield Misfit("graph", "a way from NPU 0 to every other one", f"none to NPU {lost[0]}", "join its parts")


@lru_cache(maxsize=64)
def _links(block: Graph, size: int) -> tuple[Link, ...]:
    switches, joints = block.graph
    number = {name: size + place for place, name in enumerate(switches)}
    links = []
    for joint in joints:
        a, b = (number[end] if isinstance(end, str) else end for end in joint.between)
        for source, target in ((a, b), (b, a)):
            up = source < size <= target
            links.append(Link(source, target, joint.rate, (0.0 if up else 1.0) if joint.hops is None else joint.hops))
    return tuple(links)


@lru_cache(maxsize=256)
def _joins_neighbours(block: Graph, part: Slice) -> bool:
    ends = {(link.source, link.target) for link in block.links(part.size)}
    npus = range(0, part.members * part.stride, part.stride)
    return all((a, npus[(i + 1) % len(npus)]) in ends for i, a in enumerate(npus))
