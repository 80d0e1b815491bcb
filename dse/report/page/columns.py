"""The trials of a study as columns for the page's script: objectives, metrics, parameters, and how each ended.

Trials that have a point are on the page: those that failed have none. Above `MOST_TRIALS` all of the front and some of
every other kind stay, evenly spread over the study; the page says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from sys import intern
from typing import Any

import numpy as np

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.evaluate.spread import spread_indices
from dse.evaluate.trials import Trials
from dse.report.counted import counts_samples, unit_of
from dse.report.page.pack import pack_names, pack_numbers, value_text
from dse.report.points import KINDS, Kind, groups, window
from dse.report.summary import Summary
from dse.report.units import always_shown, clean_text, label, scale, shorten_text
from dse.report.values import finite_or_none, trial_metrics
from dse.space.objective import Objective
from simcore.metrics import METRICS

MOST_TRIALS = 10_000
MOST_OF_FRONT = 3_000
_FEW = 12
"""A parameter with at most so many different numbers is shown by name: one tick a value."""


@dataclass(frozen=True)
class PageTrials:
    """The trials on the page, in order of their numbers, each with its kind."""

    rows: tuple[tuple[TrialRecord, Kind], ...]
    """Without designs and results, which would take nine tenths of the memory."""
    metrics: tuple[tuple[float | None, ...], ...]
    """The values of `METRICS`, for each of them."""
    all: int
    """Trials that have a point, on the page or not."""
    samples: bool
    """Whether they count samples (`dse.report.counted`)."""

    @classmethod
    def of(cls, record: StudyRecord, summary: Summary) -> PageTrials:
        """The columns of a study."""
        found = groups(record, summary)
        total = sum(map(len, found.values()))
        kept = [
            (_without_documents(trial), kind, _measured(trial))
            for kind, trials in found.items()
            for trial in _thin(trials, kind, total)
        ]
        kept.sort(key=lambda row: row[0].number)
        on_page = np.isin(record.trials.numbers, [trial.number for trial, *_ in kept])
        return cls(
            tuple((trial, kind) for trial, kind, _ in kept),
            tuple(metrics for *_, metrics in kept),
            total,
            counts_samples(record.trials.select(on_page)),
        )

    @property
    def trials(self) -> list[TrialRecord]:
        """Without their kinds."""
        return [trial for trial, _ in self.rows]


def _thin(trials: Trials, kind: Kind, total: int) -> Trials:
    if total <= MOST_TRIALS:
        return trials
    share = (MOST_TRIALS - MOST_OF_FRONT) / total
    limit = MOST_OF_FRONT if kind == "front" else max(1, int(share * len(trials)))
    return trials.select(np.array(spread_indices(len(trials), limit), dtype=np.int64))


def _without_documents(trial: TrialRecord) -> TrialRecord:
    params = {intern(path): value for path, value in trial.params.items()}
    return replace(trial, params=params, design=None, metrics=None, workloads=())


def _measured(trial: TrialRecord) -> tuple[float | None, ...]:
    metrics = trial_metrics(trial)
    return tuple(metrics[name] for name in METRICS)


def trial_columns(record: StudyRecord, summary: Summary, trials: PageTrials) -> list[dict[str, Any]]:
    """Every column: its key, label and unit, what it is, and its values (`dse.report.page.pack`)."""
    if not trials.rows:
        return []
    numbers = pack_numbers([float(trial.number) for trial in trials.trials], exact=True)
    kinds = {**pack_names([kind for _, kind in trials.rows]), "ordered": False}
    fixed = [
        {"key": "number", "label": "trial", "role": "number", "unit": "", "factor": 1, **numbers},
        {"key": "state", "label": "state", "role": "state", **kinds},
    ]
    return [*fixed, *_objectives(record, summary, trials), *_metrics(record, trials), *_parameters(summary, trials)]


def _objectives(record: StudyRecord, summary: Summary, trials: PageTrials) -> list[dict[str, Any]]:
    by_kind: dict[Kind, list[TrialRecord]] = {kind: [] for kind in KINDS}
    for trial, kind in trials.rows:
        by_kind[kind].append(trial)
    return [_objective(objective, summary, trials, by_kind) for objective in record.objectives]


def _objective(
    objective: Objective, summary: Summary, trials: PageTrials, by_kind: dict[Kind, list[TrialRecord]]
) -> dict[str, Any]:
    bound = summary.bounds[objective.name]
    seen = window(objective, by_kind, bound)
    values = [trial.values[objective.name] for trial in trials.trials]
    # The unit is that of the table of the front, so that a number is the same text everywhere.
    unit = scale(objective.unit, [trial.values[objective.name] for trial in by_kind["front"]] or values, objective.name)
    told = {"window": [seen.low, seen.high], "log": seen.log, "bound": bound, "sign": objective.sign}
    return {**_number(objective.name, "objective", unit.unit, unit.factor), **told, **pack_numbers(values, exact=True)}


def _number(name: str, role: str, unit: str, factor: float) -> dict[str, Any]:
    return {
        "key": clean_text(name),
        "label": shorten_text(label(name), 60),
        "role": role,
        "unit": unit,
        "factor": factor,
    }


def _metrics(record: StudyRecord, trials: PageTrials) -> list[dict[str, Any]]:
    """The metrics that differ, and those that tables always show; `shown` is the place among these, from 1."""
    chosen, shown = {objective.name for objective in record.objectives}, always_shown(page=True)
    fronts = [row for row, (_, kind) in enumerate(trials.rows) if kind == "front"]
    columns = []
    for name, values in zip(METRICS, zip(*trials.metrics, strict=True), strict=True):
        known = {value for value in values if value is not None}
        if name in chosen or name == "fits" or not known or (len(known) == 1 and name not in shown):
            continue
        unit = scale(unit_of(METRICS[name].unit, trials.samples), [values[row] for row in fronts] or values, name)
        sign = 1.0 if METRICS[name].better == "less" else -1.0
        told = {"shown": shown.index(name) + 1 if name in shown else 0, "sign": sign}
        number = _number(name, "metric", unit.unit, unit.factor)
        columns.append({**number, **told, **pack_numbers(values, exact=False)})
    return columns


def _parameters(summary: Summary, trials: PageTrials) -> list[dict[str, Any]]:
    """The parameters that differ over the trials; `shown` those that differ over the front."""
    paths = dict.fromkeys(path for trial in trials.trials for path in trial.params)
    columns = {path: [trial.params.get(path) for trial in trials.trials] for path in paths}
    differing = [path for path, values in columns.items() if _differs(values)]
    on_front = {path for path in differing if _differs([trial.params.get(path) for trial in summary.front])}
    matter = [shares.get for shares in summary.importance.near_front.values()]
    return [
        {
            "key": shorten_text(path, 80),
            "label": shorten_text(short_path(path, differing), 40),
            "role": "parameter",
            "shown": path in on_front,
            "matter": max((known(path, 0.0) for known in matter), default=0.0),
            **_values(columns[path]),
        }
        for path in differing
    ]


def _differs(values: Sequence[Any]) -> bool:
    return len({value_text(value) for value in values}) > 1


def _values(values: Sequence[Any]) -> dict[str, Any]:
    """Many different numbers as numbers; few, and everything else, as names."""
    known = [value for value in values if value is not None]
    numeric = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in known)
    if numeric and len(set(known)) > _FEW:
        return {"unit": "", "factor": 1, **pack_numbers([finite_or_none(value) for value in values], exact=False)}
    return pack_names(values)


def short_path(path: str, paths: Sequence[str]) -> str:
    """The end of a path, as much of it as tells it apart from the others; `dimensions[1]` is dimension 1."""
    if path.endswith(".split"):
        return f"{path.split('.')[-2]} budget"
    keys = path.split(".")

    def count(short: str) -> int:
        return sum(other == short or other.endswith(f".{short}") for other in paths)

    short = next((s for start in range(len(keys) - 1, 0, -1) if count(s := ".".join(keys[start:])) == 1), path)
    if short.startswith("dimensions[") and "]." in short:
        index, _, key = short.removeprefix("dimensions[").partition("].")
        return f"{key} {index}" if index.isdigit() else short
    return short.replace("_", " ")
