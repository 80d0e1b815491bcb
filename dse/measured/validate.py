"""Prediction against measurement: errors, the order of designs of one job, and what choosing by prediction costs.

Pairwise order and regret ask what a search needs: of two ways to run the same job, is the faster one predicted to be
faster; and how much slower than the best one measured is the one that is predicted best.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from dse.measured.measured import MeasuredIteration
from simcore.simulate import Engine, simulate

TIE = 0.05
"""Measured times that differ by no more than this share are equal, as far as order is concerned."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A measured iteration and its prediction: times [s], peak memory [B] (None where it was not measured)."""

    case: str
    job: tuple[Any, ...]
    measured: float
    predicted: float
    measured_memory: float | None = None
    predicted_memory: float | None = None

    @property
    def error(self) -> float:
        """Predicted over measured time, minus 1."""
        return self.predicted / self.measured - 1.0

    @property
    def memory_error(self) -> float | None:
        """The same of peak memory."""
        if self.measured_memory is None or self.predicted_memory is None:
            return None
        return self.predicted_memory / self.measured_memory - 1.0


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How good predictions are; errors and regrets are shares, not percent. None where nothing can be compared."""

    mape: float
    median: float
    worst: float
    pairwise_order: float | None
    regret_mean: float
    regret_worst: float
    memory_mape: float | None


def predict(rows: Iterable[MeasuredIteration], engine: str | Engine = "fast") -> Iterator[Prediction]:
    """Simulate each row."""
    for row in rows:
        result = simulate(row.design, engine)
        peak = None if result.memory_bytes is None else result.memory_bytes.peak
        yield Prediction(row.case, row.job, row.seconds, result.iteration_time_s, row.memory, peak)


def accuracy(predictions: Sequence[Prediction]) -> Accuracy:
    """The figures of at least one prediction."""
    errors = [abs(p.error) for p in predictions]
    memory = [abs(p.memory_error) for p in predictions if p.memory_error is not None]
    jobs = group_by_job(predictions)
    regrets = [regret(job) for job in jobs]
    return Accuracy(
        mape=statistics.fmean(errors),
        median=statistics.median(errors),
        worst=max(errors),
        pairwise_order=pairwise_order(jobs),
        regret_mean=statistics.fmean(regrets),
        regret_worst=max(regrets),
        memory_mape=statistics.fmean(memory) if memory else None,
    )


def group_by_job(predictions: Iterable[Prediction]) -> list[list[Prediction]]:
    """Predictions of the same job together."""
    jobs: dict[tuple[Any, ...], list[Prediction]] = {}
    for prediction in predictions:
        jobs.setdefault(prediction.job, []).append(prediction)
    return list(jobs.values())


def pairwise_order(jobs: Iterable[Sequence[Prediction]]) -> float | None:
    """Share of the pairs within a job, apart by more than `TIE` of the faster one, whose order is predicted."""
    pairs = right = 0
    for job in jobs:
        for a, b in combinations(job, 2):
            if abs(a.measured - b.measured) > TIE * min(a.measured, b.measured):
                pairs += 1
                right += (a.measured < b.measured) == (a.predicted < b.predicted) and a.predicted != b.predicted
    return right / pairs if pairs else None


def regret(job: Sequence[Prediction]) -> float:
    """How much longer than the fastest design of a job the one takes that is predicted to be fastest."""
    chosen = min(job, key=lambda p: p.predicted)
    return chosen.measured / min(p.measured for p in job) - 1.0
