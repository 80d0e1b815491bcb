"""Computation beside collectives, as both engines play it: overlap is not free.

While a dimension of an NPU serves a phase, that NPU's computation takes 1 + slowdown / 1000 times as long; of several
dimensions the largest slowdown counts. What waits in a queue or is in flight takes nothing from it.

All times are whole picoseconds. Of the time that an operator spends at one slowdown, whole picoseconds of work are
done; what is left over (the *carry*, in thousandths of a picosecond of time) is kept for the next time the operator
is at that slowdown. So the work done follows from the time at each slowdown alone, however it was cut into intervals.
An operator begins without carries.
"""

from __future__ import annotations

from simcore.system.interference import UNIT


def time_needed(work: int, carry: int, slowdown: int) -> int:
    """Least time in which `work` [ps] is done at a slowdown, where `carry` is left over of the time before [ps]."""
    whole, rest = work // UNIT, work % UNIT
    return int(work + whole * slowdown - (carry - rest * slowdown) // UNIT)  # the product of all of it might overflow


def work_done(time: int, carry: int, slowdown: int) -> int:
    """Work that is done in `time` at a slowdown, where `carry` is left over of the time before [ps]."""
    pace = UNIT + slowdown
    return int(time // pace * UNIT + (carry + time % pace * UNIT) // pace)


def time_left_over(time: int, carry: int, slowdown: int) -> int:
    """The carry after `time` [ps] at a slowdown, which did `work_done`."""
    pace = UNIT + slowdown
    return int((carry + time % pace * UNIT) % pace)
