"""Workers as processes of this machine: each can be ended on its own.

Fresh processes (`spawn`), so that they share no threads or locks with this one, and tied to it (`dse.execute.leash`). A
few start at a time: only these can outlive this process for a moment, where it is killed before they are tied.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import time
from collections import deque
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from dse.evaluate.evaluate import Evaluate
from dse.execute.leash import hold_signals, pack_call, run_tied
from dse.execute.where import cores
from dse.execute.workers import Event, WorkerAnswer, WorkerGone, WorkerReady, Workers

HERE = "this machine"


def _work(connection: Connection, evaluator: Evaluate) -> None:
    """What a worker process does until its connection closes."""
    connection.send(None)
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            call, documents = connection.recv()
            begun = time.perf_counter()
            outcomes = [evaluator(document) for document in documents]
            connection.send((call, outcomes, time.perf_counter() - begun))


class LocalWorkers(Workers):
    """One process each."""

    def __init__(self, evaluator: Evaluate) -> None:
        self._work = pack_call(_work, evaluator)
        self._context = multiprocessing.get_context("spawn")
        self._processes: dict[int, tuple[Any, Connection]] = {}
        self._asked = 0
        self._waiting: deque[int] = deque()
        """Asked for and not started."""
        self._starting: set[int] = set()

    def start(self) -> int:
        """See `Workers.start`."""
        self._asked += 1
        self._waiting.append(self._asked)
        self._launch()
        return self._asked

    def _launch(self) -> None:
        """Start processes, as many at a time as there are cores to start them on."""
        while self._waiting and len(self._starting) < 2 * cores():
            worker = self._waiting.popleft()
            ours, theirs = self._context.Pipe()
            process = self._context.Process(target=run_tied, args=(theirs, self._work), daemon=True)
            with hold_signals():
                process.start()
            theirs.close()
            self._starting.add(worker)
            self._processes[worker] = process, ours

    def send(self, worker: int, call: int, documents: Sequence[Mapping[str, Any]]) -> None:
        """See `Workers.send`."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it died: `events` says so
            self._processes[worker][1].send((call, documents))

    def events(self, seconds: float) -> list[Event]:
        """See `Workers.events`."""
        owners = {connection: worker for worker, (_, connection) in self._processes.items()}
        found: list[Event] = []
        for connection in wait(list(owners), seconds):
            assert isinstance(connection, Connection)
            worker = owners[connection]
            try:
                value = connection.recv()
            except (EOFError, OSError):  # also one that dies while it sends
                process, _ = self._processes[worker]
                process.join(1.0)
                found.append(WorkerGone(worker, f"its worker process died ({_describe_exit(process.exitcode)})"))
                self.stop(worker)
                continue
            self._starting.discard(worker)
            found.append(WorkerReady(worker, HERE) if value is None else WorkerAnswer(worker, *value))
        self._launch()
        return found

    def stop(self, worker: int) -> None:
        """See `Workers.stop`."""
        if worker in self._waiting:
            self._waiting.remove(worker)
            return
        self._starting.discard(worker)
        process, connection = self._processes.pop(worker)
        process.kill()
        connection.close()
        process.join()

    def room(self) -> int:
        """See `Workers.room`."""
        return cores()

    def nodes(self) -> int:
        """See `Workers.nodes`."""
        return 1

    def shortage(self) -> str:
        """See `Workers.shortage`."""
        return "worker processes do not start; the machine may be out of memory: try fewer --jobs"

    def close(self) -> None:
        """See `Workers.close`."""
        self._waiting.clear()
        for process, _ in self._processes.values():
            process.kill()
        for worker in list(self._processes):
            self.stop(worker)


def _describe_exit(code: int | None) -> str:
    if code is None:
        return "killed"
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
