"""The order in which an iteration is played, block by block: whose block is next, which one, and what it waits for.

All of that follows from the schedule, and nothing from what blocks take: it is found once and kept, and the compiled
loop (`pipeline`) goes along it.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simcore.compiled import compiled
from simcore.engine.fast.state import Ints
from simcore.engine.fast.tables import KINDS, choose_kind
from simcore.schedule.base import CHUNK_MASK, CHUNK_SHIFT, WEIGHTS, PipelineSchedule, positions_along

# Visits, in the order in which they are played: stage; which of the blocks of all stages, chunks and kinds; where in
# the table of times it lies when its input was sent, and where it notes when it has sent (`NOWHERE`: it sends nothing).
AT_STAGE, CHOICE, SOURCE, TARGET, VISIT_SIZE = range(5)
OUTSIDE = 0
"""Where the time lies, 0, of an input from outside the pipeline; weight gradients need none, so they have it, too."""
NOWHERE = -1

Itinerary = NDArray[np.int32]


@compiled
def _fill(
    order: Ints, sequence: NDArray[np.int32], along: Ints, microbatches: int, updated_after: int, visits: Itinerary
) -> None:
    stages, length = order.shape
    virtual = along.shape[0]
    played = np.zeros(stages, np.int64)
    for number in range(sequence.shape[0]):
        s = sequence[number]
        code = order[s, played[s]]
        played[s] += 1
        chunk = (code >> 1) & CHUNK_MASK
        kind = choose_kind(code, microbatches, updated_after, played[s] == length)
        source, target = OUTSIDE, NOWHERE
        if (code >> 1) & WEIGHTS == 0:
            direction, microbatch = code & 1, code >> (CHUNK_SHIFT + 1)
            target = (direction * microbatches + microbatch) * (virtual + 2) + along[chunk * stages + s]
            source = target - 1 + 2 * direction
        visits[number, AT_STAGE], visits[number, SOURCE], visits[number, TARGET] = s, source, target
        visits[number, CHOICE] = (s * (virtual // stages) + chunk) * KINDS + kind


@lru_cache(maxsize=32)
def itinerary(schedule: PipelineSchedule, stages: int, microbatches: int, chunks: int, updated_after: int) -> Itinerary:
    """The visits of an iteration, `[blocks of all stages, VISIT_SIZE]`.

    Times of inputs and outputs lie in a table `[2, microbatches, virtual stages + 2]`, flat: forward and backward, by
    how far along its path a microbatch is; the first and last column stay 0 (`OUTSIDE` is one of them).
    """
    sizes = stages, microbatches, chunks
    sequence = schedule.sequence(*sizes)
    visits = np.empty((sequence.size, VISIT_SIZE), np.int32)
    along = positions_along(schedule.path(stages, chunks))
    _fill(schedule.order(*sizes), sequence, along, microbatches, updated_after, visits)
    visits.flags.writeable = False
    return visits
