"""A pool of workers that may die, hang, come and go: every design is evaluated once, and outcomes keep their order.

    documents ─▶ calls of about 100 ms ─▶ workers ─▶ outcomes, held back until those before them are there
                      ▲                      │
                      └── once more, alone ◀─┴─ died, or over its time limit

A worker that dies or overruns takes its designs to a second try, each alone, in another process, on another machine
where there is one; a design that fails there too is an outcome (`failed`, with the reason). A lost machine is nobody's
fault and is not counted, up to `MOST_LOST` times. What is in flight is bounded, however long one design takes.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from dse.evaluate.evaluate import Evaluate, Outcome
from dse.execute.base import Documents, Executor, Status
from dse.execute.call_size import CallSize
from dse.execute.workers import WorkerAnswer, WorkerGone, WorkerReady, Workers, WorkersError, WorkersUnfit

QUEUED = 2
"""Calls a worker has at a time: one to work on and one to go on with, so that it never waits for the driver."""
WINDOW = 32
"""Calls a worker may be ahead of the slowest design: about 3 s, then it waits; bounds memory."""
TRIES = 2
MOST_LOST = 5
"""Machines lost under one design after which it counts as failed: it may be what brings them down."""
MOST_STILLBORN = 8
"""Workers in a row that die before they are ready after which the study stops."""
RECOUNT_SECONDS = 2.0
POLL_SECONDS = 0.02


@dataclass(slots=True)
class _Item:
    """A design on its way."""

    index: int
    document: Mapping[str, Any]
    tries: int = 0
    lost: int = 0
    node: str = ""
    """Machine of its last try."""


@dataclass(slots=True)
class _Worker:
    node: str | None = None
    """None until it is ready."""
    warm: bool = False
    """Has answered once: what it compiles and imports is done."""
    calls: deque[tuple[int, list[_Item]]] = field(default_factory=deque)
    since: float = 0.0
    """When it began its first call."""


class Pool(Executor):
    """Evaluates on `jobs` workers, or on as many as there is room for."""

    def __init__(
        self,
        evaluator: Evaluate,
        workers: Workers,
        jobs: int | None,
        design_timeout: float | None = None,
        start_timeout: float = 60.0,
    ) -> None:
        self._evaluator, self._workers, self._jobs = evaluator, workers, jobs
        self._design_timeout, self._start_timeout = design_timeout, start_timeout
        self._staff: dict[int, _Worker] = {}
        self._size = CallSize()
        self._calls = self._failed = self._stillborn = 0
        self._counted = -RECOUNT_SECONDS
        self._idle_since = time.monotonic()
        self._nodes = 0
        self.on_wait: Callable[[], None] = lambda: None
        self._reset()

    def _reset(self) -> None:
        self._again: deque[list[_Item]] = deque()
        self._alone: deque[_Item] = deque()
        self._outcomes: dict[int, Outcome] = {}
        self._buffer: deque[Mapping[str, Any]] = deque()
        """Documents taken and not sent."""
        self._dry = False
        """Whether there are no others for now."""
        self._exhausted = False
        self._taken = self._given = 0

    def map(self, documents: Documents) -> Iterator[Outcome]:
        """See `Executor.map`. Raises `WorkersError` where no worker is to be had."""
        self._abandon()
        self._reset()
        self._idle_since = polled = time.monotonic()
        source = iter(documents)
        while not (self._exhausted and not self._buffer and self._given == self._taken):
            self._recruit()
            while self._feed(source):
                pass
            while self._given in self._outcomes:
                self._given += 1
                yield self._outcomes.pop(self._given - 1)
                if time.monotonic() - polled > POLL_SECONDS:
                    break  # the workers must not run dry while the driver writes
            waiting = self._given not in self._outcomes and (self._buffer or self._given < self._taken)
            self._hear(self._patience() if waiting else 0.0)
            polled = time.monotonic()

    def _abandon(self) -> None:
        """Stops calls that an abandoned earlier `map` left running."""
        for worker in [worker for worker, state in self._staff.items() if state.calls]:
            self._workers.stop(worker)
            del self._staff[worker]

    def _fill(self, source: Iterator[Mapping[str, Any] | None]) -> None:
        """Have two calls' documents for each worker, where there are so many."""
        enough = 2 * max(1, self._count_ready()) * self._size.next_size(None, 1)
        self._dry = self._exhausted
        while len(self._buffer) < enough and not self._dry:
            document = next(source, self)
            if document is self:
                self._exhausted = True
            elif document is not None:
                self._buffer.append(cast("Mapping[str, Any]", document))
            self._dry = document is None or self._exhausted

    def _feed(self, source: Iterator[Mapping[str, Any] | None]) -> bool:
        """Send each worker that has room one call; whether any was sent."""
        sent = False
        if self._taken - self._given < self._window():
            self._fill(source)
        for worker, state in self._free_workers():
            if self._resend(worker, state):
                sent = True
                continue
            if self._alone and state.calls:
                continue  # a suspect gets a worker of its own: wait until one is idle
            left = len(self._buffer) if self._dry else None
            count = min(len(self._buffer), self._size.next_size(left, self._count_ready()) if state.warm else 1)
            items = [_Item(self._taken + i, self._buffer.popleft()) for i in range(count)]
            self._taken += count
            if items:
                self._send(worker, state, items)
                sent = True
        return sent

    def _free_workers(self) -> list[tuple[int, _Worker]]:
        """Ready workers with room for a call, the idle ones first; a cold one gets one call at a time."""
        free = [
            (len(state.calls), worker, state)
            for worker, state in self._staff.items()
            if state.node is not None and len(state.calls) < (QUEUED if state.warm else 1)
        ]
        return [(worker, state) for _, worker, state in sorted(free, key=lambda entry: entry[:2])]

    def _count_ready(self) -> int:
        return sum(state.node is not None for state in self._staff.values())

    def _window(self) -> int:
        return max(1, self._count_ready()) * WINDOW * self._size.next_size(None, 1)

    def _recruit(self) -> None:
        """Keep as many workers as are wanted, started or asked for."""
        now = time.monotonic()
        if now - self._counted >= RECOUNT_SECONDS:
            self._counted = now
            self._nodes = self._workers.nodes()
            self._wanted = self._jobs or self._workers.room()
        while len(self._staff) < max(1, self._wanted):
            self._staff[self._workers.start()] = _Worker()

    def _resend(self, worker: int, state: _Worker) -> bool:
        """Send a worker what another has lost; whether there was anything."""
        if self._again:
            self._send(worker, state, self._again.popleft())
            return True
        if not self._alone or state.calls:
            return False
        elsewhere = {other.node for other in self._staff.values() if other.node is not None}
        for position, item in enumerate(self._alone):
            if item.node != state.node or elsewhere == {state.node}:
                del self._alone[position]
                self._send(worker, state, [item])
                return True
        return False

    def _send(self, worker: int, state: _Worker, items: list[_Item]) -> None:
        self._calls += 1
        if not state.calls:
            state.since = time.monotonic()
        state.calls.append((self._calls, items))
        self._workers.send(worker, self._calls, [item.document for item in items])

    def _patience(self) -> float:
        """Seconds to wait for news: until the next call is over its limit, at most half a second."""
        now = time.monotonic()
        ends = [state.since + limit - now for state in self._staff.values() if (limit := self._limit(state))]
        return max(0.0, min([0.5, *ends]))

    def _limit(self, state: _Worker) -> float | None:
        """Seconds that a worker's call may take: one design's, and for several what the others should take."""
        if self._design_timeout is None or not state.calls:
            return None
        others = len(state.calls[0][1]) - 1
        return self._design_timeout + 2 * others * (self._size.seconds_per_design or 0.0)

    def _hear(self, seconds: float) -> None:
        """Take in what has happened, and stop what takes too long."""
        for event in self._workers.events(seconds):
            state = self._staff.get(event.worker)
            if state is None:
                continue
            match event:
                case WorkerReady():
                    state.node, self._stillborn = event.node, 0
                case WorkerAnswer():
                    self._take(state, event)
                case WorkerGone():
                    self._lose(event.worker, event.reason, event.blameless)
                case WorkersUnfit():
                    raise WorkersError(event.reason)
        now = time.monotonic()
        for worker, state in list(self._staff.items()):
            limit = self._limit(state)
            if limit is not None and now - state.since > limit:
                self._workers.stop(worker)
                self._lose(worker, f"not done after {self._design_timeout:g} s, the limit per design", False)
        self._watch(now)

    def _watch(self, now: float) -> None:
        """Stop a study that has no worker for too long."""
        self.on_wait()
        if self._count_ready():
            self._idle_since = now
        elif now - self._idle_since > self._start_timeout:
            raise WorkersError(f"no worker after {self._start_timeout:g} s: {self._workers.shortage()}")

    def _take(self, state: _Worker, answer: WorkerAnswer) -> None:
        call, items = state.calls.popleft()
        assert call == answer.call
        state.since = time.monotonic()
        if state.warm:
            self._size.record_call(len(items), answer.seconds)
        state.warm = True
        for item, outcome in zip(items, answer.outcomes, strict=True):
            self._finish(item, outcome)

    def _finish(self, item: _Item, outcome: Outcome) -> None:
        self._failed += outcome.state == "failed"
        self._outcomes[item.index] = outcome

    def _lose(self, worker: int, reason: str, blameless: bool) -> None:
        """A worker is gone: its first call is suspect, what was queued behind is not."""
        state = self._staff.pop(worker)
        if state.node is None:
            self._stillborn += not blameless
            if self._stillborn >= MOST_STILLBORN:
                raise WorkersError(f"{self._stillborn} workers in a row died before they were ready: {reason}")
            return
        for position, (_, items) in enumerate(state.calls):
            if position or blameless:
                self._again.append(items)
            for item in items if position == 0 else ():
                item.node = state.node
                item.lost += blameless
                item.tries += not blameless
                if item.tries >= TRIES or item.lost >= MOST_LOST:
                    self._finish(item, self._evaluator.failure_outcome(item.document, _describe_loss(reason, item)))
                elif not blameless:
                    self._alone.append(item)
        if blameless:
            self._again = deque(kept for items in self._again if (kept := [i for i in items if i.lost < MOST_LOST]))

    def waiting_outcomes(self) -> list[Outcome]:
        """See `Executor.waiting_outcomes`."""
        return list(self._outcomes.values())

    def status(self) -> Status:
        """See `Executor.status`."""
        flying = sum(len(items) for state in self._staff.values() for _, items in state.calls)
        return Status(self._nodes, self._count_ready(), len(self._staff), flying, self._failed)

    def close(self) -> None:
        """See `Executor.close`."""
        self._workers.close()


def _describe_loss(reason: str, item: _Item) -> str:
    if item.lost >= MOST_LOST:
        return f"LostError: the machine it ran on was lost {item.lost} times ({reason})"
    return f"WorkerError: {reason}; tried {item.tries} times, in different processes"
