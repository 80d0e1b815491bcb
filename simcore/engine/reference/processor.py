"""What computes on an NPU, one operator at a time, slowed while its network serves (`simcore.engine.interference`)."""

from __future__ import annotations

from collections.abc import Sequence

import simpy

from simcore.engine.interference import time_left_over, time_needed, work_done
from simcore.engine.reference.clock import PROGRAM, Moment, now


class Processor:
    """The multiprocessors of one NPU."""

    def __init__(self, env: simpy.Environment, slowdowns: Sequence[int]) -> None:
        self.env, self.slowdowns = env, slowdowns
        self.serving = [0] * len(slowdowns)
        """How many phases (at link level: messages) each dimension serves."""
        self.slowdown = 0
        self.work, self.since, self.settled = 0, 0, 0
        self.carries: dict[int, int] = {}
        self.done: simpy.Event | None = None

    def compute(self, work: int) -> simpy.Event:
        """The event at which `work` [ps] is done that begins now."""
        if not any(self.slowdowns):
            return self.env.timeout(work)
        self.work, self.since = work, now(self.env)
        self.carries = dict.fromkeys((0, *self.slowdowns), 0)
        self.done = self.env.event()
        self._settle_end()
        return self.done

    def serve(self, dimension: int, more: int) -> None:
        """A dimension of the NPU begins (1) or ends (-1) to serve something."""
        if not self.slowdowns[dimension]:
            return
        self.serving[dimension] += more
        slowdown = max(slow for slow, serving in zip((0, *self.slowdowns), (1, *self.serving), strict=True) if serving)
        if slowdown == self.slowdown:
            return
        before, self.slowdown = self.slowdown, slowdown
        if self.done:
            passed, carry = now(self.env) - self.since, self.carries[before]
            self.work -= work_done(passed, carry, before)
            self.carries[before] = time_left_over(passed, carry, before)
            self.since = now(self.env)
            self._settle_end()

    def _settle_end(self) -> None:
        """The operator will end when its work is done at the present slowdown, unless that changes before."""
        self.settled += 1
        number = self.settled
        needed = time_needed(self.work, self.carries[self.slowdown], self.slowdown) if self.work else 0
        Moment(self.env, needed, PROGRAM, lambda: self._end(number))

    def _end(self, number: int) -> None:
        if self.done and number == self.settled:
            self.done.succeed()
            self.done = None
