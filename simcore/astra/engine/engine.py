"""Two ways to run what a workload issues, behind one interface.

`Everyone` plays all NPUs event by event (`Machine`): for the congestion-aware back end. `Meeting` is for the
congestion-unaware one, where collectives never disturb each other: a collective is worked out when its last
member has joined, from the flow shop of one NPU when all joined together, otherwise by a `Machine` of its own.
With `alike` set, NPU 0 stands for all NPUs and no one is waited for. With `ordered` set, members that finish a
collective at one instant do so in the machine's order, which messages between NPUs can depend on.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Protocol

from simcore.astra.algorithms.collective import Chunk, Planner, Request
from simcore.astra.engine.machine import Machine
from simcore.astra.engine.mailbox import Action, Mailbox
from simcore.astra.engine.phase_time import PhaseTimer
from simcore.astra.engine.queue import FlowShop
from simcore.astra.engine.roll_call import Gathering, RollCall
from simcore.astra.files.errors import AstraInputError
from simcore.astra.files.network import Network
from simcore.astra.files.system import SystemSettings


class Engine(Protocol):
    """What a workload needs: time, timers, collectives, messages."""

    @property
    def now(self) -> int:
        """Current time [ns]."""

    @property
    def mail(self) -> Mailbox:
        """Sends and receives."""

    def wait(self, npu: int, delay: int, action: Action) -> None:
        """Call back on an NPU after `delay` [ns]."""

    def collective(self, npu: int, request: Request, label: str, done: Action) -> None:
        """Start an NPU's part of a collective; `label` names it in messages."""

    def waiting(self) -> list[str]:
        """Return a sentence for every collective that someone is missing from."""

    def run(self) -> None:
        """Run until nothing is due any more."""


class Planners:
    """The planner of each NPU; one for all where it has nothing to remember."""

    def __init__(self, make: Callable[[], Planner], shared: bool) -> None:
        self._make = make
        self._shared = make() if shared else None
        self._planners: dict[int, Planner] = {}

    def peek(self, request: Request) -> Sequence[Chunk]:
        """Return how some NPU would plan a collective, without taking anyone's turn."""
        return (self._shared or self._make()).plan(request)

    def plan(self, npu: int, request: Request, now: int) -> Sequence[Chunk]:
        """Return the chunks of an NPU's collective that starts now.

        Raises
        ------
        AstraInputError
            If no dimension takes part.
        """
        planner = self._shared
        if planner is None:
            if npu not in self._planners:
                self._planners[npu] = self._make()
            planner = self._planners[npu]
        chunks = planner.plan(request)
        if not chunks:
            raise AstraInputError("expected at least one active dimension of more than one NPU, got none")
        if now == 0 and planner.endpoint_delay == 0 and not chunks[0][0].level.members:
            raise AstraInputError(
                "endpoint-delay: expected more than 0 for a collective at time 0; ASTRA-sim's event queue aborts"
            )
        return chunks


def _labelled(label: str, error: AstraInputError) -> AstraInputError:
    return AstraInputError(f"{label}: {error}")


class Everyone:
    """All NPUs on one machine."""

    def __init__(self, machine: Machine, planners: Planners) -> None:
        self._machine = machine
        self._planners = planners
        self._roll_call = RollCall()

    @property
    def now(self) -> int:
        """Current time [ns]."""
        return self._machine.events.now

    @property
    def mail(self) -> Mailbox:
        """Sends and receives."""
        return self._machine.mail

    def wait(self, npu: int, delay: int, action: Action) -> None:
        """Call back on an NPU after `delay` [ns]."""
        self._machine.events.schedule_own(npu, delay, action)

    def collective(self, npu: int, request: Request, label: str, done: Action) -> None:
        """Start an NPU's part of a collective."""
        try:
            chunks = self._planners.plan(npu, request, self.now)
        except AstraInputError as error:
            raise _labelled(label, error) from None
        _, stream = self._roll_call.join(npu, request, chunks, label)
        self._machine.issue(npu, chunks, stream, done)

    def waiting(self) -> list[str]:
        """Return a sentence for every collective that someone is missing from."""
        return self._roll_call.describe_waiting()

    def run(self) -> None:
        """Run until nothing is due any more."""
        self._machine.events.run()


