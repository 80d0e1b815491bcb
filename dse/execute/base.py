"""Where designs are evaluated. An executor keeps the order: outcomes come back as the documents went in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dse.evaluate import Outcome

Documents = Sequence[Mapping[str, Any]]


class Executor(ABC):
    """Evaluates batches of design documents."""

    @abstractmethod
    def map(self, documents: Documents) -> Iterator[Outcome]:
        """The outcome of each document, in order, each as soon as it and those before it are there."""

    @abstractmethod
    def close(self) -> None:
        """Let go of workers."""
