"""The events to come: a 4-ary heap by time."""

from __future__ import annotations

from simcore.compiled import inlined
from simcore.engine.packets.layout import (
    CLOCK,
    CODE,
    CODE_MASK,
    CODE_SHIFT,
    EVENTS,
    LIVE,
    TIME,
    TIMER_OVER,
    WAITING,
    Ints,
)


@inlined
def push(w: Ints, time: int, what: int, index: int) -> None:
    """Something will happen at `time`."""
    clock, events = w[CLOCK], w[EVENTS]
    place = clock[0, WAITING]
    clock[0, WAITING] += 1
    if what != TIMER_OVER:
        clock[0, LIVE] += 1
    while place > 0:
        parent = (place - 1) >> 2
        if events[parent, TIME] <= time:
            break
        events[place, TIME] = events[parent, TIME]
        events[place, CODE] = events[parent, CODE]
        place = parent
    events[place, TIME] = time
    events[place, CODE] = index << CODE_SHIFT | what


@inlined
def _sink(w: Ints, time: int, code: int) -> None:
    """Put an event where the first one was."""
    events = w[EVENTS]
    size = w[CLOCK][0, WAITING]
    place = 0
    while True:
        first = 4 * place + 1
        if first >= size:
            break
        least = first
        end = min(first + 4, size)
        for child in range(first + 1, end):
            if events[child, TIME] < events[least, TIME]:
                least = child
        if events[least, TIME] >= time:
            break
        events[place, TIME] = events[least, TIME]
        events[place, CODE] = events[least, CODE]
        place = least
    events[place, TIME] = time
    events[place, CODE] = code


@inlined
def pop(w: Ints) -> None:
    """Take the first event away."""
    clock, events = w[CLOCK], w[EVENTS]
    clock[0, WAITING] -= 1
    if events[0, CODE] & CODE_MASK != TIMER_OVER:
        clock[0, LIVE] -= 1
    last = clock[0, WAITING]
    if last > 0:
        _sink(w, events[last, TIME], events[last, CODE])


@inlined
def postpone(w: Ints, time: int) -> None:
    """Let the first event happen again at `time`."""
    _sink(w, time, w[EVENTS][0, CODE])
