"""What a logged run says: spans of time of each class, by thread (`log`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from simcore.engine.fast.tables import COMPUTE
from simcore.engine.flow.log import OPERATOR, PACES, SERVICE
from simcore.engine.flow.lowered import Lowered, Way
from simcore.engine.flow.tables import (
    CLASSES,
    LOG_AT,
    LOG_LOST,
    LOG_USED,
    LOG_WIDTH,
    ROW_BEGIN,
    ROW_END,
    World,
)
from simcore.program import Category
from simcore.schedule.base import block_name


class Span(NamedTuple):
    """Something that a class does."""

    track: int
    """The class, counted over all jobs."""
    thread: str
    """`blocks`, `operators`, or the dimension that serves it."""
    name: str
    begin: int
    """[ps]"""
    end: int
    pace: float | None
    """Share of the rate that a service has alone; None of all else."""


@dataclass(frozen=True)
class Track:
    """A class of NPUs."""

    name: str
    npus: int
    """How many they are."""


@dataclass(frozen=True)
class FlowLog:
    """What all classes did."""

    spans: tuple[Span, ...]
    """By class and thread, and in each by time."""
    tracks: tuple[Track, ...]
    lost: int
    """Rows that had no room."""


def read_log(jobs: Sequence[Lowered], names: Sequence[str], world: World) -> FlowLog:
    """The log of a run of `jobs`; `names` go before those of their classes ("" for a job alone)."""
    plan, play = world[4], world[5]
    rows = play[play[LOG_AT] :][: int(play[LOG_USED]) * LOG_WIDTH].reshape(-1, LOG_WIDTH)
    owners = [lowered for lowered in jobs for _ in lowered.job.classes.stages]
    compute = {id(lowered): lowered.lowering.names() for lowered in jobs}
    spans = []
    for level, c, what, begin, end, pace in rows[rows[:, ROW_END] > rows[:, ROW_BEGIN]].tolist():
        lowered = owners[c]
        if level == SERVICE:
            way = lowered.ways[0][what]
            spans.append(Span(c, _dimension_name(lowered, way), _way_name(way), begin, end, pace / PACES))
        elif level == OPERATOR:
            name = _operator_name(lowered, compute[id(lowered)], what)
            spans.append(Span(c, "operators", name, begin, end, None))
        elif lowered.job.program.single is None:
            spans.append(Span(c, "blocks", block_name(what), begin, end, None))
        else:
            spans.append(Span(c, "blocks", lowered.job.program.single.kind, begin, end, None))
    tracks = [track for lowered, name in zip(jobs, names, strict=True) for track in _tracks(lowered, name)]
    assert len(tracks) == plan[CLASSES]
    return FlowLog(
        tuple(sorted(spans, key=lambda span: (span.track, span.thread, span.begin))), tuple(tracks), int(play[LOG_LOST])
    )


def _tracks(lowered: Lowered, name: str) -> list[Track]:
    """The classes of a job; those of one stage are told apart by their first NPU."""
    classes = lowered.job.classes
    single = lowered.job.program.single is not None
    groups = list(classes.placement)
    found = []
    for stage, first, size in zip(classes.stages, classes.representatives, classes.sizes, strict=True):
        its = (groups[stage] if len(set(classes.stages)) > 1 else "all NPUs") if single else f"stage {stage}"
        apart = f", NPU {first} and those like it" if not classes.simple and size > 1 else ""
        apart = f", NPU {first}" if not classes.simple and size == 1 else apart
        found.append(Track(f"{name} {its}{apart}".strip(), size))
    return found


def _dimension_name(lowered: Lowered, way: Way) -> str:
    dimensions = lowered.job.design.cluster.dimensions
    if way.dimension >= len(dimensions):
        return f"memory: {way.kind}"
    its = dimensions[way.dimension]
    return f"dimension {way.dimension}: {its.topology}({its.size})"


def _way_name(way: Way) -> str:
    if way.message:
        return f"{way.group}: to the {'next' if way.onward else 'previous'} stage"
    return f"{way.group}: {way.kind}"


def _operator_name(lowered: Lowered, names: dict[int, str], index: int) -> str:
    code, _, category = lowered.lowering.operators[index]
    if code == COMPUTE:
        return names.get(index, "compute")
    return f"wait for {Category(category).name.lower()} communication"
