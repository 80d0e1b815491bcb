"""The congestion-aware network: a message is one packet that moves link by link, store and forward.

Each directed link is a first-in-first-out server: service starts at s = max(now, free), the packet reaches
the next stop at s + floor(latency + bytes / B), the link is free again at s + floor(bytes / B). Ring goes the
shorter way, clockwise on a tie; Switch has a link up and a link down per NPU; FullyConnected a link per
ordered pair. ASTRA-sim stops at one dimension; here a route corrects dimension 0 first, then 1, and so on,
each with its own links under the same rules.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from simcore.astra.files.network import DimensionBlock, Network

Schedule = Callable[..., None]


class AwareNetwork:
    """Links with queues. `schedule(delay, action, *arguments)` is the event queue's."""

    def __init__(self, network: Network, schedule: Schedule) -> None:
        self._network = network
        self._schedule = schedule
        self._routes: dict[tuple[int, int], tuple[tuple[int, tuple[int, int, int]], ...]] = {}
        self._times: dict[tuple[int, int], tuple[int, int]] = {}
        self._busy: set[tuple[int, int, int]] = set()
        self._queues: dict[tuple[int, int, int], deque[tuple[Any, int, int, Callable[[], None]]]] = {}

    def carry(self, source: int, destination: int, size: int, arrive: Callable[[], None]) -> None:
        """Move a message of `size` bytes; call `arrive` when it is delivered."""
        route = self._routes.get((source, destination))
        if route is None:
            route = self._routes[source, destination] = tuple(self._route(source, destination))
        self._hop(route, 0, size, arrive)

    def _hop(self, route: Any, place: int, size: int, arrive: Callable[[], None]) -> None:
        if place == len(route):
            arrive()
            return
        link = route[place][1]
        if link in self._busy:
            self._queues.setdefault(link, deque()).append((route, place, size, arrive))
        else:
            self._transmit(route, place, size, arrive)

    def _transmit(self, route: Any, place: int, size: int, arrive: Callable[[], None]) -> None:
        dimension, link = route[place]
        times = self._times.get((dimension, size))
        if times is None:
            times = self._times[dimension, size] = self._link_times(dimension, size)
        self._busy.add(link)
        self._schedule(times[0], self._hop, route, place + 1, size, arrive)
        self._schedule(times[1], self._free, link)

    def _free(self, link: tuple[int, int, int]) -> None:
        self._busy.discard(link)
        queue = self._queues.get(link)
        if queue:
            self._transmit(*queue.popleft())

    def _link_times(self, dimension: int, size: int) -> tuple[int, int]:
        """Return (time to the next stop, time the link is busy) [ns]."""
        found = self._network.dimensions[dimension]
        return int(found.latency + size / found.bandwidth), int(size / found.bandwidth)

    def _route(self, source: int, destination: int) -> Iterator[tuple[int, tuple[int, int, int]]]:
        """Yield (dimension, link) of every hop; a link is (dimension, from, to), a switch has a negative id."""
        stride, here = 1, source
        for index, dimension in enumerate(self._network.dimensions):
            size = dimension.size
            place, goal = here // stride % size, destination // stride % size
            first = here - place * stride
            if place != goal and dimension.block is DimensionBlock.SWITCH:
                switch = -1 - first
                yield index, (index, here, switch)
                yield index, (index, switch, first + goal * stride)
            elif place != goal and dimension.block is DimensionBlock.FULLY_CONNECTED:
                yield index, (index, here, first + goal * stride)
            elif place != goal:
                step = 1 if (goal - place) % size <= (place - goal) % size else -1
                while place != goal:
                    after = (place + step) % size
                    yield index, (index, first + place * stride, first + after * stride)
                    place = after
            here = first + goal * stride
            stride *= size
