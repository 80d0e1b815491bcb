"""The seam between the loop of a study and where its trials live: what is free, what is known, what is kept.

    propose ──▶ is_free ──▶ claim ──▶ (evaluate) ──▶ keep
                              └──▶ lost: another driver was first           others ──▶ what other drivers have kept

One file per way: `dse.study.one_driver` (a study that one driver has to itself), `dse.study.unordered` (Ray Tune's
driver, whose trials end in any order), `dse.study.shared` (a storage that several drivers share). All of them write
finished trials to a `TrialLog`: the journal of a run folder (`dse.study.journal`), or memory (`dse.study.memory`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dse.evaluate.evaluate import Outcome
from dse.search import Proposal
from dse.search.base import DrawnValues


class TrialLog(Protocol):
    """Where finished trials are written."""

    def append(
        self, number: int, params: Mapping[str, Any], outcome: Outcome, draws: Mapping[str, Any] | None = None
    ) -> None:
        """Append a trial; `draws` are the sampler's own numbers, where a study cannot be replayed from its seed."""

    def remember(self, trials: int, state: Mapping[str, Any]) -> None:
        """The sampler was in this state (`Sampler.state`) before it proposed trial `trials`."""

    def synchronise(self) -> None:
        """Make sure that what was appended is kept."""

    def close(self) -> None:
        """Nothing more is appended."""


@dataclass(eq=False, slots=True)
class Trial:
    """A design that this driver evaluates, and what became of it."""

    key: str
    proposal: Proposal
    number: int = -1
    drawn: DrawnValues | None = None
    """What the sampler drew, where the ledger keeps it."""
    outcome: Outcome | None = None
    kept: bool = True
    """Whether the outcome is the study's; false where another driver has taken the design over."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A trial that this driver has not evaluated: another driver's, or one of an earlier session."""

    params: Mapping[str, Any]
    outcome: Outcome
    drawn: DrawnValues | None


class Ledger(ABC):
    """The trials of one study, as one of its drivers sees them."""

    shared = False
    """Whether other drivers may work on the study at the same time."""
    claimed = 0
    """Designs that somebody evaluates or has evaluated."""
    waits = False
    """Whether what other drivers are evaluating is still to come."""

    def is_free(self, key: str, proposed: bool) -> bool:
        """Whether a design may be claimed; `proposed`: this driver has proposed it before, and so has claimed it."""
        return not proposed

    @abstractmethod
    def claim(self, trials: Sequence[Trial], drawn: Callable[[Proposal], DrawnValues | None]) -> list[Trial]:
        """Claims designs, and gives them numbers; those that are this driver's to evaluate.

        A trial whose outcome is known already comes with it. `drawn` says what the sampler drew for a proposal.
        """

    @abstractmethod
    def keep(self, trial: Trial) -> bool:
        """Writes the outcome of a trial; false where the study has it from another driver."""

    def remember(self, state: Mapping[str, Any]) -> None:  # noqa: B027  # others cannot go on from it
        """Takes the state in which the sampler proposes the next design, where the study may go on from there."""

    def others(self) -> Iterable[Finished]:
        """What this driver has not evaluated and not been told before."""
        return ()

    @abstractmethod
    def synchronise(self) -> None:
        """Makes sure that what was kept outlives a power failure."""
