"""In this process as long as that is quick, then on the cores of this machine.

A worker takes seconds to start and has the whole program in memory, so a search of a few hundred quick designs is over
before it would pay. Where designs have taken `PATIENCE` seconds, workers are started, designs go on being evaluated
here until all of them are ready, and from then on they are evaluated there. Outcomes are the same, in the same order.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dse.evaluate.evaluate import Evaluate, Outcome
from dse.execute.base import Documents, Executor, Status
from dse.execute.pool import Pool
from dse.execute.where import cores
from dse.execute.workers import WorkersError
from simcore.document.problem import InputWarning

PATIENCE = 10.0
"""Seconds that designs may take in this process before workers are started."""
MOST_WORKERS = 8
"""More are started only where they are asked for: each takes a third of a gigabyte."""


def workers_here() -> int:
    """Workers that pay on this machine: one a core."""
    return min(cores(), MOST_WORKERS)


class Growing(Executor):
    """Evaluates here, and on a pool of workers where it takes long."""

    def __init__(self, evaluator: Evaluate, make_pool: Callable[[], Pool], patience: float = PATIENCE) -> None:
        self._evaluator, self._make_pool, self._left = evaluator, make_pool, patience
        self._pool: Pool | None = None
        self._grown = False
        """Whether the workers evaluate."""

    def map(self, documents: Documents) -> Iterator[Outcome]:
        """See `Executor.map`."""
        source = iter(documents)
        if not self._grown:
            for document in source:
                if document is not None:
                    yield self._evaluate_here(document)
                if self._left <= 0 and self._is_ready():
                    self._grown = True
                    break
            else:
                return
        assert self._pool is not None
        yield from self._pool.map(source)

    def _evaluate_here(self, document: Mapping[str, Any]) -> Outcome:
        begun = time.monotonic()
        outcome = self._evaluator(document)
        self._left -= time.monotonic() - begun
        return outcome

    def _is_ready(self) -> bool:
        """Have workers started; whether all of them are ready."""
        try:
            if self._pool is None:
                self._pool = self._make_pool()
                self._pool.on_wait = self.on_wait
            return self._pool.begin()
        except (WorkersError, OSError) as error:
            self.close()
            self._left = float("inf")
            told = f"no workers start here ({error}); the search goes on with one process"
            warnings.warn(told, InputWarning, stacklevel=2)
            return False

    def waiting_outcomes(self) -> list[Outcome]:
        """See `Executor.waiting_outcomes`."""
        return [] if self._pool is None else self._pool.waiting_outcomes()

    def status(self) -> Status | None:
        """See `Executor.status`."""
        return self._pool.status() if self._pool is not None and self._grown else None

    def close(self) -> None:
        """See `Executor.close`."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None
