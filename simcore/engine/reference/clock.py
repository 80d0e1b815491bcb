"""What happens first at one picosecond: the network's events, then the programs' moves, then the queues' picks.

SimPy orders events of equal time by a priority, and those of equal priority by when they were scheduled. Because a
queue picks only once everything else of its picosecond has happened, no outcome depends on that last order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import simpy
from simpy.events import EventPriority

NETWORK, PROGRAM, PICK = EventPriority(0), EventPriority(1), EventPriority(2)
"""Priorities; PROGRAM is that of SimPy's own timeouts and of `Event.succeed`."""


def now(env: simpy.Environment) -> int:
    """The time [ps]; SimPy lets it be a float, but all delays here are whole."""
    return int(env.now)


class Moment(simpy.Event):
    """Calls `action` in `delay` [ps] with a priority of the clock."""

    def __init__(
        self, env: simpy.Environment, delay: int, priority: EventPriority, action: Callable[[], object]
    ) -> None:
        self.env = env
        self._ok, self._value, self._defused = True, None, False
        self.callbacks: list[Callable[[Any], None]] = [lambda _: _ignore_value(action())]
        env.schedule(self, priority, delay)


def _ignore_value(value: object) -> None:
    del value
