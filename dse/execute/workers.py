"""The seam between the pool and where its workers run: start one, send it designs, hear of it, stop it.

    start ──▶ Ready ──▶ send ──▶ Answer      one worker answers its calls in the order in which they were sent
      │         └────────┴─────▶ Gone        it died; `blameless` where its machine went, not its work
      └──▶ Unfit                             no worker here can be one: the study cannot go on

Small on purpose, so that the pool can be tested against a mock and a new kind of cluster is one file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dse.evaluate.evaluate import Outcome


@dataclass(frozen=True, slots=True)
class WorkerReady:
    """A worker has started and waits for designs; `node` names the machine it is on."""

    worker: int
    node: str


@dataclass(frozen=True, slots=True)
class WorkerAnswer:
    """The outcomes of a call, in order, and the seconds they took in the worker."""

    worker: int
    call: int
    outcomes: list[Outcome]
    seconds: float


@dataclass(frozen=True, slots=True)
class WorkerGone:
    """A worker died, and what it was sent with it."""

    worker: int
    reason: str
    blameless: bool = False


@dataclass(frozen=True, slots=True)
class WorkersUnfit:
    """A worker could not be set up, and no other could."""

    worker: int
    reason: str


Event = WorkerReady | WorkerAnswer | WorkerGone | WorkersUnfit


class Workers(ABC):
    """Where workers run."""

    @abstractmethod
    def start(self) -> int:
        """Ask for one more worker; `WorkerReady` follows, whenever there is room for it."""

    @abstractmethod
    def send(self, worker: int, call: int, documents: Sequence[Mapping[str, Any]]) -> None:
        """Give a ready worker designs to evaluate; `WorkerAnswer` or `WorkerGone` follows."""

    @abstractmethod
    def events(self, seconds: float) -> list[Event]:
        """What has happened; waits up to `seconds` for something to happen."""

    @abstractmethod
    def stop(self, worker: int) -> None:
        """End a worker at once, whatever it does; no event of it follows."""

    @abstractmethod
    def room(self) -> int:
        """Workers that the machines there are now have room for."""

    @abstractmethod
    def nodes(self) -> int:
        """Machines there are now."""

    @abstractmethod
    def shortage(self) -> str:
        """A likely reason why no worker has started, for an error message."""

    @abstractmethod
    def close(self) -> None:
        """End all workers, and what was started for them."""


class WorkersError(RuntimeError):
    """The study cannot go on: no worker is to be had. What was evaluated is saved."""
