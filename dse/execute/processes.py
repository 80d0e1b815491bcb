"""In processes of this machine.

Workers are started fresh (`spawn`), so that they share no threads or locks with this process; a worker that dies
takes its designs to a second try on a new pool, and then the study stops with what it has.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from dse.evaluate import Evaluate, Outcome
from dse.execute.base import Documents, Executor

_evaluator: Evaluate | None = None

CHUNK = 4
"""Designs per call: enough to hide the call, few enough to lose little."""


def _prepare(evaluator: Evaluate) -> None:
    global _evaluator
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    _evaluator = evaluator


def _evaluate(documents: list[Mapping[str, Any]]) -> list[Outcome]:
    assert _evaluator is not None
    return [_evaluator(document) for document in documents]


class WorkerDiedError(RuntimeError):
    """A worker process died twice on the same designs."""


class Processes(Executor):
    """A pool of worker processes."""

    def __init__(self, evaluator: Evaluate, jobs: int) -> None:
        self._evaluator, self._jobs = evaluator, jobs
        self._pool = self._start()

    def _start(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self._jobs, context, initializer=_prepare, initargs=(self._evaluator,))

    def map(self, documents: Documents) -> Iterator[Outcome]:
        """See `Executor.map`."""
        batch = list(documents)
        chunks = [batch[i : i + CHUNK] for i in range(0, len(batch), CHUNK)]
        futures: list[Future[list[Outcome]]] = [self._pool.submit(_evaluate, chunk) for chunk in chunks]
        for i, chunk in enumerate(chunks):
            try:
                yield from futures[i].result()
            except BrokenProcessPool:
                self._pool.shutdown(wait=False, cancel_futures=True)
                self._pool = self._start()
                futures[i:] = [self._pool.submit(_evaluate, rest) for rest in chunks[i:]]
                try:
                    yield from futures[i].result()
                except BrokenProcessPool:
                    raise WorkerDiedError(
                        f"a worker process died twice on the same {len(chunk)} designs; "
                        "the machine may be out of memory: try fewer --jobs"
                    ) from None

    def close(self) -> None:
        """See `Executor.close`."""
        self._pool.shutdown(wait=False, cancel_futures=True)
