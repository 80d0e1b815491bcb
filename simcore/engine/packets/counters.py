"""What a played graph has counted, in SI."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simcore.engine.packets import layout as at
from simcore.engine.packets.pack import Table
from simcore.engine.packets.play import Played
from simcore.engine.packets.ports import bin_of
from simcore.network.traffic import PortTraffic, Traffic
from simcore.system.chunks import PICOSECONDS

SHOWN = 16


def traffic_of(played: Played) -> Traffic:
    """All counters of a run that is over."""
    c, links, paused = played.clock, played.tables.w[at.LINKS], paused_times(played)
    shown = _pick_shown(links[:, at.MOST_QUEUED], paused)
    return Traffic(
        packets=int(c[at.INJECTED]),
        packet_hops=int(c[at.HOPPED]),
        retransmitted=int(c[at.RESENT]),
        dropped=int(c[at.DROPPED]),
        out_of_order=int(c[at.DISCARDED]),
        marked=int(links[:, at.MARKS].sum()),
        acknowledgements=int(c[at.ACKNOWLEDGED]),
        notifications=int(c[at.NOTIFICATIONS]),
        pauses=int(links[:, at.PAUSES].sum()),
        paused_s=int(paused.sum()) / PICOSECONDS,
        head_of_line_s=int(links[:, at.VICTIM_TIME].sum()) / PICOSECONDS,
        fairness=fairness(played),
        ports=ports_of(played, shown),
    )


def _pick_shown(queued: Table, paused: Table) -> list[int]:
    """The ports with the longest queues, then those that were paused longest, as many of either as there are."""
    half = SHOWN // 2
    longest = [int(link) for link in np.argsort(-queued, kind="stable")[:half] if queued[link]]
    held = [int(link) for link in np.argsort(-paused, kind="stable")[:SHOWN] if paused[link] and link not in longest]
    return [*longest, *held[: SHOWN - len(longest)]]


def paused_times(played: Played) -> Table:
    """For how long each port has been paused until now [ps]."""
    links = played.tables.w[at.LINKS]
    times: Table = links[:, at.PAUSED_TIME] + np.where(links[:, at.PAUSED] > 0, played.now - links[:, at.PAUSED_AT], 0)
    return times


def ports_of(played: Played, links: Sequence[int] | None = None) -> tuple[PortTraffic, ...]:
    """Counters of these ports (of all), by number of their link."""
    numbers = range(len(played.fabric.ports)) if links is None else links
    return tuple(_port(played, number) for number in numbers)


def _port(played: Played, number: int) -> PortTraffic:
    link, now = played.tables.w[at.LINKS][number], max(1, played.now)
    area = float(played.tables.f[at.RATES][number, at.AREA])
    times, longest = _times_by_length(played, number), float(link[at.MOST_QUEUED])
    return PortTraffic(
        port=played.fabric.ports[number].name,
        utilization=int(link[at.BUSY]) / now,
        bytes=float(link[at.SENT_BYTES]),
        packets=int(link[at.SENT_PACKETS]),
        marked=int(link[at.MARKS]),
        dropped=int(link[at.DROPS]),
        pauses=int(link[at.PAUSES]),
        paused_s=int(paused_times(played)[number]) / PICOSECONDS,
        head_of_line_s=int(link[at.VICTIM_TIME]) / PICOSECONDS,
        queue_mean_bytes=area / now,
        queue_p50_bytes=min(longest, percentile(times, 0.5)),
        queue_p99_bytes=min(longest, percentile(times, 0.99)),
        queue_p999_bytes=min(longest, percentile(times, 0.999)),
        queue_max_bytes=longest,
    )


def _times_by_length(played: Played, number: int) -> Table:
    """Time by length of a port's queue (`layout.BINS`), also that since it last changed [ps]."""
    times: Table = played.tables.w[at.QUEUES][number].copy()
    link = played.tables.w[at.LINKS][number]
    left = int(link[at.QUEUED])  # packets that came again, if anything
    times[bin_of(left) if left else 0] += played.now - link[at.QUEUED_AT]
    return times


def percentile(times: Table, share: float) -> float:
    """The length of queue below which it was for `share` of the time: the middle of a bin [B]."""
    before = np.searchsorted(times.cumsum(), share * times.sum())
    if before == 0:
        return 0.0
    return float(at.UNIT * (2 ** ((before - 0.5) / at.STEPS_AN_OCTAVE) - 1))


def fairness(played: Played) -> float:
    """See `Traffic.fairness`; of sprayed packets at the ports to NPUs, which all of a pair's packets pass."""
    w = played.tables.w
    flows, ways = w[at.FLOWS], w[at.WAYS]
    seconds = np.maximum(flows[:, at.OPEN_TIME], 1)
    rates = flows[:, at.ARRIVED] / seconds
    by_link: dict[int, list[float]] = {}
    for flow, rate in zip(flows, rates.tolist(), strict=True):
        way = ways[flow[at.WAY]]
        links = way[1 : 1 + way[0]] if flow[at.WAY_COUNT] == 1 else way[way[0] : 1 + way[0]]
        for link in links.tolist():
            by_link.setdefault(link, []).append(rate)
    return min((jain(np.array(shared)) for shared in by_link.values() if len(shared) > 1), default=1.0)


def jain(rates: NDArray[np.float64]) -> float:
    """Jain's index of fairness: 1 where all are equal, 1 / n where one has all."""
    squares = float((rates**2).sum())
    return float(rates.sum()) ** 2 / (len(rates) * squares) if squares else 1.0
