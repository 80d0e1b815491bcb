"""A study that one driver has to itself: whatever it has proposed is its own, numbered in the order of proposals.

Replayed from its seed, a study asks for the same designs again; those that are known are not evaluated once more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from dse.evaluate.evaluate import Outcome
from dse.search import Proposal
from dse.search.base import DrawnValues
from dse.study.ledger import Ledger, Trial, TrialLog


class Known(Protocol):
    """Outcomes that are known."""

    def get(self, key: str, /) -> Outcome | None:
        """The outcome stored under a design's key."""


class OneDriver(Ledger):
    """Writes to `log`; `known` are the outcomes of the run that is resumed, by key."""

    def __init__(self, log: TrialLog, known: Known | None = None) -> None:
        self._log, self._known = log, {} if known is None else known

    def claim(self, trials: Sequence[Trial], drawn: Callable[[Proposal], DrawnValues | None]) -> list[Trial]:
        """See `Ledger.claim`."""
        for number, trial in enumerate(trials, self.claimed):
            trial.number, trial.outcome = number, self._known.get(trial.key)
        self.claimed += len(trials)
        return list(trials)

    def keep(self, trial: Trial) -> bool:
        """See `Ledger.keep`."""
        assert trial.outcome is not None
        self._log.append(trial.number, trial.proposal.filled.params, trial.outcome)
        return True

    def remember(self, state: Mapping[str, Any]) -> None:
        """See `Ledger.remember`."""
        self._log.remember(self.claimed, state)

    def synchronise(self) -> None:
        """See `Ledger.synchronise`."""
        self._log.synchronise()
