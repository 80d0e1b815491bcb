"""DCTCP (Alizadeh et al., SIGCOMM 2010): a window that shrinks by as much as packets are marked.

Switches mark every packet that leaves more than K bytes queued. Of each window of data the sender takes the share F of
marked bytes (section 3.1, equations 1 and 2), with g the `gain`:

    alpha <- (1 - g) alpha + g F,   and at most once a window, at a mark, W <- W (1 - alpha / 2);

without a cut the window grows by a packet a round trip. There is no slow start: as RDMA does, a queue pair begins with
what line rate has under way on an idle fabric.
"""

from __future__ import annotations

import math

from simcore.compiled import inlined
from simcore.policy.control.base import (
    ACKED,
    BASE_RTT,
    LINE,
    MARKED,
    NEWLY,
    OWN,
    PACKET,
    PAYLOAD,
    RATE,
    SENT,
    TIMER,
    WINDOW,
    Control,
    Floats,
    Marking,
    Reached,
)

ALPHA, SEEN, SEEN_MARKED, WINDOW_END, CUT_END = range(OWN, OWN + 5)
GAIN = 0


class Dctcp(Control):
    """See the module."""

    number = 2
    reached = Reached(0.971, 0.955, 0.979)

    def parameters(self, line: float, rtt: float) -> dict[str, float]:
        """See `Control.parameters`: g = 1/16 (section 3.4), or what equation 15 allows for a longer way.

        Equation 15: g < 1.386 / sqrt(2 (C RTT + K)), in packets of 1 kB.
        """
        packets = (line * rtt + self.marking(line, rtt).low) / 1000
        return {"gain": min(1 / 16, 1.386 / math.sqrt(2 * packets))}

    def marking(self, rate: float, rtt: float) -> Marking:
        """See `Control.marking`: a step at 3 kB a Gb/s, as in the simulator of HPCC (`run.py`).

        More where the way is longer: below C RTT / 7 (equation 13) the queue would run dry.
        """
        threshold = max(3e3 * rate * 8e-9, rate * rtt / 7)
        return Marking(threshold, threshold, 1.0)


DCTCP = Dctcp()


@inlined
def begin(row: Floats, p: Floats) -> None:
    """See `simcore.policy.control.base`."""
    row[RATE] = row[LINE]
    row[WINDOW] = row[LINE] * row[BASE_RTT] * row[PAYLOAD] / row[PACKET]
    row[TIMER] = math.inf
    row[ALPHA] = 1.0


@inlined
def on_ack(row: Floats, p: Floats, hops: Floats) -> None:
    """See `simcore.policy.control.base`."""
    newly, marked, acked = row[NEWLY], row[MARKED] > 0, row[ACKED]
    row[SEEN] += newly
    if marked:
        row[SEEN_MARKED] += newly
    if acked > row[WINDOW_END] and row[SEEN] > 0:
        share = row[SEEN_MARKED] / row[SEEN]
        row[ALPHA] += p[GAIN] * (share - row[ALPHA])
        row[SEEN] = row[SEEN_MARKED] = 0.0
        row[WINDOW_END] = row[SENT]
    window, packet = row[WINDOW], row[PAYLOAD]
    if acked <= row[CUT_END]:
        return
    if marked:
        row[WINDOW] = max(packet, window * (1 - row[ALPHA] / 2))
        row[CUT_END] = row[SENT]
    else:
        row[WINDOW] = window + packet * newly / window
