"""A caller's function that looks on, and may end the search."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluate import Outcome
from dse.evaluate.record import TrialRecord
from dse.execute import Executor
from dse.study.journal import StoredTrial
from dse.study.watch import Watcher


class Caller(Watcher):
    """Tells `callback` of each trial, after `shown`, which is told of everything."""

    def __init__(self, shown: Watcher, callback: Callable[[TrialRecord], object] | None) -> None:
        self._shown, self._callback = shown, callback
        self.stopped = False
        """Whether the callback has ended the search."""

    def start(self, sampler: str, known: int) -> None:
        """See `Watcher.start`."""
        self._shown.start(sampler, known)

    @property
    def wants_all(self) -> bool:
        """See `Watcher.wants_all`: a callback is told of each trial."""
        return self._callback is not None

    def skip(self, done: int, front: NDArray[np.float64]) -> None:
        """See `Watcher.skip`."""
        self._shown.skip(done, front)

    def watch(self, executor: Executor) -> None:
        """See `Watcher.watch`."""
        self._shown.watch(executor)

    def phase(self, name: str) -> None:
        """See `Watcher.phase`."""
        self._shown.phase(name)

    def note(self, text: str, done: float | None = None) -> None:
        """See `Watcher.note`."""
        self._shown.note(text, done)

    def certified(self, corners: Sequence[Sequence[float]] | None) -> None:
        """See `Watcher.certified`."""
        self._shown.certified(corners)

    def trial(self, number: int, params: Mapping[str, Any], outcome: Outcome) -> None:
        """See `Watcher.trial`; a search that is to stop ends as an interrupted one does: at once, with all it has."""
        self._shown.trial(number, params, outcome)
        if self._callback is None:
            return
        try:
            self._callback(StoredTrial(number, dict(params), outcome).record())
        except StopIteration:
            self.stopped = True
            raise KeyboardInterrupt from None
