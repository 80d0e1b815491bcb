"""Workers as processes of this machine, for studies with a time limit per design: each can be ended on its own.

Fresh processes (`spawn`), so that they share no threads or locks with this one.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from dse.evaluate import Evaluate
from dse.execute.workers import Answer, Event, Gone, Ready, Workers

HERE = "this machine"


def _work(connection: Connection, evaluator: Evaluate) -> None:
    """What a worker process does until its connection closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
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
        self._evaluator = evaluator
        self._context = multiprocessing.get_context("spawn")
        self._processes: dict[int, tuple[Any, Connection]] = {}
        self._started = 0

    def start(self) -> int:
        """See `Workers.start`."""
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_work, args=(theirs, self._evaluator), daemon=True)
        process.start()
        theirs.close()
        self._started += 1
        self._processes[self._started] = process, ours
        return self._started

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
            except (EOFError, ConnectionResetError):
                process, _ = self._processes[worker]
                process.join(1.0)
                found.append(Gone(worker, f"its worker process died ({_ended(process.exitcode)})"))
                self.stop(worker)
                continue
            found.append(Ready(worker, HERE) if value is None else Answer(worker, *value))
        return found

    def stop(self, worker: int) -> None:
        """See `Workers.stop`."""
        process, connection = self._processes.pop(worker)
        connection.close()
        process.kill()
        process.join()

    def room(self) -> int:
        """See `Workers.room`."""
        return os.cpu_count() or 1

    def nodes(self) -> int:
        """See `Workers.nodes`."""
        return 1

    def shortage(self) -> str:
        """See `Workers.shortage`."""
        return "worker processes do not start; the machine may be out of memory: try fewer --jobs"

    def close(self) -> None:
        """See `Workers.close`."""
        for worker in list(self._processes):
            self.stop(worker)


def _ended(code: int | None) -> str:
    if code is None:
        return "killed"
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
