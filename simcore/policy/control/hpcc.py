"""HPCC (Li et al., SIGCOMM 2019): a window that follows the utilisation of the busiest link, as its switches tell it.

Each switch writes into a packet when it left, how many bytes the port had sent by then, and how many still waited. Of
two packets the sender learns, for each link of the way with rate B (section 3.2, equation 2; algorithm 1),

    u = (bytes sent between / time between) / B + min(queues) / (B T)

with T the base round trip. U is the moving average over T of the largest one. Once a round trip the window is set
against the reference window W_c, and W_c to it; with each acknowledgement in between against the same W_c:

    W = W_c eta / U + W_AI   where U >= eta, or after `stages` round trips of additive increase;   else W = W_c + W_AI

and packets are paced at W / T. At its fixed point U = eta + N W_AI / (B T) for N flows: below 1, and the queue empty,
for W_AI < (1 - eta) B T / N (section 3.3).
"""

from __future__ import annotations

import math
from typing import ClassVar

from simcore.compiled import inlined
from simcore.policy.control.base import (
    ACKED,
    LEFT_AT,
    LINE,
    OWN,
    PACKET,
    PAYLOAD,
    PORT_RATE,
    QUEUE,
    RATE,
    ROW,
    SENT,
    SENT_BEFORE,
    TIMER,
    WINDOW,
    Control,
    Floats,
    Marking,
    Reached,
)

REFERENCE, UTILISATION, STAGE, UPDATE_END, KNOWN, HOPS = range(OWN, OWN + 6)
TARGET, STAGES, STEP, ROUND_TRIP, LEAST = range(5)
MOST_HOPS = (ROW - HOPS) // 3


class Hpcc(Control):
    """See the module."""

    number = 4
    reached = Reached(0.833, 0.642, 0.944)
    telemetry = True
    quantities: ClassVar = {"step": "bandwidth", "round_trip": "time", "least": "bandwidth"}

    def parameters(self, line: float, rtt: float) -> dict[str, float]:
        """See `Control.parameters`: `target` (eta) 95 % and 5 `stages` (section 5.1).

        `step` is W_AI / T: 10 Mb/s at 25 Gb/s, in proportion (`run.py` of its simulator), which is (1 - eta) W / N
        (section 3.3) for N = 125 flows. T is the base round trip of the longest way.
        """
        return {"target": 0.95, "stages": 5.0, "step": line / 2500, "round_trip": rtt, "least": line / 2000}

    def marking(self, rate: float, rtt: float) -> Marking | None:
        """See `Control.marking`: it takes no notice of marks."""
        return None


HPCC = Hpcc()


@inlined
def begin(row: Floats, p: Floats) -> None:
    """See `simcore.policy.control.base`."""
    row[REFERENCE] = row[LINE]
    row[UTILISATION] = 1.0
    row[TIMER] = math.inf
    _set_rate(row, p, row[LINE])


@inlined
def on_ack(row: Floats, p: Floats, hops: Floats) -> None:
    """See `simcore.policy.control.base`."""
    if not _measure(row, p, hops):
        return
    beyond = row[UTILISATION] / p[TARGET]
    settles = row[ACKED] > row[UPDATE_END]
    reference, stage = row[REFERENCE], 0.0
    if beyond >= 1 or row[STAGE] >= p[STAGES]:
        rate = reference / beyond + p[STEP]
    else:
        rate, stage = reference + p[STEP], row[STAGE] + 1
    rate = min(max(rate, p[LEAST]), row[LINE])
    if settles:
        row[REFERENCE], row[STAGE] = rate, stage
        row[UPDATE_END] = row[SENT]
    _set_rate(row, p, rate)


@inlined
def _set_rate(row: Floats, p: Floats, rate: float) -> None:
    """The rate, and as window what it has under way in a round trip, at least one packet."""
    payload = row[PAYLOAD]
    row[RATE] = rate
    row[WINDOW] = max(payload, rate * p[ROUND_TRIP] * payload / row[PACKET])


@inlined
def _measure(row: Floats, p: Floats, hops: Floats) -> bool:
    """Takes what switches wrote into the average; False where there was none to compare it with."""
    count = min(len(hops), MOST_HOPS)
    busiest, over, known = 0.0, 0.0, row[KNOWN] == count
    for number in range(count):
        hop, kept = hops[number], row[HOPS + 3 * number : HOPS + 3 * number + 3]
        elapsed = hop[LEFT_AT] - kept[LEFT_AT]
        if known and elapsed > 0:
            sending = (hop[SENT_BEFORE] - kept[SENT_BEFORE]) / elapsed
            waiting = min(hop[QUEUE], kept[QUEUE]) / p[ROUND_TRIP]
            use = (sending + waiting) / hop[PORT_RATE]
            if use > busiest:
                busiest, over = use, elapsed
        kept[QUEUE], kept[SENT_BEFORE], kept[LEFT_AT] = hop[QUEUE], hop[SENT_BEFORE], hop[LEFT_AT]
    row[KNOWN] = count
    if not known or over <= 0:
        return False
    share = min(over / p[ROUND_TRIP], 1.0)
    row[UTILISATION] += share * (busiest - row[UTILISATION])
    return True
