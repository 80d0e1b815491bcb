"""What each operator of a thread takes of the host's time, from its timeline.

Operators nest. A thread's time is cut where operators start: an operator has what passes from its start to the start
of the next, as far as any operator is running then. The sum over a thread is the time in which it ran operators, and
every part stands where it was; what lies between operators (Python) is nobody's, nor is what a host waits in a call
that ends when its devices do.
"""

from __future__ import annotations

from collections.abc import Sequence

from simcore.traces.pytorch.timeline import Event

Interval = tuple[float, float]


def merged(intervals: Sequence[Interval]) -> list[Interval]:
    """The union of intervals, in order, without overlaps."""
    found: list[Interval] = []
    for start, end in sorted(intervals):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


def without(intervals: Sequence[Interval], holes: Sequence[Interval]) -> list[Interval]:
    """Intervals (in order, without overlaps) less others of the same form."""
    left: list[Interval] = []
    place = 0
    for start, end in intervals:
        while place < len(holes) and holes[place][1] <= start:
            place += 1
        index = place
        while index < len(holes) and holes[index][0] < end:
            if holes[index][0] > start:
                left.append((start, holes[index][0]))
            start = max(start, holes[index][1])
            index += 1
        if start < end:
            left.append((start, end))
    return left


def shares(events: Sequence[Event], waits: Sequence[Interval]) -> list[float]:
    """Time [µs] of each event of one thread, which are in the order of their starts; `waits` are nobody's."""
    running = without(merged([(event.start, event.end) for event in events]), merged(waits))
    times = [0.0] * len(events)
    index = 0
    for start, end in running:
        while index + 1 < len(events) and events[index + 1].start <= start:
            index += 1
        while start < end:
            until = events[index + 1].start if index + 1 < len(events) else end
            times[index] += max(0.0, min(end, until) - start)
            start = max(start, min(end, until))
            if start < end:
                index += 1
    return times
