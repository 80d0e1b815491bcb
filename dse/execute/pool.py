"""A pool of workers that may die, hang, come and go: every design is evaluated once, and outcomes keep their order.

    documents ─▶ calls of about 100 ms ─▶ workers ─▶ outcomes, held back until those before them are there
                      ▲                      │
                      └── once more, alone ◀─┴─ died, or over its time limit

A worker that dies or overruns takes its designs to a second try, each alone, in another process, on another machine
where there is one; a design that fails there too is an outcome (`failed`, with the reason). A lost machine is nobody's
fault and is not counted, up to `MOST_LOST` times. What is in flight is bounded, however long one design takes. What a
design costs here does not grow with the number of workers: nobody goes through all of them for one.
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
"""Longest that workers go unheard while documents are taken or outcomes are written."""
AT_ONCE = 64
"""Documents taken between two looks at the clock."""
PATIENCE = 0.5


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
        self._ready = 0
        """Workers that are ready."""
        self._free: tuple[dict[int, _Worker], ...] = tuple({} for _ in range(QUEUED))
        """Workers with room for a call, by the number of calls that they have; the longest waiting first."""
        self._look = 0.0
        """When limits of time are looked at next."""
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

    def begin(self) -> bool:
        """Start the workers, without waiting for them; whether all that are wanted are ready.

        Raises `WorkersError` where none is to be had.
        """
        self._recruit()
        self._hear(0.0)
        return self._ready >= self._wanted

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
            self._dismiss(worker)

    def _dismiss(self, worker: int) -> _Worker:
        """Forget a worker that is gone."""
        state = self._staff.pop(worker)
        for free in self._free:
            free.pop(worker, None)
        self._ready -= state.node is not None
        return state

    def _offer(self, worker: int, state: _Worker) -> None:
        """Note how much room a ready worker has for calls; a cold one gets one call at a time."""
        for free in self._free:
            free.pop(worker, None)
        if len(state.calls) < (QUEUED if state.warm else 1):
            self._free[len(state.calls)][worker] = state

    def _fill(self, source: Iterator[Mapping[str, Any] | None]) -> None:
        """Have two calls' documents for each worker, where there are so many and it does not take long."""
        enough = 2 * max(1, self._ready) * self._size.next_size(None, 1)
        begun = time.monotonic()
        self._dry = self._exhausted
        taken = 0
        while len(self._buffer) <= enough and not self._dry:
            document = next(source, self)
            if document is self:
                self._exhausted = True
            elif document is not None:
                self._buffer.append(cast("Mapping[str, Any]", document))
            self._dry = document is None or self._exhausted
            taken += 1
            if taken % AT_ONCE == 0 and time.monotonic() - begun > POLL_SECONDS:
                return  # the workers must not run dry while the driver thinks

    def _feed(self, source: Iterator[Mapping[str, Any] | None]) -> bool:
        """Send calls to workers with room, the idle ones first; whether any was sent."""
        if self._taken - self._given < self._window():
            self._fill(source)
        sent = self._resend()
        while self._buffer and (found := self._next_free()) is not None:
            worker, state = found
            left = len(self._buffer) if self._dry else None
            count = min(len(self._buffer), self._size.next_size(left, self._ready) if state.warm else 1)
            items = [_Item(self._taken + i, self._buffer.popleft()) for i in range(count)]
            self._taken += count
            self._send(worker, state, items)
            sent = True
        return sent

    def _next_free(self) -> tuple[int, _Worker] | None:
        """The worker with room that has the fewest calls; an idle one while a suspect waits to have one of its own."""
        for free in self._free[:1] if self._alone else self._free:
            if free:
                return next(iter(free.items()))
        return None

    def _window(self) -> int:
        return max(1, self._ready) * WINDOW * self._size.next_size(None, 1)

    def _recruit(self) -> None:
        """Keep as many workers as are wanted, started or asked for."""
        now = time.monotonic()
        if now - self._counted >= RECOUNT_SECONDS:
            self._counted = now
            self._nodes = self._workers.nodes()
            self._wanted = self._jobs or self._workers.room()
        while len(self._staff) < max(1, self._wanted):
            self._staff[self._workers.start()] = _Worker()

    def _resend(self) -> bool:
        """Send workers what others have lost; whether there was anything."""
        sent = False
        while self._again and (found := self._next_free()) is not None:
            self._send(*found, self._again.popleft())
            sent = True
        for worker, state in list(self._free[0].items()) if self._alone else ():
            elsewhere = {other.node for other in self._staff.values() if other.node is not None}
            items = [item for item in self._alone if item.node != state.node or elsewhere == {state.node}]
            if items:
                self._alone.remove(items[0])
                self._send(worker, state, items[:1])
                sent = True
        return sent

    def _send(self, worker: int, state: _Worker, items: list[_Item]) -> None:
        self._calls += 1
        if not state.calls:
            state.since = time.monotonic()
        state.calls.append((self._calls, items))
        self._offer(worker, state)
        self._workers.send(worker, self._calls, [item.document for item in items])

    def _patience(self) -> float:
        """Seconds to wait for news: until a call may be over its limit, at most half a second."""
        return PATIENCE if self._design_timeout is None else max(0.0, min(PATIENCE, self._look - time.monotonic()))

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
                    self._ready += 1
                    self._offer(event.worker, state)
                case WorkerAnswer():
                    self._take(event.worker, state, event)
                case WorkerGone():
                    self._lose(event.worker, event.reason, event.blameless)
                case WorkersUnfit():
                    raise WorkersError(event.reason)
        now = time.monotonic()
        if self._design_timeout is not None and now >= self._look:
            self._stop_late(now, self._design_timeout)
        self._watch(now)

    def _stop_late(self, now: float, seconds: float) -> None:
        """Stop what takes too long, and note when the next call may: none that begins from now on is sooner."""
        self._look = now + min(PATIENCE, seconds)
        for worker, state in list(self._staff.items()):
            limit = self._limit(state)
            if limit is None:
                continue
            if now - state.since > limit:
                self._workers.stop(worker)
                self._lose(worker, f"not done after {seconds:g} s, the limit per design", False)
            else:
                self._look = min(self._look, state.since + limit)

    def _watch(self, now: float) -> None:
        """Stop a study that has no worker for too long."""
        self.on_wait()
        if self._ready:
            self._idle_since = now
        elif now - self._idle_since > self._start_timeout:
            raise WorkersError(f"no worker after {self._start_timeout:g} s: {self._workers.shortage()}")

    def _take(self, worker: int, state: _Worker, answer: WorkerAnswer) -> None:
        call, items = state.calls.popleft()
        assert call == answer.call
        state.since = time.monotonic()
        if state.warm:
            self._size.record_call(len(items), answer.seconds)
        state.warm = True
        self._offer(worker, state)
        for item, outcome in zip(items, answer.outcomes, strict=True):
            self._finish(item, outcome)

    def _finish(self, item: _Item, outcome: Outcome) -> None:
        self._failed += outcome.state == "failed"
        self._outcomes[item.index] = outcome

    def _lose(self, worker: int, reason: str, blameless: bool) -> None:
        """A worker is gone: its first call is suspect, what was queued behind is not."""
        state = self._dismiss(worker)
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
        return Status(self._nodes, self._ready, len(self._staff), flying, self._failed)

    def close(self) -> None:
        """See `Executor.close`."""
        self._workers.close()


def _describe_loss(reason: str, item: _Item) -> str:
    if item.lost >= MOST_LOST:
        return f"LostError: the machine it ran on was lost {item.lost} times ({reason})"
    return f"WorkerError: {reason}; tried {item.tries} times, in different processes"
