"""Room for what is learnt while the loop plays: passages, what is kept of networks, and repeats."""

from __future__ import annotations

from collections.abc import Sequence

from simcore.engine.flow import tables
from simcore.engine.flow.lowered import Lowered

_MOST_RUNS, _RUNS = 1 << 12, 1 << 18
"""Runs of a passage, and of all of them: what has more is played."""
_PASSAGES, _KEPT = 1 << 10, 1 << 20
"""Passages that are known, and numbers that are kept of what they found and left in flight."""

Columns = dict[int, int]
"""Numbers by column of the header of the play."""


def room_for_passages(
    jobs: Sequence[Lowered], plan: tables.Ints, state_width: int, links: int
) -> tuple[Columns, Columns]:
    """Sizes of the tables, by where it is noted where each lies, and the rooms in them."""
    classes, dimensions = int(plan[tables.CLASSES]), int(plan[tables.DIMENSIONS])
    rows = plan[tables.PLAN_HEADER :][: classes * tables.CLASS_SIZE]
    patterns = int(rows[tables.PATTERN :: tables.CLASS_SIZE].max()) + 1
    spans = sum(int(lowered.types_by_way.sum()) for lowered in jobs) if links else 0
    runs, most, entries, kept = (spans + _RUNS, _MOST_RUNS, _PASSAGES, _KEPT) if patterns else (spans, 0, 0, 0)
    segments = max(len(lowered.lowering.segments) for lowered in jobs)
    notes = tables.OPEN_RUN + dimensions + most * tables.RUN_SIZE
    repeated = state_width + 4 * dimensions if patterns else 0
    repeats = tables.R_WAYS + 1 + max(len(lowered.ways[0]) for lowered in jobs) + 2 * repeated
    sizes = {
        tables.NOTES_AT: classes * notes,
        tables.REPEATED_AT: classes * repeats,
        tables.PASSAGES_AT: patterns * segments,
        tables.ENTRIES_AT: entries * tables.PASSAGE_SIZE,
        tables.KEPT_AT: kept + 4 * repeated,  # what was begun when there was room, and a key
        tables.RUNS_AT: runs * tables.RUN_SIZE,
        tables.USERS_AT: links,
        tables.COLLECTIVES_AT: len(jobs) * int(plan[tables.TYPES]) * tables.PASSAGE_SIZE if links else 0,
    }
    rooms = {
        tables.PASSAGES_ROOM: segments,
        tables.NOTES_ROOM: notes,
        tables.ENTRIES_ROOM: entries,
        tables.KEPT_ROOM: kept,
        tables.REPEATED_WIDTH: repeats,
        tables.REPEATED_ROOM: repeated,
        tables.RUNS_ROOM: runs,
    }
    return sizes, rooms
