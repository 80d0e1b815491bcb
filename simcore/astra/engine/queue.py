"""The flow shop of chunks on one NPU that stands for all: queues, slots, waiting order.

Every chunk walks its rows of the phase table; a row names a queue and a duration. A queue runs at most
`slots` chunks at once, in list order; the running ones are at the front. A chunk that ends a phase leaves its
queue, enters the next one, the old queue is refilled, then the new one. State is integer arrays, so that
numba compiles it:

    rows    (P, 8)  queue, duration, three lags (see `PhaseTime`), operation, bytes entering, larger of bytes
                    entering and leaving
    chunks  (C, 6)  row, end of its rows, priority, collective, end of the running phase, event that started it
    order   (Q, C)  chunks in each queue;  load (Q, 2)  how many, and how many of them run
    left    (K,)    chunks each collective still has to finish
    shop    (4,)    now, events so far, slots of each queue, rule of the order in which chunks wait

Phases that end at one instant are handled in the order in which their last events were registered; phases that
one event started, and that are alike in that, in the order of their queues.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simcore.astra.algorithms.collective import Chunk, QueuedPhase
from simcore.astra.engine.compiled import borrowing
from simcore.astra.engine.packets import PhaseTime
from simcore.astra.files.errors import AstraInputError
from simcore.astra.files.system import Collective

Integers = npt.NDArray[np.int64]

_QUEUE, _DURATION, _LAG, _OPERATION, _BYTES, _LARGER = 0, 1, 2, 5, 6, 7
_ROW, _STOP, _PRIORITY, _COLLECTIVE, _END, _START = 0, 1, 2, 3, 4, 5
_LENGTH, _RUNNING = 0, 1
_NOW, _EVENTS, _SLOTS, _RULE = 0, 1, 2, 3
_GATHER, _SCATTER, _OTHER = 0, 1, 2
_FIFO, _SMALLEST, _FEWEST, _PAIRED, _SMALLEST_RELEASE = 0, 1, 2, 3, 4
RULES = {
    "FIFO": _FIFO,
    "SCF": _SMALLEST,
    "SCF-release": _SMALLEST_RELEASE,
    "lessRemainingPhaseFirst": _FEWEST,
    "RG": _PAIRED,
}
"""The order in which waiting chunks stand; FIFO is by priority, then by arrival."""
_OPERATIONS = {Collective.ALL_GATHER: _GATHER, Collective.REDUCE_SCATTER: _SCATTER}


@borrowing
def _place(rows: Integers, chunks: Integers, order: Integers, load: Integers, shop: Integers, chunk: int) -> int:
    """Return where in its queue a chunk has to stand."""
    row, rule = chunks[chunk, _ROW], shop[_RULE]
    queue = rows[row, _QUEUE]
    length, place = load[queue, _LENGTH], load[queue, _RUNNING]
    operation = rows[row, _OPERATION]
    if rule == _PAIRED and operation != _OTHER:
        return int(_paired_place(rows, chunks, order, load, chunk))
    if rule == _SMALLEST_RELEASE and operation != _OTHER and chunks[chunk, _STOP] - row == 2:
        return int(length)  # one phase to go after this one
    while place < length:
        other = order[queue, place]
        other_row = chunks[other, _ROW]
        if rule == _SMALLEST and operation != _OTHER:
            passes = rows[other_row, _BYTES] < rows[row, _BYTES]
        elif rule == _SMALLEST_RELEASE and operation != _OTHER:
            passes = rows[other_row, _LARGER] < rows[row, _LARGER]
        elif rule == _FEWEST and operation != _OTHER:
            passes = chunks[other, _STOP] - other_row < chunks[chunk, _STOP] - row
        else:
            passes = chunks[other, _PRIORITY] >= chunks[chunk, _PRIORITY]
        if not passes:
            break
        place += 1
    return int(place)


@borrowing
def _paired_place(rows: Integers, chunks: Integers, order: Integers, load: Integers, chunk: int) -> int:
    """Return the place of a chunk by the rule that alternates gathers and scatters (RG)."""
    queue = rows[chunks[chunk, _ROW], _QUEUE]
    length, running = load[queue, _LENGTH], load[queue, _RUNNING]
    place, last = 0, -1
    while place < length:
        before, last = last, rows[chunks[order[queue, place], _ROW], _OPERATION]
        if place < running:
            place += 1
            if place >= running and place < length:
                before, last = last, rows[chunks[order[queue, place], _ROW], _OPERATION]
                place += 1
            continue
        ahead = chunks[order[queue, place], _PRIORITY] > chunks[chunk, _PRIORITY]
        pair = last + before == _GATHER + _SCATTER and last != before and before != -1
        if not ahead and not pair:
            break
        place += 1
    return place


@borrowing
def _enter(rows: Integers, chunks: Integers, order: Integers, load: Integers, shop: Integers, chunk: int) -> None:
    """Put a chunk in the queue of its current row."""
    queue = rows[chunks[chunk, _ROW], _QUEUE]
    place = _place(rows, chunks, order, load, shop, chunk)
    for spot in range(load[queue, _LENGTH], place, -1):
        order[queue, spot] = order[queue, spot - 1]
    order[queue, place] = chunk
    load[queue, _LENGTH] += 1


@borrowing
def _refill(rows: Integers, chunks: Integers, order: Integers, load: Integers, shop: Integers, queue: int) -> None:
    """Start waiting chunks while the queue has a free slot."""
    while load[queue, _RUNNING] < load[queue, _LENGTH] and load[queue, _RUNNING] < shop[_SLOTS]:
        chunk = order[queue, load[queue, _RUNNING]]
        chunks[chunk, _END] = shop[_NOW] + rows[chunks[chunk, _ROW], _DURATION]
        chunks[chunk, _START] = shop[_EVENTS]
        load[queue, _RUNNING] += 1


@borrowing
def _is_sooner(rows: Integers, chunks: Integers, chunk: int, other: int) -> bool:
    """Return whether the running phase of `chunk` is handled before that of `other`."""
    if chunks[chunk, _END] != chunks[other, _END]:
        return bool(chunks[chunk, _END] < chunks[other, _END])
    row, other_row = chunks[chunk, _ROW], chunks[other, _ROW]
    for lag in range(_LAG, _LAG + 3):  # registered earlier means handled earlier
        if rows[row, lag] != rows[other_row, lag]:
            return bool(rows[row, lag] > rows[other_row, lag])
    if chunks[chunk, _START] != chunks[other, _START]:
        return bool(chunks[chunk, _START] < chunks[other, _START])
    return bool(rows[row, _QUEUE] < rows[other_row, _QUEUE])


@borrowing
def _next(rows: Integers, chunks: Integers, order: Integers, load: Integers) -> int:
    """Return the running chunk whose phase ends next, or -1."""
    found = -1
    for queue in range(load.shape[0]):
        for place in range(load[queue, _RUNNING]):
            chunk = order[queue, place]
            if found < 0 or _is_sooner(rows, chunks, chunk, found):
                found = chunk
    return found


@borrowing
def _leave(rows: Integers, chunks: Integers, order: Integers, load: Integers, chunk: int) -> int:
    """Take a running chunk out of its queue; return the queue."""
    queue = rows[chunks[chunk, _ROW], _QUEUE]
    place = 0
    while order[queue, place] != chunk:
        place += 1
    load[queue, _LENGTH] -= 1
    for spot in range(place, load[queue, _LENGTH]):
        order[queue, spot] = order[queue, spot + 1]
    load[queue, _RUNNING] -= 1
    return int(queue)


@borrowing
def _issue(
    rows: Integers, chunks: Integers, order: Integers, load: Integers, shop: Integers, first: int, stop: int
) -> None:
    """Let chunks first .. stop - 1 enter their first queues."""
    shop[_EVENTS] += 1
    for chunk in range(first, stop):
        _enter(rows, chunks, order, load, shop, chunk)
        _refill(rows, chunks, order, load, shop, rows[chunks[chunk, _ROW], _QUEUE])


@borrowing
def _advance(
    rows: Integers,
    chunks: Integers,
    order: Integers,
    load: Integers,
    left: Integers,
    shop: Integers,
    until: int,
    until_lag: int,
) -> int:
    """Play phase ends until a collective is complete; return it, or -1 at `until` or when idle.

    An event at `until` that was registered `until_lag` earlier comes before phases registered later.
    """
    while True:
        chunk = _next(rows, chunks, order, load)
        if chunk < 0:
            return -1
        end = chunks[chunk, _END]
        if until >= 0 and (end > until or (end == until and rows[chunks[chunk, _ROW], _LAG] < until_lag)):
            return -1
        shop[_NOW] = end
        shop[_EVENTS] += 1
        queue = _leave(rows, chunks, order, load, chunk)
        chunks[chunk, _ROW] += 1
        if chunks[chunk, _ROW] == chunks[chunk, _STOP]:
            _refill(rows, chunks, order, load, shop, queue)
            left[chunks[chunk, _COLLECTIVE]] -= 1
            if left[chunks[chunk, _COLLECTIVE]] == 0:
                return int(chunks[chunk, _COLLECTIVE])
            continue
        _enter(rows, chunks, order, load, shop, chunk)
        _refill(rows, chunks, order, load, shop, queue)
        _refill(rows, chunks, order, load, shop, rows[chunks[chunk, _ROW], _QUEUE])


MAX_PHASE_NS = 1 << 46
"""Longest phase (some 19 hours): sums over all chunks stay inside 64 bits."""


class FlowShop:
    """The queues of the NPU that stands for all. Times in [ns]."""

    def __init__(self, queues: int, slots: int, rule: str = "FIFO", capacity: int = 64) -> None:
        self._rows = np.zeros((64, 8), np.int64)
        self._chunks = np.zeros((capacity, 6), np.int64)
        self._order = np.zeros((queues, capacity), np.int64)
        self._load = np.zeros((queues, 2), np.int64)
        self._left = np.zeros(8, np.int64)
        self._shop = np.array([0, 0, slots, RULES[rule]], np.int64)
        self._row_count = self._chunk_count = self._collectives = 0
        self._known: dict[Chunk, int] = {}

    @property
    def now(self) -> int:
        """Time of the last phase end [ns]."""
        return int(self._shop[_NOW])

    def issue(self, now: int, chunks: Sequence[Chunk], time_of: Any, priority: int) -> int:
        """Enter all chunks of a collective at `now`; return the collective's number.

        `time_of` maps a `Phase` to its `PhaseTime`.
        """
        self._shop[_NOW] = now
        first, stop = self._chunk_count, self._chunk_count + len(chunks)
        self._chunks = _grown(self._chunks, stop, axis=0)
        self._order = _grown(self._order, stop, axis=1)
        self._left = _grown(self._left, self._collectives + 1, axis=0)
        place, end = first, first
        while place < stop:  # runs of the same chunk are written at once
            chunk = chunks[place - first]
            while end < stop and chunks[end - first] is chunk:
                end += 1
            row = self._rows_of(chunk, time_of)
            self._chunks[place:end, :_END] = (row, row + len(chunk), priority, self._collectives)
            place = end
        self._left[self._collectives] = len(chunks)
        self._collectives, self._chunk_count = self._collectives + 1, stop
        _issue(self._rows, self._chunks, self._order, self._load, self._shop, first, stop)
        return self._collectives - 1

    def advance(self, until: int = -1, lag: int = 0) -> int:
        """Run to the next complete collective and return its number, or -1 (see `_advance`)."""
        state = self._rows, self._chunks, self._order, self._load, self._left, self._shop
        return int(_advance(*state, until, lag))

    def _rows_of(self, chunk: Chunk, time_of: Any) -> int:
        """Return the first row of a chunk's phases, writing them when they are new."""
        if chunk not in self._known:
            self._known[chunk] = self._row_count
            self._rows = _grown(self._rows, self._row_count + len(chunk), axis=0)
            for phase in chunk:
                self._rows[self._row_count] = _row(phase, time_of(phase))
                self._row_count += 1
        return self._known[chunk]


def _row(phase: QueuedPhase, time: PhaseTime) -> tuple[int, ...]:
    if time.duration > MAX_PHASE_NS or phase.final_size > MAX_PHASE_NS:
        raise AstraInputError(
            f"{phase.kind.value} of {phase.size} B on {phase.level.size} NPUs: expected phases of at most "
            f"{MAX_PHASE_NS} ns and bytes, got {time.duration} ns; check sizes, bandwidth and latency"
        )
    operation = _OPERATIONS.get(phase.kind, _OTHER)
    return (phase.queue, time.duration, *time.lags, operation, phase.size, max(phase.size, phase.final_size))


def _grown(array: Integers, needed: int, axis: int) -> Integers:
    """Return the array with room for `needed` entries along an axis."""
    if needed <= array.shape[axis]:
        return array
    shape = list(array.shape)
    shape[axis] = max(needed, 2 * shape[axis])
    wider = np.zeros(shape, np.int64)
    wider[tuple(slice(0, length) for length in array.shape)] = array
    return wider
