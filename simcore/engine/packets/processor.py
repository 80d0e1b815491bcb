"""What computes on an NPU, slowed while its network serves (`simcore.system.interference`)."""

from __future__ import annotations

from simcore.compiled import inlined
from simcore.engine.packets.heap import push
from simcore.engine.packets.layout import (
    CLOCK,
    DOING,
    ENDS_AT,
    NEXT_OF_NPU,
    NOW,
    PROCESSOR,
    RESOURCES,
    SERVES,
    SINCE,
    SLOWDOWN,
    SLOWS,
    TASK_OVER,
    WORK_LEFT,
    Ints,
)

_UNIT = 1000
"""Slowdowns and work left are in thousandths."""


@inlined
def compute(w: Ints, resource: int) -> None:
    """A resource is done when its work is, unless its pace changes before."""
    its, now = w[RESOURCES], w[CLOCK][0, NOW]
    its[resource, SINCE] = now
    pace = _UNIT + its[resource, SLOWDOWN]
    # work left x pace might not fit 64 bits
    whole, rest = its[resource, WORK_LEFT] // _UNIT, its[resource, WORK_LEFT] % _UNIT
    its[resource, ENDS_AT] = now + (whole * pace + (rest * pace + _UNIT - 1) // _UNIT + _UNIT - 1) // _UNIT
    push(w, its[resource, ENDS_AT], TASK_OVER, resource)


@inlined
def serve_more(w: Ints, resource: int, more: int) -> None:
    """A resource serves one thing more (1) or less (-1), beside which its NPU computes."""
    its, now = w[RESOURCES], w[CLOCK][0, NOW]
    its[resource, SERVES] += more
    processor = its[resource, PROCESSOR]
    if processor < 0 or its[resource, SLOWS] == 0:
        return
    slowdown, other = 0, its[processor, NEXT_OF_NPU]
    while other >= 0:
        if its[other, SERVES] > 0:
            slowdown = max(slowdown, its[other, SLOWS])
        other = its[other, NEXT_OF_NPU]
    before = its[processor, SLOWDOWN]
    its[processor, SLOWDOWN] = slowdown
    if slowdown != before and its[processor, DOING] >= 0:
        passed, pace = now - its[processor, SINCE], _UNIT + before
        done = passed // pace * _UNIT * _UNIT + passed % pace * _UNIT * _UNIT // pace
        its[processor, WORK_LEFT] = max(0, its[processor, WORK_LEFT] - done)
        compute(w, processor)
