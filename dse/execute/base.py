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
        """The outcome of each document, in order, each as soon as it and those before it are there."""

    def waiting_outcomes(self) -> list[Outcome]:
        """Outcomes that are there and wait for those before them."""
        return []

    def status(self) -> Status | None:
        """How its workers are doing; None where there is nothing to say."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Let go of workers."""
