"""One queue that senders share, packet by packet: what a control does apart from the engine.

Packets reach the queue at once, and acknowledgements come back a round trip after they have left it. So the queue of a
packet is known when it is sent, and whatever comes back does so in the order in which packets left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simcore.compiled import compiled
from simcore.policy.control import CONTROLS
from simcore.policy.control.base import (
    ACKED,
    BASE_RTT,
    HOP,
    LEFT_AT,
    LINE,
    MARKED,
    NEWLY,
    NOW,
    PACKET,
    PAYLOAD,
    PORT_RATE,
    QUEUE,
    RATE,
    ROW,
    RTT,
    SENT,
    SENT_BEFORE,
    TIMER,
    WINDOW,
    Floats,
    Marking,
)
from simcore.policy.control.dispatch import begin, on_ack, on_cnp, on_send, on_timer

SIZE = 1000.0


@dataclass(frozen=True)
class Played:
    """What happened in the last part of a run."""

    rates: Floats
    """Mean rate of each sender [B/s]."""
    queue: Floats
    """The queue, ahead of each packet that arrived [B]."""
    marked: float
    """Share of the packets that were marked."""

    @property
    def jain(self) -> float:
        """Jain's index of the rates: 1 where they are equal, 1 / n where one sender has all."""
        return float(self.rates.sum() ** 2 / (len(self.rates) * (self.rates**2).sum()))


def play(
    control: str,
    first: list[float],
    *,
    capacity: float,
    rtt: float,
    until: float,
    last: float,
    cnp_interval: float = 50e-6,
    marking: Marking | None = None,
    parameters: dict[str, float] | None = None,
) -> Played:
    """Senders share a queue of `capacity` [B/s] until `until` [s]; of the last `last` [s] it tells.

    They begin at the rates `first` [B/s], or with windows of as much in a round trip.
    """
    member = CONTROLS[control]
    given = {**member.parameters(capacity, rtt), **(parameters or {})}
    marks = marking or member.marking(capacity, rtt) or Marking(math.inf, math.inf, 0.0)
    rows = np.zeros((len(first), ROW))
    rows[:, LINE], rows[:, BASE_RTT], rows[:, PAYLOAD], rows[:, PACKET] = capacity, rtt, SIZE, SIZE
    sent = np.zeros(len(first))
    seen = np.zeros((int(last * capacity / SIZE * 1.5), 2))
    count = _play(
        member.number,
        member.notified,
        rows,
        np.array([*given.values()]),
        np.array(first),
        np.array([*marks, capacity, rtt, until, until - last, cnp_interval]),
        sent,
        seen,
    )
    return Played(sent / last, seen[:count, 0], float(seen[:count, 1].mean()))


@compiled
def _play(
    control: int,
    notified: bool,
    rows: Floats,
    p: Floats,
    first_rates: Floats,
    setting: Floats,
    sent: Floats,
    seen: Floats,
) -> int:
    low, high, most, capacity, rtt, until, counted_from, interval = setting
    np.random.seed(1)
    senders, back, count = len(rows), 1 << 20, 0
    acks = np.zeros((back, 6))  # when, sender, sent at, marked, queue behind it, left at
    first = last = 0
    ready, notified_at = np.zeros(senders), np.full(senders, -1.0)
    free, told = 0.0, np.zeros((1, HOP))
    for sender in range(senders):
        begin(control, rows[sender], p)
        if rows[sender, WINDOW] == math.inf:
            rows[sender, RATE] = first_rates[sender]
        else:
            rows[sender, WINDOW] *= first_rates[sender] / capacity
        ready[sender] = SIZE / first_rates[sender] * (sender + 1) / senders
    while True:
        now, what = until, -1
        if last > first and acks[first % back, 0] < now:
            now, what = acks[first % back, 0], senders
        for sender in range(senders):
            row = rows[sender]
            if ready[sender] < now and row[SENT] - row[ACKED] + SIZE <= max(row[WINDOW], SIZE):
                now, what = ready[sender], sender
            if row[TIMER] < now:
                now, what = row[TIMER], senders + 1 + sender
        if what < 0:
            return count
        if what > senders:
            row = rows[what - senders - 1]
            row[NOW] = now
            on_timer(control, row, p)
        elif what < senders:
            row = rows[what]
            row[NOW] = now
            queue = max(0.0, free - now) * capacity
            free = max(free, now) + SIZE / capacity
            marked = queue > high or (queue > low and np.random.random() < most * (queue - low) / (high - low))
            acks[last % back] = np.array([free + rtt - SIZE / capacity, what, now, marked, queue, free])
            last += 1
            row[SENT] += SIZE
            on_send(control, row, p, int(SIZE))
            ready[what] = now + SIZE / row[RATE]
            if now >= counted_from and count < len(seen):
                seen[count, 0], seen[count, 1] = queue, marked
                count += 1
        else:
            ack = acks[first % back]
            first += 1
            sender = int(ack[1])
            row = rows[sender]
            row[NOW], row[NEWLY], row[MARKED], row[RTT] = now, SIZE, ack[3], now - ack[2]
            row[ACKED] += SIZE
            if now >= counted_from:
                sent[sender] += SIZE
            if ready[sender] < now:
                ready[sender] = now
            told[0, QUEUE], told[0, SENT_BEFORE] = ack[4], (first - 1) * SIZE
            told[0, LEFT_AT], told[0, PORT_RATE] = ack[5], capacity
            on_ack(control, row, p, told)
            if notified and ack[3] > 0 and now - notified_at[sender] >= interval:
                notified_at[sender] = now
                on_cnp(control, row, p)
