"""How ASTRA-sim 1.0 carries collectives: all NPUs move a chunk on together.

1.0 synchronises all NPUs at the end of every phase of every chunk. So the queues of one NPU tell everything,
and a phase takes as long as its slowest NPU: where members of a team differ (double binary trees, a ring broken
in two), a phase is played once with all of them.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

from simcore.astra.algorithms.collective import Chunk, QueuedPhase
from simcore.astra.engine.machine import Machine
from simcore.astra.engine.packets import PhaseTime
from simcore.astra.engine.phase_time import PhaseTimer
from simcore.astra.engine.queue import FlowShop
from simcore.astra.files.errors import AstraInputError
from simcore.astra.files.network import Network
from simcore.astra.files.system import SystemSettings

Action = Callable[[], None]

MAX_TIME_NS = 1 << 60
"""Latest event: times stay inside 64 bits."""


class TeamTimer:
    """Times phases, also of teams whose members differ."""

    def __init__(self, network: Network, system: SystemSettings, timer: PhaseTimer, rendezvous: bool) -> None:
        self._network = network
        self._system = system
        self._timer = timer
        self._rendezvous = rendezvous
        self._played: dict[QueuedPhase, PhaseTime] = {}

    def time(self, phase: QueuedPhase) -> PhaseTime:
        """Return the time of a phase that all members start together."""
        if self._timer.is_alike(phase):
            return self._timer.time(phase)
        if phase not in self._played:
            self._played[phase] = self._play(phase)
        return self._played[phase]

    def _play(self, phase: QueuedPhase) -> PhaseTime:
        machine = Machine(self._network, self._system, queues=1, rendezvous=self._rendezvous)
        finishes: list[int] = []
        for npu in phase.level.team(0)[1]:
            machine.issue(npu, [(phase,)], 0, lambda: finishes.append(machine.events.now))
        machine.events.run()
        return PhaseTime(max(finishes), (self._system.endpoint_delay, 0, 0))


class LockStep:
    """The queues of all NPUs at once, and the timers of the training loop. Times in [ns]."""

    def __init__(self, shop: FlowShop, timer: TeamTimer) -> None:
        self.now = 0
        self._shop = shop
        self._timer = timer
        self._events: list[tuple[int, int, int, Action]] = []  # (time, registered, order, action)
        self._order = 0
        self._done: dict[int, Action] = {}

    def wait(self, delay: int, action: Action) -> None:
        """Call back after `delay`."""
        if self.now + delay >= MAX_TIME_NS:
            raise AstraInputError(f"time: expected less than {MAX_TIME_NS} ns; check compute times and passes")
        heapq.heappush(self._events, (self.now + delay, self.now, self._order, action))
        self._order += 1

    def start_collective(self, chunks: Sequence[Chunk], priority: int, done: Action) -> None:
        """Start a collective; `done` is called at its end."""
        self._done[self._shop.issue(self.now, chunks, self._timer.time, priority)] = done

    def run(self) -> None:
        """Run until nothing is due any more."""
        while True:
            time, registered = self._events[0][:2] if self._events else (-1, 0)
            finished = self._shop.advance(time, time - registered)
            if finished >= 0:
                self.now = self._shop.now
                self._done.pop(finished)()
            elif self._events:
                self.now, _, _, action = heapq.heappop(self._events)
                action()
            else:
                return
