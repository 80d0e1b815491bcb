"""TIMELY (Mittal et al., SIGCOMM 2015), patched (Zhu et al., CoNEXT 2016): a rate that follows the round-trip time.

The original follows the gradient of the round-trip time alone, which is zero at all rates that add up to the link's:
it has infinitely many fixed points, and flows may share a link in any way (Zhu et al., section 4). The patch compares
the round-trip time with `low` as well (section 4.3, algorithm 2): from `low` to `high`

    w = clip(2 gradient + 1/2, 0, 1),   R <- R (1 - beta w (rtt - low) / low) + step (1 - w)

so that N flows settle at C / N with rtt = low (1 + N step / (beta C)), and nowhere else. Outside it is TIMELY: below
`low` R <- R + step; above `high` R <- R (1 - fall (1 - high / rtt)). The gradient is the moving average of differences
of round-trip times over the least one. A queue pair takes one sample for each `segment` of bytes, and at most one for
each least round-trip time (Zhu et al., the fluid model's tau*).
"""

from __future__ import annotations

import math
from typing import ClassVar

from simcore.compiled import inlined
from simcore.policy.control.base import (
    ACKED,
    LINE,
    NOW,
    OWN,
    RATE,
    RTT,
    TIMER,
    WINDOW,
    Control,
    Floats,
    Marking,
    Reached,
)

LAST_RTT, GRADIENT, SAMPLED_BYTES, SAMPLED_AT = range(OWN, OWN + 4)
LOW, HIGH, LEAST_RTT, AVERAGE, BETA, FALL, STEP, SEGMENT, LEAST = range(9)


class Timely(Control):
    """See the module."""

    number = 3
    reached = Reached(0.966, 0.934, 0.979)
    quantities: ClassVar = {
        **dict.fromkeys(("low", "high", "least_rtt"), "time"),
        **dict.fromkeys(("step", "least"), "bandwidth"),
        "segment": "size",
    }

    def parameters(self, line: float, rtt: float) -> dict[str, float]:
        """See `Control.parameters`.

        Mittal et al. measured with a least round trip of 20 us, `low` 50 us, `high` 500 us, 10 Mb/s steps at 10 Gb/s,
        segments of 16 kB (section 5; `ns3-rdma`, branch `timely`): times follow the fabric's base round trip here, the
        step its rate. `average` and `fall` are theirs; `beta` is that of the patch.
        """
        return {
            "low": 2.5 * rtt,
            "high": 25 * rtt,
            "least_rtt": rtt,
            "average": 0.875,
            "beta": 0.008,
            "fall": 0.8,
            "step": line / 1000,
            "segment": 16e3,
            "least": line / 2000,
        }

    def marking(self, rate: float, rtt: float) -> Marking | None:
        """See `Control.marking`: it takes no notice of marks."""
        return None


TIMELY = Timely()


@inlined
def begin(row: Floats, p: Floats) -> None:
    """See `simcore.policy.control.base`."""
    row[RATE] = row[LINE]
    row[WINDOW] = row[TIMER] = math.inf
    row[SAMPLED_AT] = -math.inf


@inlined
def on_ack(row: Floats, p: Floats, hops: Floats) -> None:
    """See `simcore.policy.control.base`."""
    now, acked, rtt = row[NOW], row[ACKED], row[RTT]
    if acked - row[SAMPLED_BYTES] < p[SEGMENT]:
        return
    if now - row[SAMPLED_AT] < p[LEAST_RTT]:
        return
    last = row[LAST_RTT]
    if last > 0:
        change = (rtt - last) / p[LEAST_RTT]
        row[GRADIENT] += p[AVERAGE] * (change - row[GRADIENT])
    row[LAST_RTT], row[SAMPLED_BYTES], row[SAMPLED_AT] = rtt, acked, now
    rate = _follow(row[RATE], rtt, row[GRADIENT], p)
    row[RATE] = min(max(rate, p[LEAST]), row[LINE])


@inlined
def _follow(rate: float, rtt: float, gradient: float, p: Floats) -> float:
    """The rate after a sample."""
    weight, fall = 0.0, 0.0
    if rtt > p[HIGH]:
        weight, fall = 1.0, p[FALL] * (1 - p[HIGH] / rtt)
    elif rtt >= p[LOW]:
        weight = min(max(2 * gradient + 0.5, 0.0), 1.0)
        fall = p[BETA] * weight * (rtt - p[LOW]) / p[LOW]
    return float(rate * (1 - fall) + p[STEP] * (1 - weight))