class Meeting:
    """NPUs whose collectives are worked out one by one."""

    def __init__(
        self,
        network: Network,
        system: SystemSettings,
        planners: Planners,
        timer: PhaseTimer,
        queues: int,
        *,
        rendezvous: bool = False,
        alike: bool = False,
        ordered: bool = False,
    ) -> None:
        self.now = 0
        self.mail = Mailbox(self, rendezvous)
        self._network = network
        self._system = system
        self._planners = planners
        self._timer = timer
        self._queues = queues
        self._rendezvous = rendezvous
        self._alike = alike
        self._ordered = ordered
        self._roll_call = RollCall()
        # (time, time of registration, order of registration, action)
        self._events: list[tuple[int, int, int, Action]] = []
        self._order = 0
        # By identity of a plan, which is kept: planners hand out the same plan for the same request.
        self._spans: dict[int, tuple[Sequence[Chunk], int]] = {}
        self._finishes: dict[tuple[object, ...], tuple[Gathering, dict[int, int]]] = {}

    def wait(self, npu: int, delay: int, action: Action) -> None:
        """Call back on an NPU after `delay` [ns]."""
        self._at(self.now + delay, self.now, action)

    def soon(self, action: Action) -> None:
        """Call back at the same instant."""
        self._at(self.now, self.now, action)

    def carry(self, source: int, destination: int, size: int, arrive: Action) -> None:
        """Move a message over the network."""
        link = self._network.link(source, destination)
        self._at(self.now + self._network.message_ns(link, size), self.now, arrive)

    def collective(self, npu: int, request: Request, label: str, done: Action) -> None:
        """Start an NPU's part of a collective; the last one to join works it out."""
        try:
            chunks = self._planners.plan(npu, request, self.now)
            if self._alike:
                self._finish(self._span(chunks), done)
                return
        except AstraInputError as error:
            raise _labelled(label, error) from None
        gathering, _ = self._roll_call.join(npu, request, chunks, label, (self.now, done))
        if gathering.is_complete:
            self._settle(gathering, label)

    def waiting(self) -> list[str]:
        """Return a sentence for every collective that someone is missing from."""
        return self._roll_call.describe_waiting()

    def run(self) -> None:
        """Run until nothing is due any more."""
        while self._events:
            self.now, _, _, action = heapq.heappop(self._events)
            action()

    def _at(self, time: int, registered: int, action: Action) -> None:
        heapq.heappush(self._events, (time, registered, self._order, action))
        self._order += 1

    def _finish(self, delay: int, done: Action) -> None:
        """Call `done` after `delay`, as an event registered when the last packet came in."""
        time = self.now + delay
        self._at(time, max(self.now, time - self._system.endpoint_delay), done)

    def _span(self, chunks: Sequence[Chunk]) -> int:
        """Return the time of a collective that everyone starts together on idle queues [ns]."""
        if id(chunks) not in self._spans:
            queues = self._queues * len(self._network.sizes)
            shop = FlowShop(queues, -(-self._system.active_chunks // self._queues), capacity=len(chunks))
            shop.issue(0, chunks, self._timer.time, 0)
            shop.advance()
            self._spans[id(chunks)] = chunks, shop.now
        return self._spans[id(chunks)][1]

    def _settle(self, gathering: Gathering, label: str) -> None:
        """Work out when each member of a collective finishes."""
        try:
            self._settle_members(gathering)
        except AstraInputError as error:
            raise _labelled(label, error) from None

    def _settle_members(self, gathering: Gathering) -> None:
        members = gathering.joined
        plans = gathering.chunks
        some = next(iter(plans.values()))
        together = len({start for start, _ in members.values()}) == 1
        same = all(plan is some or plan == some for plan in plans.values())
        if together and same and not self._ordered and all(map(self._timer.is_alike, some[0])):
            for _, done in members.values():
                self._finish(self._span(some), done)
            return
        now = self.now
        for npu, finish in self._finish_times(gathering).items():
            self._finish(finish - now, members[npu][1])

    def _finish_times(self, gathering: Gathering) -> dict[int, int]:
        """Return when each member finishes, in that order, from a machine of the members alone [ns]."""
        first = min(start for start, _ in gathering.joined.values())
        starts = tuple((npu, start - first) for npu, (start, _) in gathering.joined.items())
        key = (starts, tuple(map(id, gathering.chunks.values())))
        if key not in self._finishes:
            self._finishes[key] = gathering, self._play(gathering, starts)
        return {npu: first + finish for npu, finish in self._finishes[key][1].items()}

    def _play(self, gathering: Gathering, starts: tuple[tuple[int, int], ...]) -> dict[int, int]:
        machine = Machine(self._network, self._system, self._queues, rendezvous=self._rendezvous)
        finishes: dict[int, int] = {}

        def begin(npu: int) -> None:
            machine.issue(npu, gathering.chunks[npu], 0, lambda: finish(npu))

        def finish(npu: int) -> None:
            finishes[npu] = machine.events.now

        for npu, start in starts:
            machine.events.schedule(start, begin, npu)
        machine.events.run()
        if len(finishes) < len(starts):
            raise AstraInputError("ranks disagree on the direction of a ring; they use num_queues differently")
        return finishes
