"""How many designs to send in one call: as many as take about `TARGET` seconds.

A call costs about a millisecond whatever it carries, so 100 ms keep that near 1 %, and still lose little when a
worker dies and leave a stop signal unanswered for no longer than one notices. Of a batch that has an end, a call takes
at most a share of what is left, so that all workers end together (guided self-scheduling: Polychronopoulos, Kuck 1987).
"""

from __future__ import annotations

import math
from collections import deque

TARGET = 0.1
"""Seconds a call should take."""
MOST = 2000
"""Designs a call takes at most: 10 MB of outcomes."""
REMEMBERED = 8
"""Calls that the time per design is taken from: enough to even out cut designs, few enough to follow a search."""
GROWTH = 2.0
"""A call is at most so much larger than the largest of late: one fast design must not bring a call of minutes."""


class CallSize:
    """Follows the time per design."""

    def __init__(self) -> None:
        self._late: deque[tuple[int, float]] = deque(maxlen=REMEMBERED)

    def record_call(self, designs: int, seconds: float) -> None:
        """A call of so many designs took so long [s]."""
        self._late.append((designs, seconds))

    @property
    def seconds_per_design(self) -> float | None:
        """Mean time per design over the most recent calls [s]; None before the first call."""
        designs = sum(count for count, _ in self._late)
        return sum(seconds for _, seconds in self._late) / designs if designs else None

    def next_size(self, left: int | None, workers: int) -> int:
        """Designs of the next call, where `left` are left to send (None: many) to so many workers."""
        each = self.seconds_per_design
        if each is None:
            size = 1
        else:
            wanted = TARGET / max(each, TARGET / MOST)
            size = max(1, round(min(wanted, GROWTH * max(count for count, _ in self._late))))
        return size if left is None else min(size, math.ceil(left / (2 * max(workers, 1))))
