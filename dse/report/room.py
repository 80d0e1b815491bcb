"""Room in the memory, in words: what it costs to have some, and that less than there is saves nothing."""

from __future__ import annotations

from dse.evaluate.fullness import fullness
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.choice import NO_ROOM, best_with_room
from dse.report.nearest import describe_changes, nearest
from dse.report.runnable import runs_otherwise
from dse.report.summary import Summary
from dse.report.units import format_percent
from simcore.layout.solve import NEARLY_FULL

_ROOMY = 0.9
"""A memory that is no fuller has room."""


def describe_memory_left(record: StudyRecord, summary: Summary) -> str:
    """Why a front's design is built that is neither the best beside memory nor the one that needs least of it."""
    number = best_with_room(record, summary)
    least = min(summary.front, key=fullness)
    if number is None:
        return ""
    if least.number != number:
        return (
            "Memory that an NPU has is paid, used or not: of the front's designs with room in it the best in the other "
            f"objectives is built; trial {least.number} needs the least ({format_percent(fullness(least))} full)."
        )
    fuller = best_with_room(record, summary, NO_ROOM)
    if fuller == number:
        return ""
    share = next(fullness(trial) for trial in summary.front if trial.number == fuller)
    return (
        f"Trial {fuller} is the best of the front beside memory, but that is {format_percent(share)} full: no room for "
        "what is not predicted, such as fragments."
    )


def describe_room(record: StudyRecord, trial: TrialRecord, rival: int | None = None) -> str:
    """The nearest design that has room in its memory and that its stack runs, where the one to build has none.

    In short where it is `rival`, the trial of which the clause before tells.
    """
    if fullness(trial) <= NEARLY_FULL:
        return ""
    roomy = nearest(record, trial, lambda other: fullness(other) <= _ROOMY and not runs_otherwise(other))
    if roomy is None:
        return ""
    share = format_percent(fullness(roomy))
    if roomy.number == rival:
        return f"trial {roomy.number} has room in its memory ({share} full)"
    return f"with room in its memory ({share} full): trial {roomy.number}, {describe_changes(record, trial, roomy)}"
