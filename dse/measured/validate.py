"""Prediction against measurement: errors, the order of designs of one job, what choosing by prediction costs, coverage.

Pairwise order and regret ask what a search needs: of two ways to run the same job, is the faster one predicted to be
faster; and how much slower than the best one measured is the one that is predicted best. A design that was measured
several times (in several releases of one program) counts once there, with the median of its times. Coverage is the
share of measured times that lie in the interval of their prediction, which is meant to hold nine of ten.
"""

from __future__ import annotations

import statistics
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from dse.measured.measured import MeasuredIteration
from simcore.simulate import Engine, simulate

TIE = 0.05
"""Measured times that differ by no more than this share are equal, as far as order is concerned."""
GROUP_BY = ("device", "software", "kind", "precision")
"""What rows of a group share."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A measured iteration and its prediction: times [s], peak memory [B] (None where it was not measured)."""

    case: str
    job: tuple[Any, ...]
    measured: float
    predicted: float
    measured_memory: float | None = None
    predicted_memory: float | None = None
    interval: tuple[float, float] | None = None
    """Where the measured time lies in nine of ten cases [s]."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the row is of: `GROUP_BY`, and what else tells errors apart."""
    design: Hashable = None
    """Equal for rows of one design; None for one of its own."""

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

    @property
    def covered(self) -> bool | None:
        """Whether the measured time lies in the interval; None where there is none."""
        return None if self.interval is None else self.interval[0] <= self.measured <= self.interval[1]

    @property
    def width(self) -> float | None:
        """Width of the interval, as a share of the prediction."""
        return None if self.interval is None else (self.interval[1] - self.interval[0]) / self.predicted


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
    bias: float = 0.0
    """Mean error with its sign: below 0 where predictions are too fast."""
    coverage: float | None = None
    width: float | None = None
    """Median width of the intervals, as a share of the prediction."""


def predict(rows: Iterable[MeasuredIteration], engine: str | Engine = "auto") -> Iterator[Prediction]:
    """Simulate each row."""
    for row in rows:
        result = simulate(row.design, engine)
        base = 1.0 if row.relative_to is None else simulate(row.relative_to, engine).iteration_time_s
        memory = result.memory_bytes
        peak = None if memory is None else memory.reserved if row.reserved else memory.peak
        interval = result.iteration_time_interval_s
        yield Prediction(
            row.case,
            row.job,
            row.seconds,
            result.iteration_time_s / base,
            row.memory,
            peak,
            None if interval is None else (interval[0] / base, interval[1] / base),
            describe_row(row),
            row.design.model_dump_json(),
        )


def describe_row(row: MeasuredIteration) -> dict[str, Any]:
    """What a row is of; `relative` where its times are multiples of another job's."""
    workload, p = row.workload, row.design.parallelism
    degrees = {name: getattr(p, name) for name in ("tensor", "pipeline", "context", "expert", "zero", "microbatch")}
    return {
        "device": row.design.cluster.npu.name,
        "software": row.software,
        "kind": row.kind,
        "precision": workload.precision,
        "model": workload.model.name,
        "layers": workload.model.layers,
        "sequence": workload.sequence,
        "npus": row.design.cluster.npus,
        "global_batch": workload.global_batch,
        **degrees,
        **({"schedule": p.schedule, "relative": True} if row.relative_to is not None else {}),
    }


def accuracy(predictions: Sequence[Prediction]) -> Accuracy:
    """The figures of at least one prediction."""
    errors = [abs(p.error) for p in predictions]
    memory = [abs(p.memory_error) for p in predictions if p.memory_error is not None]
    covered = [p.covered for p in predictions if p.covered is not None]
    widths = [p.width for p in predictions if p.width is not None]
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
        bias=statistics.fmean(p.error for p in predictions),
        coverage=statistics.fmean(covered) if covered else None,
        width=statistics.median(widths) if widths else None,
    )


def group_by_kind(predictions: Iterable[Prediction]) -> list[tuple[dict[str, Any], list[Prediction]]]:
    """Predictions of the same device, software stack and kind of model together, with these; in alphabetical order."""
    groups: dict[tuple[Any, ...], list[Prediction]] = {}
    for prediction in predictions:
        groups.setdefault(tuple(prediction.facts.get(name, "") for name in GROUP_BY), []).append(prediction)
    return [(dict(zip(GROUP_BY, key, strict=True)), group) for key, group in sorted(groups.items())]


def group_by_job(predictions: Iterable[Prediction]) -> list[list[Prediction]]:
    """Predictions of the same job together."""
    jobs: dict[tuple[Any, ...], list[Prediction]] = {}
    for prediction in predictions:
        jobs.setdefault(prediction.job, []).append(prediction)
    return list(jobs.values())


def merge_repeats(job: Iterable[Prediction]) -> list[Prediction]:
    """One prediction for each design of a job, with the median of its measured times."""
    designs: dict[Hashable, list[Prediction]] = {}
    for place, prediction in enumerate(job):
        key = place if prediction.design is None else prediction.design
        designs.setdefault(key, []).append(prediction)
    return [replace(same[0], measured=statistics.median(p.measured for p in same)) for same in designs.values()]


def pairwise_order(jobs: Iterable[Sequence[Prediction]]) -> float | None:
    """Share of the pairs within a job, apart by more than `TIE` of the faster one, whose order is predicted."""
    pairs = right = 0
    for job in jobs:
        for a, b in combinations(merge_repeats(job), 2):
            if abs(a.measured - b.measured) > TIE * min(a.measured, b.measured):
                pairs += 1
                right += (a.measured < b.measured) == (a.predicted < b.predicted) and a.predicted != b.predicted
    return right / pairs if pairs else None


def regret(job: Sequence[Prediction]) -> float:
    """How much longer than the fastest design of a job the one takes that is predicted to be fastest."""
    designs = merge_repeats(job)
    chosen = min(designs, key=lambda p: p.predicted)
    return chosen.measured / min(p.measured for p in designs) - 1.0
