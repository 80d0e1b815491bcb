"""What a journal keeps of a trial's result: the result again, its metrics by name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from dse.evaluate.trial import TrialRecord
from simcore.catalog.preset import preset
from simcore.design.prices import PriceList
from simcore.metrics import METRICS, metrics
from simcore.result import (
    NOTICES,
    Activity,
    Cost,
    Crossing,
    DimensionUse,
    Draw,
    ExposedCommunication,
    JobResult,
    Memory,
    Result,
    Staleness,
)

_Part = TypeVar(
    "_Part", Staleness, Crossing, Activity, Draw, JobResult, ExposedCommunication, Memory, DimensionUse, Cost, Result
)


def read_result(document: Mapping[str, Any]) -> Result:
    """The `Result` that `document` (see `Result.document`) was written from; keys of later versions are ignored."""
    memory, staleness, crossing = document["memory_bytes"], document.get("staleness"), document.get("crossing")
    parts = {
        "exposed_communication_s": _read_part(ExposedCommunication, document["exposed_communication_s"]),
        "memory_bytes": None if memory is None else _read_part(Memory, memory),
        "network": tuple(_read_part(DimensionUse, use) for use in document["network"]),
        "cost": _read_part(Cost, document["cost"]),
        "power": _read_draw(document.get("power")),
        "staleness": None if staleness is None else _read_part(Staleness, staleness),
        "crossing": None if crossing is None else _read_part(Crossing, crossing),
        "order_notes": tuple(document.get("order_notes", ())),
        "library_notes": tuple(document.get("library_notes", ())),
        "jobs": tuple(
            _read_part(JobResult, {**each, "nodes": tuple(each["nodes"])}) for each in document.get("jobs", ())
        ),
        **{kind: tuple(document.get(kind, ())) for kind in NOTICES},
    }
    return _read_part(Result, {**document, **parts})


def _read_draw(values: Mapping[str, Any] | None) -> Draw | None:
    if values is None:
        return None
    return _read_part(Draw, {**values, "activity": _read_part(Activity, values["activity"])})


def _read_part(kind: type[_Part], values: Mapping[str, Any]) -> _Part:
    return kind(**{field.name: values[field.name] for field in fields(kind) if field.name in values})


def trial_metrics(trial: TrialRecord) -> dict[str, float | None]:
    """Every metric of `METRICS` by name [SI]; all None where the trial was not simulated.

    Of a cluster for several workloads those that are the same for all of them.
    """
    if trial.workloads:
        each = [trial_metrics(part) for _, part in trial.parts]
        return {name: value if all(m[name] == value for m in each) else None for name, value in each[0].items()}
    if trial.metrics is None:
        return dict.fromkeys(METRICS)
    return {name: finite_or_none(value) for name, value in metrics(read_result(trial.metrics)).items()}


def metric_of(trial: TrialRecord, name: str) -> float | None:
    """An objective of a trial, or another metric; None where it has none."""
    value = trial.values.get(name)
    return trial_metrics(trial).get(name) if value is None else value


def finite_or_none(value: float | None) -> float | None:
    """`value`, or None where it is missing, NaN or infinite."""
    return float(value) if value is not None and math.isfinite(value) else None


def price_list(trial: TrialRecord) -> PriceList | None:
    """What a trial is bought and owned at; None where it has no design."""
    cost = (trial.design or {}).get("cost")
    if isinstance(cost, str):
        return preset(PriceList, "prices", cost)
    return PriceList.model_validate(cost) if isinstance(cost, Mapping) else None
