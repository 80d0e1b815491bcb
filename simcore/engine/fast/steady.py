"""Adds the microbatches of a steady phase to a run that has settled into a period.

Times of blocks are a max-plus linear recurrence. Once all blocks of a window as long as its memory end one period after
those before them, every further period adds just that time, here and to all that follows.
"""

from __future__ import annotations

from simcore.compiled import borrowing, inlined
from simcore.engine.fast.state import Ints
from simcore.engine.fast.tables import BACKWARD, BUBBLE, CLOCK, DURATION, FORWARD, NPU_SPENT, SPENT, WEIGHT_GRADIENTS
from simcore.schedule import Steady


def extend(npus: Ints, done: Ints, learnt: Ints, known: Ints, steady: Steady, missing: int) -> bool:
    """Add `missing` microbatches to `npus` where the run has settled into a period; whether it has.

    `done` `[2, microbatches, virtual stages + 2]` says when each block has sent, and `known` `[stages, chunks, kinds]`
    where in `learnt` it lies what was learnt of it. Where forward blocks lead, their window ends with them, and of the
    backward blocks before the end the last period is looked at.
    """
    played = done.shape[1]
    end = played - steady.cool
    reach, last = (steady.period, played) if steady.leads else (steady.reach, end)
    if not _is_settled(done, last - steady.reach, last, end - reach, end, steady.period):
        return False
    later = int(done[0, last - 1, 1] - done[0, last - 1 - steady.period, 1]) * (missing // steady.period)
    _add_ordinary(npus, learnt, known, missing, later)
    return True


@borrowing
def _is_settled(done: Ints, forward: int, last: int, backward: int, end: int, back: int) -> bool:
    """Whether blocks end the same time after those `back` microbatches earlier, on every stage.

    Those are the forward ones of microbatches from `forward` to `last`, and the backward ones from `backward` to `end`.
    """
    period = done[0, last - 1, 1] - done[0, last - 1 - back, 1]
    return _repeats(done, 0, forward, last, back, period) and _repeats(done, 1, backward, end, back, period)


@inlined
def _repeats(done: Ints, direction: int, first: int, end: int, back: int, period: int) -> bool:
    for microbatch in range(first, end):
        for stage in range(1, done.shape[2] - 1):
            if done[direction, microbatch, stage] - done[direction, microbatch - back, stage] != period:
                return False
    return True


@borrowing
def _add_ordinary(npus: Ints, learnt: Ints, known: Ints, missing: int, later: int) -> None:
    """Add `missing` ordinary blocks of each chunk and kind to every stage, all of which ends so much `later` [ps]."""
    for s in range(npus.shape[0]):
        busy = 0
        for chunk in range(known.shape[1]):
            for kind in (FORWARD, BACKWARD, WEIGHT_GRADIENTS):
                block = known[s, chunk, kind]
                busy += missing * learnt[block, DURATION]
                for category in range(npus.shape[1] - NPU_SPENT):
                    npus[s, NPU_SPENT + category] += missing * learnt[block, SPENT + category]
        npus[s, CLOCK] += later
        npus[s, BUBBLE] += later - busy
