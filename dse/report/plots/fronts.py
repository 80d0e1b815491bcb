"""The fronts of several runs as a picture needs them."""

from __future__ import annotations

from dataclasses import dataclass

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.points import robust_of
from dse.report.summary import Summary
from dse.report.values import to_json


@dataclass(frozen=True)
class RunFront:
    """A run as the picture needs it."""

    name: str
    record: StudyRecord
    summary: Summary

    @property
    def robust(self) -> TrialRecord | None:
        """The robust pick, where it is known."""
        return robust_of(self.record, self.summary)


@dataclass(frozen=True)
class Fronts:
    """Runs with the same objectives, and what none of all their trials dominates."""

    runs: tuple[RunFront, ...]
    union: tuple[tuple[int, int], ...]
    """Index of a run and number of a trial, by the first objective."""

    @property
    def distinct(self) -> int:
        """Designs on the front of all; one that several runs found counts once."""
        numbers = [{trial.number: trial for trial in run.summary.front} for run in self.runs]
        return len({to_json(numbers[run][trial].decided_document) for run, trial in self.union})
