"""The trials of a study that is written nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dse.evaluate.evaluate import Outcome
from dse.study.journal import StoredTrial


@dataclass
class Memory:
    """A `dse.study.ledger.TrialLog` that keeps trials as values, as they were appended."""

    trials: list[StoredTrial] = field(default_factory=list)

    def append(
        self, number: int, params: Mapping[str, Any], outcome: Outcome, draws: Mapping[str, Any] | None = None
    ) -> None:
        """See `TrialLog.append`."""
        self.trials.append(StoredTrial(number, dict(params), outcome, None if draws is None else dict(draws)))

    def remember(self, trials: int, state: Mapping[str, Any]) -> None:
        """See `TrialLog.remember`: nothing goes on from memory."""

    def synchronise(self) -> None:
        """Memory has nothing behind it."""

    def close(self) -> None:
        """Memory stays as it is."""
