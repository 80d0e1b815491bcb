"""What there is to say of one design of a study: its place on the front, its family, its neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.choice import pick_of_front, recommended
from dse.report.describe import compare
from dse.report.families import Family, families
from dse.report.futures import member_futures
from dse.report.infeasible import describe_miss
from dse.report.intervals import interval_of
from dse.report.pick import picks
from dse.report.summary import Summary
from dse.space.objective import relative_change
from dse.whatif.answers import Sureness


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The next design along the front, better in one objective."""

    trial: int
    better: str
    """The objective in which it is the next better one."""
    change: Mapping[str, float | None]
    """Objective -> change as a share of the shown design's value; None where that is 0."""
    differs: Mapping[str, tuple[str, str]]
    """What tells the two apart: aspect -> here, there."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One design of a study."""

    trial: TrialRecord
    names: tuple[str, ...]
    """The words that mean it: `knee`, `robust`, `best:…`."""
    built: bool
    """Whether it is the design to build."""
    passed_over: int | None
    """The trial of the front in whose place it is built; None where there is none."""
    on_front: bool
    dominated_by: int | None
    """A member of the front that is better; None on the front, and where it was not simulated or is infeasible."""
    intervals: Mapping[str, tuple[float, float]]
    """Objective -> where it lies in nine of ten cases, for those that move with the time."""
    sureness: Sureness | None
    family: Family | None
    neighbours: tuple[Neighbour, ...]
    futures: Mapping[str, Any]
    """Its value and regret in each future, and the worst (`dse.report.futures`); empty without futures."""


def gather_facts(record: StudyRecord, summary: Summary, trial: TrialRecord) -> Shown:
    """The facts about one trial of a study."""
    number, pick = recommended(record, summary), pick_of_front(record, summary)
    names = tuple(word for word, number in picks(record, summary.what_if).items() if number == trial.number)
    on_front = any(member.number == trial.number for member in summary.front)
    scenarios = summary.what_if.scenarios
    return Shown(
        trial=trial,
        names=names,
        built=number == trial.number,
        passed_over=pick if number == trial.number != pick else None,
        on_front=on_front,
        dominated_by=None if on_front else _dominating(record, summary, trial),
        intervals=_intervals(record, summary, trial),
        sureness=None if scenarios is None else scenarios.known.get(trial.number),
        family=_family(record, summary, trial) if on_front else None,
        neighbours=_neighbours(record, summary, trial) if on_front else (),
        futures=member_futures(summary, trial),
    )


def _intervals(record: StudyRecord, summary: Summary, trial: TrialRecord) -> dict[str, tuple[float, float]]:
    if trial.metrics is None:
        return {}
    found = {objective.name: interval_of(objective, summary, trial) for objective in record.objectives}
    return {name: ends for name, ends in found.items() if ends is not None}


def _family(record: StudyRecord, summary: Summary, trial: TrialRecord) -> Family | None:
    return next((family for family in families(record, summary) if trial.number in family.trials), None)


def _dominating(record: StudyRecord, summary: Summary, trial: TrialRecord) -> int | None:
    """The member of the front that is better by most."""
    if trial.state != "feasible" or not summary.front:
        return None
    own, front = record.losses((trial,))[0], record.losses(summary.front)
    better = (front <= own).all(axis=1)
    if not better.any():
        return None
    unit = np.where(own != 0, np.abs(own), 1.0)
    return summary.front[int(np.where(better, ((own - front) / unit).sum(axis=1), -np.inf).argmax())].number


def _neighbours(record: StudyRecord, summary: Summary, trial: TrialRecord) -> tuple[Neighbour, ...]:
    """For each objective the front's next better design in it, each design once."""
    found: dict[int, Neighbour] = {}
    for objective in record.objectives:
        here = objective.sign * trial.values[objective.name]
        better = [other for other in summary.front if objective.sign * other.values[objective.name] < here]
        if better:
            nearest = max(better, key=lambda other: (objective.sign * other.values[objective.name], -other.number))
            found.setdefault(nearest.number, _neighbour(record, trial, nearest, objective.name))
    return tuple(found.values())


def _neighbour(record: StudyRecord, trial: TrialRecord, other: TrialRecord, better: str) -> Neighbour:
    change = {o.name: relative_change(trial.values[o.name], other.values[o.name]) for o in record.objectives}
    return Neighbour(other.number, better, change, differing_aspects(trial, other))


def differing_aspects(one: TrialRecord, other: TrialRecord) -> dict[str, tuple[str, str]]:
    """What tells two designs apart, in words: aspect -> of the one, of the other."""
    compared = compare([one.decided_document, other.decided_document])
    here, there = compared.rows
    return {name: (a, b) for name, a, b in zip(compared.columns, here, there, strict=True)}


def explain_state(trial: TrialRecord) -> str:
    """Why a trial is not feasible; empty where it is."""
    if trial.state == "feasible":
        return ""
    if trial.state == "failed":
        return f"The evaluation failed: {trial.error or 'no reason was recorded'}."
    if trial.state == "cut":
        why = f": {trial.error}" if trial.error else _how_far(trial)
        return f"Cut before simulation by the rule '{trial.cut_by or 'unknown'}'{why}. Values are bounds, not results."
    missed = ", ".join(f"{name} (by {describe_miss(trial, name)})" for name in trial.missed)
    return f"Simulated, and infeasible: it misses {missed or 'a constraint'}."


def _how_far(trial: TrialRecord) -> str:
    rule = trial.cut_by
    return f", missed by {describe_miss(trial, rule)}" if rule is not None and rule in trial.missed else ""


def workload_parts(trial: TrialRecord) -> tuple[tuple[str, TrialRecord], ...]:
    """The designs of a trial that were simulated, each with its workload's name."""
    return tuple((name, part) for name, part in trial.parts if part.metrics is not None)


def plain_values(record: StudyRecord, trial: TrialRecord) -> dict[str, Any]:
    """The objectives of a trial that have a value, in the order of the study."""
    return {o.name: trial.values[o.name] for o in record.objectives if o.name in trial.values}
