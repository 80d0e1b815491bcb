"""Workers without processes, for `bench_ray.py`: each design takes its time, and costs the driver only its feeding.

So what a driver costs by itself can be measured with hundreds of workers on a machine of two cores.
"""

from __future__ import annotations

import heapq
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from dse.evaluate.evaluate import Outcome
from dse.execute.workers import Event, WorkerAnswer, WorkerReady, Workers


class PaperWorkers(Workers):
    """Each worker takes `seconds` for a design, one call after the other, and answers every design with `outcome`."""

    def __init__(self, outcome: Outcome, seconds: float) -> None:
        self._outcome, self._seconds = outcome, seconds
        self._free: list[float] = []
        """When each worker has done what it has."""
        self._due: list[tuple[float, int, int, int]] = []
        """When, call, worker, designs."""
        self._ready: deque[int] = deque()

    def start(self) -> int:
        """See `Workers.start`."""
        self._free.append(0.0)
        self._ready.append(len(self._free))
        return len(self._free)

    def send(self, worker: int, call: int, documents: Sequence[Mapping[str, Any]]) -> None:
        """See `Workers.send`."""
        end = max(self._free[worker - 1], time.monotonic()) + self._seconds * len(documents)
        self._free[worker - 1] = end
        heapq.heappush(self._due, (end, call, worker, len(documents)))

    def events(self, seconds: float) -> list[Event]:
        """See `Workers.events`."""
        found: list[Event] = [WorkerReady(worker, "here") for worker in self._ready]
        self._ready.clear()
        if not found and self._due:
            time.sleep(max(0.0, min(seconds, self._due[0][0] - time.monotonic())))
        now = time.monotonic()
        while self._due and self._due[0][0] <= now:
            _, call, worker, count = heapq.heappop(self._due)
            found.append(WorkerAnswer(worker, call, [self._outcome] * count, self._seconds * count))
        return found

    def stop(self, worker: int) -> None:
        """See `Workers.stop`."""
        self._due = [entry for entry in self._due if entry[2] != worker]
        heapq.heapify(self._due)

    def room(self) -> int:
        """See `Workers.room`."""
        return len(self._free)

    def nodes(self) -> int:
        """See `Workers.nodes`."""
        return 1

    def shortage(self) -> str:
        """See `Workers.shortage`."""
        return "none"

    def close(self) -> None:
        """See `Workers.close`."""
