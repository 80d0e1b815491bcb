"""Senders that all send to one receiver over one switch, played by the engine: queues and rates over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.design.transport import Transport
from simcore.engine.packets import layout as at
from simcore.engine.packets.fabric import Fabric
from simcore.engine.packets.graph import Graph
from simcore.engine.packets.play import Played, play
from simcore.network import block
from simcore.system.chunks import PICOSECONDS

LINE = 200e9 / 8
"""Of a port [B/s]."""


@dataclass(frozen=True)
class Incast:
    """What an incast did."""

    played: Played
    times: NDArray[np.float64]
    """Of the samples [s]."""
    arrived: NDArray[np.int64]
    """`[samples, senders]` payload that the receiver had of each sender [B]."""
    queues: NDArray[np.int64]
    """`[samples]` bytes that waited for the receiver's port."""

    def within(self, begin: float, end: float) -> NDArray[np.bool_]:
        """The samples between two times [s]."""
        inside: NDArray[np.bool_] = (begin <= self.times) & (self.times <= end)
        return inside

    def rates(self, begin: float, end: float) -> NDArray[np.float64]:
        """Mean rate of each sender, payload alone [B/s]."""
        chosen = np.flatnonzero(self.within(begin, end))
        first, last = chosen[0], chosen[-1]
        rates: NDArray[np.float64] = (self.arrived[last] - self.arrived[first]) / (self.times[last] - self.times[first])
        return rates

    @property
    def seconds(self) -> float:
        """When the last byte had arrived [s]."""
        return self.played.now / PICOSECONDS

    def counted(self, column: int) -> int:
        """A counter of links, of all of them."""
        return int(self.played.tables.w[at.LINKS][:, column].sum())


def jain(rates: NDArray[np.float64]) -> float:
    """Jain's index of fairness: 1 where rates are equal, 1 / n where one has all."""
    return float(rates.sum() ** 2 / (len(rates) * (rates**2).sum()))


def play_incast(senders: int, size: float, latency: float, every: float, **transport: Any) -> Incast:
    """Each of `senders` sends `size` [B] to one receiver; `latency` is one way [s]; looks each `every` [s]."""
    fabric = Fabric(block("switch"), senders + 1, LINE, latency)
    graph = Graph(senders + 1)
    for sender in range(senders):
        graph.message(sender, senders, size)
    hot = next(n for n, port in enumerate(fabric.ports) if port.name.endswith(f"-> NPU {senders}"))
    samples: list[tuple[int, NDArray[np.int64], int]] = []

    def look(played: Played) -> None:
        w = played.tables.w
        samples.append((played.now, w[at.FLOWS][:, at.ARRIVED].copy(), int(w[at.LINKS][hot, at.QUEUED])))

    played = play(fabric, graph, Transport(**transport), watch=look, every=round(every * PICOSECONDS))
    times, arrived, queues = zip(*samples, strict=True)
    return Incast(played, np.array(times) / PICOSECONDS, np.array(arrived), np.array(queues))
