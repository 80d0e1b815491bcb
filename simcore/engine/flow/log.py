"""The log of a run: what each class computes and waits for, and what its dimensions serve at which pace.

A run that is logged plays everything. The log is a table of the play (`tables`); where there is none (`LOG_ROOM` is 0)
a note is one comparison. Services of a dimension that follow each other on one way at one pace are one row, so chunks
do not fill the table. When it is full, what is over later is counted and not kept.
"""

from __future__ import annotations

from simcore.compiled import inlined
from simcore.engine.flow.tables import (
    DIMENSIONS,
    LOG_AT,
    LOG_LAST_AT,
    LOG_LOST,
    LOG_ROOM,
    LOG_USED,
    LOG_WIDTH,
    ROW_BEGIN,
    ROW_CLASS,
    ROW_END,
    ROW_LEVEL,
    ROW_PACE,
    ROW_WHAT,
    Ints,
)

BLOCK, OPERATOR, SERVICE = range(3)
PACES = 1e9
"""A pace is kept in parts of this."""


@inlined
def _add_row(play: Ints, level: int, c: int, what: int, begin: int, end: int, pace: int) -> int:
    """The place of a new row; 0 where there is no room."""
    if play[LOG_USED] == play[LOG_ROOM]:
        play[LOG_LOST] += 1
        return 0
    row = play[LOG_AT] + play[LOG_USED] * LOG_WIDTH
    play[LOG_USED] += 1
    play[row + ROW_LEVEL], play[row + ROW_CLASS], play[row + ROW_WHAT] = level, c, what
    play[row + ROW_BEGIN], play[row + ROW_END], play[row + ROW_PACE] = begin, end, pace
    return int(row)


@inlined
def note_service(plan: Ints, play: Ints, c: int, d: int, way: int, begin: int, end: int, pace: float) -> None:
    """Dimension `d` of a class served a way at one pace."""
    if play[LOG_ROOM] == 0 or end <= begin:
        return
    parts = int(pace * PACES + 0.5)
    last = play[LOG_LAST_AT] + c * (plan[DIMENSIONS] + 1) + d
    row = play[last]
    if row > 0 and play[row + ROW_END] == begin and play[row + ROW_WHAT] == way and play[row + ROW_PACE] == parts:
        play[row + ROW_END] = end
    else:
        play[last] = _add_row(play, SERVICE, c, way, begin, end, parts)


@inlined
def note_operator(play: Ints, c: int, operator: int, begin: int, end: int) -> None:
    """A class computed or waited."""
    if play[LOG_ROOM] > 0 and end > begin:
        _add_row(play, OPERATOR, c, operator, begin, end, 0)


@inlined
def note_block(plan: Ints, play: Ints, c: int, code: int, now: int) -> None:
    """A class begins a block."""
    if play[LOG_ROOM] > 0:
        last = play[LOG_LAST_AT] + (c + 1) * (plan[DIMENSIONS] + 1) - 1
        play[last] = _add_row(play, BLOCK, c, code, now, now, 0)


@inlined
def note_block_end(plan: Ints, play: Ints, c: int, now: int) -> None:
    """The block that a class is in, if it is in one, is over."""
    if play[LOG_ROOM] > 0:
        last = play[LOG_LAST_AT] + (c + 1) * (plan[DIMENSIONS] + 1) - 1
        if play[last] > 0:
            play[play[last] + ROW_END] = now
            play[last] = 0
