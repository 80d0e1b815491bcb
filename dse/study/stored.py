"""A trial as a journal has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dse.evaluate.evaluate import Outcome
from dse.evaluate.trial import TrialRecord


@dataclass(frozen=True, slots=True)
class StoredTrial:
    """A trial of the journal."""

    number: int
    params: dict[str, Any]
    outcome: Outcome
    draws: dict[str, Any] | None = None
    """The sampler's own numbers, where a study cannot be replayed from its seed."""

    def record(self, sections: tuple[str, ...] = ()) -> TrialRecord:
        """The trial as reports see it; `sections` are those that its workloads share."""
        outcome = self.outcome
        return TrialRecord(
            number=self.number,
            state=outcome.state,
            values=outcome.values,
            params=self.params,
            violations=outcome.violations,
            design=outcome.design,
            metrics=outcome.metrics,
            cut_by=outcome.cut_by,
            error=outcome.error,
            workloads=outcome.workloads,
            sections=sections,
        )
