"""In this process, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from dse.evaluate.evaluate import Evaluate, Outcome
from dse.execute.base import Documents, Executor


class Serial(Executor):
    """No workers, no start-up time."""

    def __init__(self, evaluator: Evaluate) -> None:
        self._evaluator = evaluator

    def map(self, documents: Documents) -> Iterator[Outcome]:
        """See `Executor.map`."""
        return (self._evaluator(document) for document in documents if document is not None)

    def close(self) -> None:
        """Nothing to let go of."""
