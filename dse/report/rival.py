"""The rival of the design to build: the nearest one of another kind, and whether the two can be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.buy.regret import REGRET
from dse.evaluate.fullness import fullness
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.choice import brim, pick_of_front
from dse.report.describe import compare, headline
from dse.report.families import KIND, RESOLUTION, TOLD_APART, Family
from dse.report.nearest import nearest
from dse.report.runnable import runs_otherwise
from dse.report.sensitivity import NO_CHANGE, format_change
from dse.report.summary import Summary
from dse.report.units import clean_text, format_percent, short_label
from dse.space.objective import Objective, losses
from dse.whatif.drawn import is_drawn
from dse.whatif.machines import machine_of
from simcore.metrics import exponent_of

_NEAR_VALUES = 0.1
"""Values that differ by less are near; a difference that is larger and uncertain is not sure."""
_NEAR_TEXT = "too near to tell"
_FAR = 0.25
"""By which share of its mean an objective of a design may differ that is still a rival."""
_TOLD = 4
"""Differences that are told of a rival that is no member of the front."""


class Rival(NamedTuple):
    """The rival of a design."""

    text: str = ""
    """A clause; empty without any."""
    number: int | None = None
    """The trial."""


def describe_rival(record: StudyRecord, summary: Summary, trial: TrialRecord, found: tuple[Family, ...]) -> Rival:
    """How the nearest design of another family differs: neither equal in all objectives, nor passed over.

    Where none on the front is near, the nearest feasible one of another kind, if that is nearer.
    """
    equal = (trial.number, *summary.equals.get(trial.number, ()), pick_of_front(record, summary))
    others = [family for family in found if trial.number not in family.trials and family.chosen not in equal]
    by_number = {t.number: t for t in record.feasible_trials.numbered_among(family.chosen for family in others)}
    alone = len(others) == 1  # then nothing tells families apart, and its name says what both have
    rivals = [
        (rival, _differences(trial, rival) or family.name if alone else family.name)
        for family in others
        for rival in [by_number[family.chosen]]
    ]
    if not rivals or _distances(record, trial, rivals)[2].min() >= _FAR:
        rivals += _behind(record, trial, equal)
    if not rivals:
        return Rival()
    points, size, far = _distances(record, trial, rivals)
    place = _nearest_that_runs([rival for rival, _ in rivals], far)
    (rival, name), lead = rivals[place], "closest rival:"
    changes = [_against(o, summary, trial, rival) for o in record.objectives]
    worse = points[1 + place] > points[0]
    doubts = [_NEAR_TEXT in text for text, is_worse in zip(changes, worse, strict=True) if is_worse]
    as_good = bool(doubts) and all(doubts)
    if far[place] >= _FAR and not as_good:
        beside = "beside other machines, " if _is_machine_near(record, summary, points[0], size) else ""
        lead = f"{beside}no rival is near; the closest is"
    machine = (
        headline(rival.decided_document, ("NPUs",)) if machine_of(rival.design) != machine_of(trial.design) else ""
    )
    name = name if machine in name else ", ".join(filter(None, (machine, name)))
    named = f"trial {rival.number}{f' ({name})' if name else ''}, {', '.join(changes)}"
    how = ": as good a choice until both are measured" if as_good else ""
    if runs_otherwise(rival):
        how = ", which its stack does not run as it is"
    elif fullness(rival) > brim(rival) >= fullness(trial):
        how = f", its memory {format_percent(fullness(rival))} full"
    return Rival(f"{lead} {named}{how}", rival.number)


def _distances(
    record: StudyRecord, trial: TrialRecord, rivals: Sequence[tuple[TrialRecord, str]]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The losses of a trial and of its rivals, the size of each, and how far each rival is in these where farthest."""
    points = record.losses((trial, *(rival for rival, _ in rivals)))
    size = abs(points).mean(axis=0)
    return points, size, (abs(points[1:] - points[0]) / (size + (size == 0))).max(axis=1)


def _nearest_that_runs(rivals: Sequence[TrialRecord], far: NDArray[np.float64]) -> int:
    """The place of the nearest rival that its stack runs, of those that are near; else of the nearest one."""
    order: list[int] = far.argsort(kind="stable").tolist()
    return next((place for place in order if far[place] < _FAR and not runs_otherwise(rivals[place])), order[0])


def _behind(record: StudyRecord, trial: TrialRecord, equal: Sequence[int | None]) -> list[tuple[TrialRecord, str]]:
    """The nearest feasible design of another kind behind the front, and in what it differs; none of those `equal`.

    One that its stack runs, if there is one among the nearest.
    """
    if trial.workloads or trial.decided_document is None:
        return []
    kind, known = headline(trial.decided_document, KIND), {*equal, *(member.number for member in record.front)}

    def differs(other: TrialRecord) -> bool:
        return other.number not in known and headline(other.decided_document, KIND) != kind

    rival = nearest(record, trial, lambda other: differs(other) and not runs_otherwise(other))
    rival = rival or nearest(record, trial, differs)
    if rival is None:
        return []
    return [(rival, _differences(trial, rival))]


def _differences(trial: TrialRecord, rival: TrialRecord) -> str:
    """In what kind of design a rival differs from a trial."""
    documents = [each.decided_document for each in (trial, rival)]
    if None in documents:
        return ""
    found = compare(documents, KIND)
    usual = [f"{name} {value}" for name, value in zip(found.columns, found.rows[1], strict=True)]
    return ", ".join((found.phrases[1] or usual)[:_TOLD])  # what is usual has no phrase


def _is_machine_near(
    record: StudyRecord, summary: Summary, own: NDArray[np.float64], size: NDArray[np.float64]
) -> bool:
    """Whether the best design on a machine that the front leaves out is near, by the `size` of the objectives."""
    known = losses(record.objectives, [machine.values for machine in summary.what_if.machines])
    return bool(len(known) and ((abs(known - own) / (size + (size == 0))).max(axis=1) < _FAR).any())


def _against(objective: Objective, summary: Summary, trial: TrialRecord, rival: TrialRecord) -> str:
    """How a rival differs in one objective, and whether that can be told."""
    before, after = trial.values[objective.name], rival.values[objective.name]
    if objective.name.endswith(REGRET):
        return f"regret {format_percent(before)} to {format_percent(after)}"
    share = objective.sign * (after - before) / abs(before) if before else None
    text = f"{clean_text(short_label(objective.name))} {format_change(share, objective.sign)}"
    doubt = describe_doubt(objective, summary, trial, rival)
    return f"{text} ({doubt})" if doubt else text


def describe_doubt(objective: Objective, summary: Summary, trial: TrialRecord, other: TrialRecord) -> str:
    """Why it is not known that two trials differ in an objective; empty where it is, or where they are equal."""
    before, after = trial.values[objective.name], other.values[objective.name]
    share = abs(after - before) / abs(before) if before else None
    scenarios = summary.what_if.scenarios
    timed = any(exponent_of(name, "time") for name in objective.names)
    known = None if scenarios is None else scenarios.better.get(objective.name, {}).get((other.number, trial.number))
    if share is not None and share < NO_CHANGE:
        return ""
    if known is not None and (timed or is_drawn(objective)):
        doubt = _NEAR_TEXT if share is not None and share < _NEAR_VALUES else "not sure"
        return doubt if 1 - TOLD_APART < known < TOLD_APART else ""
    return _NEAR_TEXT if timed and share is not None and share < RESOLUTION else ""
