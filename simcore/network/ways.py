"""Ways over links of which some have failed, or carry a part of what they did.

A message takes the ways that its block says. Where a link of each of them has failed it takes the shortest way that is
left, the first one found in the order of the links.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from simcore.document.problem import InputError, Problem
from simcore.network.wiring import Link, Route, Slice, Wired

Worn = Mapping[tuple[int, int], float]
"""By the two ends of a link, the share of its bandwidth that is left in either direction; 0 where it has failed."""


@dataclass(frozen=True)
class Ways:
    """The links of a part of a block, with what is left of them."""

    block: Wired
    part: Slice
    worn: Worn
    _known: dict[tuple[int, int], tuple[Route, ...]] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """All links, each with the rate that is left; 0 of those that have failed."""
        wiring = self.block.wiring(self.part)
        return tuple(link._replace(rate=link.rate * self._share_left(link)) for link in wiring) if self.worn else wiring

    def routes(self, source: int, target: int) -> tuple[Route, ...]:
        """Working ways between two nodes; raises `InputError` where failed links leave none."""
        if (source, target) not in self._known:
            self._known[source, target] = self._find_routes(source, target)
        return self._known[source, target]

    def _share_left(self, link: Link) -> float:
        ends = link.source, link.target
        return self.worn.get(ends, self.worn.get(ends[::-1], 1.0))

    def _find_routes(self, source: int, target: int) -> tuple[Route, ...]:
        usual = self.block.routes(self.part, source, target)
        working = tuple(route for route in usual if all(self.links[link].rate for link in route))
        return working or (self._route_around(source, target),)

    @cached_property
    def _leaving(self) -> dict[int, list[int]]:
        """By node, the working links out of it."""
        leaving: dict[int, list[int]] = {}
        for number, link in enumerate(self.links):
            if link.rate:
                leaving.setdefault(link.source, []).append(number)
        return leaving

    def _route_around(self, source: int, target: int) -> Route:
        """The shortest way over links that work."""
        ways: dict[int, Route] = {source: ()}
        edge = deque([source])
        while edge and target not in ways:
            node = edge.popleft()
            for number in self._leaving.get(node, ()):
                after = self.links[number].target
                if after not in ways:
                    ways[after] = (*ways[node], number)
                    edge.append(after)
        if target not in ways:
            raise self._no_way_error(source, target)
        return ways[target]

    def _no_way_error(self, source: int, target: int) -> InputError:
        failed = ", ".join(f"{a}-{b}" for (a, b), share in sorted(self.worn.items()) if not share)
        expected = f"a way from NPU {source} to NPU {target} of their dimension"
        fix = "let fewer links fail, or choose a topology with more ways"
        return InputError([Problem(("cluster", "failed_links"), expected, f"none left without {failed}", fix)])
