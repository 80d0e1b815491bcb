"""What a study's throughput counts: tokens, or samples where its models have none (images, clicks)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.evaluate.trials import Trials
from dse.space.objective import Objective


def counts_samples(trials: Iterable[TrialRecord]) -> bool:
    """Whether every design that was simulated counts samples; one of several kinds counts as tokens."""
    found = Trials.of(trials).count("counts")
    return {word for said in found for word in (said or "").split()} == {"samples"}


def unit_of(unit: str, samples: bool) -> str:
    """The unit of a metric where samples are counted: `tokens/s/$` is then `samples/s/$`."""
    return unit.replace("token", "sample") if samples else unit


def in_samples(objective: Objective) -> Objective:
    """An objective of a study that counts samples."""
    return replace(objective, unit=unit_of(objective.unit, samples=True))


def convert_units(record: StudyRecord) -> StudyRecord:
    """The study with the units of its objectives in what its workload counts."""
    if not counts_samples(record.trials):
        return record
    purchase = record.purchase
    return replace(
        record,
        objectives=tuple(map(in_samples, record.objectives)),
        purchase=None if purchase is None else replace(purchase, tune=in_samples(purchase.tune)),
    )
