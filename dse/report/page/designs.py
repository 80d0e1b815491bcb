"""The designs of the front for the page's script: each one's document and result, as columns of their leaves.

Most leaves are the same in all designs, so a leaf has each of its values once, and each design an index into them
(-1: it has no such leaf). A path is a list of keys, since a key may have a dot in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.evaluate.spread import spread_indices
from dse.report.describe import compare, describe, headline
from dse.report.families import families
from dse.report.intervals import interval_of, time_interval
from dse.report.page.base import marks
from dse.report.reasons import breakdown, describe_reason
from dse.report.summary import Summary
from dse.report.units import clean_text
from dse.report.values import read_result, to_json, to_plain

MOST_DETAILED = 300
"""Members of the front that the page has as whole documents."""

Path = tuple[str, ...]


def detailed(record: StudyRecord, summary: Summary) -> list[TrialRecord]:
    """The designs with everything that is known of them: the front and what stands for each family.

    Of a front beyond `MOST_DETAILED` so many, evenly spread, with the knee and the robust pick.
    """
    front, marked = summary.front, marks(summary)
    kept = frozenset(index for index, trial in enumerate(front) if trial.number in marked)
    found = [front[index] for index in spread_indices(len(front), MOST_DETAILED, kept)]
    chosen = {family.chosen for family in families(record, summary)} - {trial.number for trial in found}
    return [*found, *record.feasible_trials.numbered_among(chosen)]


def front_designs(record: StudyRecord, summary: Summary) -> dict[str, Any]:
    """`members`: a mapping for each design (one for each workload of a member); `documents`, `results`: leaves."""
    trials = detailed(record, summary)
    phrases = compare([trial.decided_document for trial in trials]).phrases
    parts = [(name, part, told) for trial, told in zip(trials, phrases, strict=True) for name, part in trial.parts]
    return {
        "members": [_member(record, summary, name, part, told) for name, part, told in parts],
        "documents": leaves([part.design for _, part, _ in parts]),
        "results": leaves([_result(part) for _, part, _ in parts]),
    }


def _member(
    record: StudyRecord, summary: Summary, name: str, trial: TrialRecord, told: Sequence[str]
) -> dict[str, Any]:
    return {
        "trial": trial.number,
        "workload": name,
        "told": list(told),
        "aspects": describe(trial.design or {}),
        "headline": headline(trial.design),
        "reason": describe_reason(trial.metrics),
        "interval": time_interval(summary, trial),
        "intervals": {} if name else _intervals(record, summary, trial),
        "values": to_plain(trial.values),
    }


def _intervals(record: StudyRecord, summary: Summary, trial: TrialRecord) -> dict[str, Any]:
    """Key of an objective -> where it lies in nine of ten cases, in the unit of its values."""
    found = {clean_text(o.name): interval_of(o, summary, trial) for o in record.objectives if o.name in trial.values}
    return {name: ends for name, ends in found.items() if ends is not None}


def _result(trial: TrialRecord) -> Mapping[str, Any] | None:
    """A result with the parts of its time by name."""
    if trial.metrics is None:
        return None
    return {**trial.metrics, "breakdown": breakdown(read_result(trial.metrics))}


def leaves(documents: Sequence[Mapping[str, Any] | None]) -> list[dict[str, Any]]:
    """The leaves of documents, in the order in which they first stand: path, values, an index for each document."""
    found: dict[Path, tuple[dict[str, int], list[Any], list[int]]] = {}
    for row, document in enumerate(documents):
        for path, value in _walk(to_plain(document or {})):
            index, values, at = found.setdefault(path, ({}, [], [-1] * len(documents)))
            text = to_json(value)
            if text not in index:
                index[text] = len(values)
                values.append(value)
            at[row] = index[text]
    return [{"path": list(path), "values": values, "at": at} for path, (_, values, at) in found.items()]


def _walk(value: Any, above: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every leaf; a list is one, and so is a mapping without keys."""
    if isinstance(value, Mapping) and (value or not above):
        for key, below in value.items():
            yield from _walk(below, (*above, key))
    else:
        yield above, value
