"""Plays a graph on a fabric: gives the event loop room and time, lets others look, and says when it is stuck."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.design.transport import Transport
from simcore.engine.packets import layout as at
from simcore.engine.packets.deadlock import PauseDeadlockError, find_cycle
from simcore.engine.packets.fabric import Fabric
from simcore.engine.packets.graph import Graph
from simcore.engine.packets.loop import FINISHED, ROOM_UP, SLICE_UP, STUCK, open_flows, run
from simcore.engine.packets.pack import Table, Tables, pack
from simcore.engine.packets.progress import say
from simcore.engine.packets.work import begin_all


@dataclass
class Played:
    """A graph that has been played on a fabric (or is being played)."""

    fabric: Fabric
    graph: Graph
    tables: Tables

    @property
    def now(self) -> int:
        """The time [ps]; once all is done, when the last piece of work was."""
        return int(self.tables.w[at.CLOCK][0, at.NOW])

    @property
    def finish(self) -> Table:
        """When each piece of work was over [ps]; -1: not yet."""
        finish: Table = self.tables.w[at.WORK][:, at.FINISH]
        return finish

    @property
    def clock(self) -> Table:
        """Counters and settings (`layout`)."""
        clock: Table = self.tables.w[at.CLOCK][0]
        return clock

    @property
    def in_flight(self) -> int:
        """Packets in queues and on links, counted one by one."""
        packets, links = self.tables.w[at.PACKETS], self.tables.w[at.LINKS]
        counted = 0
        for link in links:
            heads = [link[at.FLY_HEAD]] if link[at.FROM] < 0 else [link[at.FLY_HEAD], link[at.HEAD]]
            for head in heads:
                while head >= 0:
                    counted, head = counted + 1, packets[head, at.NEXT]
        return counted

    @property
    def lost_count(self) -> int:
        """Packets that left a sender and are neither received nor dropped nor under way: 0, or the engine is wrong."""
        c = self.clock
        arrived = c[at.DELIVERED] + c[at.REPEATED] + c[at.DISCARDED]
        return int(c[at.INJECTED] - arrived - c[at.DROPPED] - self.in_flight)


Watch = Callable[[Played], None]


def play(
    fabric: Fabric,
    graph: Graph,
    transport: Transport,
    slowdowns: Sequence[int] = (),
    watch: Watch | None = None,
    every: int = at.NEVER,
) -> Played:
    """Play `graph` to its end; `watch` looks at it each `every` [ps].

    Raises `PauseDeadlockError` where ports wait for each other for ever, `RuntimeError` where something else never
    comes, and `ValueError` where a switch's buffer is too small for its ports.
    """
    played = Played(fabric, graph, pack(fabric, graph, transport, slowdowns))
    tables = played.tables
    open_flows(tables.w, tables.f)
    begin_all(tables.w, tables.f)
    until = min(every, at.NEVER)
    while (why := run(tables.w, tables.f, until, tables.margin)) != FINISHED:
        if why == ROOM_UP:
            _make_room(tables)
        elif why == STUCK:
            _raise_stuck(played)
        elif why == SLICE_UP:
            say(played.clock[at.DONE] / played.clock[at.ALL])
        else:
            until += every
            if watch is not None:
                watch(played)
    return played


def _make_room(tables: Tables) -> None:
    """Twice as much room for what ran out of it: packets or events."""
    w, f = list(tables.w), list(tables.f)
    clock = w[at.CLOCK]
    if clock[0, at.FREE_COUNT] == 0:
        before = len(w[at.PACKETS])
        w[at.PACKETS], f[at.TELEMETRY] = _double(w[at.PACKETS]), _double(f[at.TELEMETRY])
        w[at.PACKETS][before:, at.NEXT] = [*range(before + 1, 2 * before), -1]
        clock[0, at.FREE], clock[0, at.FREE_COUNT] = before, before
    else:
        w[at.EVENTS] = _double(w[at.EVENTS])
    tables.w, tables.f = tuple(w), tuple(f)


def _double(rows: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([rows, np.zeros_like(rows)])


def _raise_stuck(played: Played) -> None:
    cycle = find_cycle(played.fabric, played.tables.w)
    if cycle:
        raise PauseDeadlockError(tuple(played.fabric.ports[link].name for link in cycle))
    c = played.clock
    raise RuntimeError(f"packets: {c[at.ALL] - c[at.DONE]} of {c[at.ALL]} pieces of work wait for what never comes")
