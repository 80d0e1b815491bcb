"""Where designs are evaluated. An executor keeps the order: outcomes come back as the documents went in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dse.evaluate.evaluate import Outcome

Documents = Iterable[Mapping[str, Any] | None]
"""Documents to evaluate, taken as there is room; None where the next one must wait for what became of those before."""


@dataclass(frozen=True, slots=True)
class Status:
    """How an executor of many workers is doing."""

    nodes: int
    workers: int
    """Ready ones."""
    wanted: int
    flying: int
    """Designs on their way."""
    failed: int


class Executor(ABC):
    """Evaluates design documents."""

    on_wait: Callable[[], None] = staticmethod(lambda: None)
    """Called now and then while there is nothing but to wait."""

    @abstractmethod
    def map(self, documents: Documents) -> Iterator[Outcome]:
        """Yields the outcome of each document in order, as soon as it and all earlier ones are finished."""

    def waiting_outcomes(self) -> list[Outcome]:
        """Finished outcomes that are held back until the outcomes before them are finished."""
        return []

    def status(self) -> Status | None:
        """The state of the workers; None for an executor without workers."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Let go of workers."""
