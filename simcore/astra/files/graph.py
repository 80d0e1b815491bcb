"""The workload layer of 2.x: one graph of operations per NPU.

An operation is ready when all it depends on is done. Whenever something completes on an NPU, its ready
operations are scanned in ascending node id and started if their resource is free: one CPU operation, one GPU
operation and one communication (collective, send, remote memory) at a time; receives need nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

from simcore.astra.engine.engine import Engine
from simcore.astra.engine.mailbox import COLLECTIVE_TAGS
from simcore.astra.files.errors import AstraInputError
from simcore.astra.files.remote_memory import MemoryPorts
from simcore.astra.files.trace import Action, Operation, OperationTrace, Resource


class NpuGraph:
    """The graph of one NPU while it runs."""

    def __init__(self, npu: int, trace: OperationTrace, engine: Engine, memory: MemoryPorts) -> None:
        self.npu = npu
        self.trace = trace
        self.finish_ns = -1  # -1 while it runs
        self.compute_ns = 0
        self.starts = [-1] * len(trace.operations)  # [ns]
        self.ends = [-1] * len(trace.operations)
        self._engine = engine
        self._memory = memory
        self._missing = list(trace.parents)
        self._left = len(trace.operations)
        self._fresh = [place for place, count in enumerate(self._missing) if count == 0]
        self._ready: tuple[list[int], ...] = ([], [], [], [])
        self._busy = [False] * len(Resource)

    def scan(self) -> None:
        """Start what is ready and has its resource free, lowest node id first."""
        for place in self._fresh:
            heapq.heappush(self._ready[self.trace.operations[place].resource], place)
        self._fresh = []
        while True:
            found = -1
            for queue, busy in zip(self._ready, self._busy, strict=True):
                if queue and not busy and (found < 0 or queue[0] < found):
                    found = queue[0]
            if found < 0:
                break
            operation = self.trace.operations[found]
            heapq.heappop(self._ready[operation.resource])
            self._issue(found, operation)
        if self._left == 0 and self.finish_ns < 0:
            self.finish_ns = self._engine.now

    def describe_unfinished(self) -> str:
        """Return what the NPU is still at, for messages."""
        operations = self.trace.operations
        running = [place for place, start in enumerate(self.starts) if start >= 0 > self.ends[place]]
        if running:
            return f"NPU {self.npu} waits in {operations[running[0]].label}"
        idle = [place for place, start in enumerate(self.starts) if start < 0]
        return (
            f"NPU {self.npu} never starts {operations[idle[0]].label}: an operation that takes no time freed it, "
            "and ASTRA-sim looks for ready operations only when an event comes"
        )

    def _issue(self, place: int, operation: Operation) -> None:
        engine, npu = self._engine, self.npu
        self.starts[place] = engine.now
        if operation.resource is not Resource.NONE:
            self._busy[operation.resource] = True

        def done() -> None:
            self._complete(place, operation)
            self.scan()

        if operation.action is Action.INSTANT:
            self._complete(place, operation)
        elif operation.action is Action.DELAY:
            if operation.delay == 0 and engine.now == 0:
                raise AstraInputError(f"NPU {npu}, {operation.label}: takes 0 ns at time 0; ASTRA-sim aborts")
            self.compute_ns += operation.compute_ns
            engine.wait(npu, operation.delay, done)
        elif operation.action is Action.MEMORY:
            self._memory.issue(npu, operation.size, done)
        elif operation.request is not None:
            label = f"rank {npu}, {operation.label}"
            if operation.request.group is not None and npu not in operation.request.group.members:
                raise AstraInputError(f"{label}: is not in group {operation.request.group.id}; check pg_name")
            engine.collective(npu, operation.request, label, done)
        else:
            self._communicate(operation, done)

    def _communicate(self, operation: Operation, done: Callable[[], None]) -> None:
        mine = operation.source if operation.action is Action.SEND else operation.destination
        if mine not in (-1, self.npu):
            raise AstraInputError(f"NPU {self.npu}, {operation.label}: expected its own number, got {mine}")
        tag = operation.tag % COLLECTIVE_TAGS
        if operation.action is Action.SEND:
            self._engine.mail.send(self.npu, operation.destination, operation.size, tag, done)
        else:
            self._engine.mail.receive(operation.source, self.npu, operation.size, tag, done)

    def _complete(self, place: int, operation: Operation) -> None:
        self.ends[place] = self._engine.now
        self._busy[operation.resource] = False
        self._left -= 1
        for child in self.trace.children[place]:
            self._missing[child] -= 1
            if self._missing[child] == 0:
                self._fresh.append(child)


def run_graphs(graphs: Sequence[NpuGraph], engine: Engine) -> None:
    """Run the graphs of all NPUs to their end.

    Raises
    ------
    AstraInputError
        If an NPU never finishes: ASTRA-sim then exits normally without reporting it.
    """
    for graph in graphs:
        graph.scan()
    engine.run()
    stuck = [graph for graph in graphs if graph.finish_ns < 0]
    if stuck:
        reasons = engine.waiting() or [graph.describe_unfinished() for graph in stuck]
        raise AstraInputError(f"deadlock: {len(stuck)} of {len(graphs)} NPUs never finish: {'; '.join(reasons[:4])}")
