"""DCQCN (Zhu et al., SIGCOMM 2015): a rate that notifications of marked packets cut, and timers and bytes let recover.

At a notification (section 5.1, equation 1), with g the `gain`,

    R_T <- R,  R <- R (1 - alpha / 2),  alpha <- (1 - g) alpha + g

and after each `decay` without one alpha <- (1 - g) alpha (equation 2). A timer and a counter of bytes let R recover: in
the first `recovery` events of each R <- (R_T + R) / 2 (fast recovery); once one of them is past that, R_T grows by
`step` before (additive increase); once both are, by i x `leap` at the i-th (hyper increase). A queue pair begins at
line rate.
"""

from __future__ import annotations

import math
from typing import ClassVar

from simcore.compiled import inlined
from simcore.policy.control.base import LINE, NOW, OWN, RATE, TIMER, WINDOW, Control, Floats, Marking, Reached

TARGET, ALPHA, BYTE_EVENTS, TIME_EVENTS, BYTES, DECAYED = range(OWN, OWN + 6)
GAIN, DECAY, PERIOD, COUNTER, RECOVERY, STEP, LEAP, LEAST = range(8)
_FULL = 1 - 1e-9


class Dcqcn(Control):
    """See the module."""

    number = 1
    reached = Reached(0.900, 0.718, 0.979)
    notified = True
    acknowledged = False
    quantities: ClassVar = {
        **dict.fromkeys(("decay", "period"), "time"),
        **dict.fromkeys(("step", "leap", "least"), "bandwidth"),
        "counter": "size",
    }

    def parameters(self, line: float, rtt: float) -> dict[str, float]:
        """See `Control.parameters`: those of the deployment in the paper (section 5.2, figure 14), at 40 Gb/s.

        Rates grow with the line's: `step` from 40 Mb/s there. The others are those of simulators with NICs of 200 Gb/s:
        `leap` 50 Mb/s at 25 Gb/s (HPCC's `run.py`), `least` 100 Mb/s (ASTRA-sim over ns-3, its configuration).
        """
        return {
            "gain": 1 / 256,
            "decay": 55e-6,
            "period": 55e-6,
            "counter": 10e6,
            "recovery": 5.0,
            "step": line / 1000,
            "leap": line / 500,
            "least": line / 2000,
        }

    def marking(self, rate: float, rtt: float) -> Marking | None:
        """See `Control.marking`: the ramp of the simulator of HPCC (`run.py`): 4 to 16 kB a Gb/s, 20 % at its end."""
        gigabits = rate * 8e-9
        return Marking(4e3 * gigabits, 16e3 * gigabits, 0.2)


DCQCN = Dcqcn()


@inlined
def begin(row: Floats, p: Floats) -> None:
    """See `simcore.policy.control.base`."""
    row[RATE] = row[TARGET] = row[LINE]
    row[WINDOW] = row[TIMER] = math.inf
    row[ALPHA] = 1.0


@inlined
def _recover(row: Floats, p: Floats) -> None:
    """One event of the timer or of the counter of bytes."""
    beyond = min(row[BYTE_EVENTS], row[TIME_EVENTS]) - p[RECOVERY]
    target = row[TARGET]
    if beyond > 0:
        target += beyond * p[LEAP]
    elif max(row[BYTE_EVENTS], row[TIME_EVENTS]) > p[RECOVERY]:
        target += p[STEP]
    target = min(target, row[LINE])
    rate = (target + row[RATE]) / 2
    if rate > row[LINE] * _FULL:  # nothing to recover until the next notification
        rate = row[LINE]
        row[TIMER] = math.inf
    row[TARGET], row[RATE] = target, rate


@inlined
def on_send(row: Floats, p: Floats, size: int) -> None:
    """See `simcore.policy.control.base`."""
    if row[TIMER] == math.inf:
        return
    row[BYTES] += size
    if row[BYTES] >= p[COUNTER]:
        row[BYTES] -= p[COUNTER]
        row[BYTE_EVENTS] += 1
        _recover(row, p)


@inlined
def on_timer(row: Floats, p: Floats) -> None:
    """See `simcore.policy.control.base`."""
    row[TIMER] += p[PERIOD]
    row[TIME_EVENTS] += 1
    _recover(row, p)


@inlined
def on_cnp(row: Floats, p: Floats) -> None:
    """See `simcore.policy.control.base`; alpha is read here alone, so it decays here."""
    now, alpha = row[NOW], row[ALPHA]
    if row[DECAYED] > 0:
        alpha *= (1 - p[GAIN]) ** math.floor((now - row[DECAYED]) / p[DECAY])
    row[TARGET] = row[RATE]
    row[RATE] = max(p[LEAST], row[RATE] * (1 - alpha / 2))
    row[ALPHA] = alpha + p[GAIN] * (1 - alpha)
    row[BYTE_EVENTS] = row[TIME_EVENTS] = row[BYTES] = 0.0
    row[DECAYED] = now
    row[TIMER] = now + p[PERIOD]
