"""What the blocks of an iteration add up to, repeats counted: the room a run needs, and that 64 bits are enough."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcore.compiled import compiled
from simcore.engine.fast.pipeline import BACKWARD, BLOCKING, COMPUTE, FORWARD, START, WEIGHT_GRADIENTS
from simcore.engine.fast.state import Ints
from simcore.program import Waits

SERIAL, STARTED, BUCKETS = range(3)
"""Of a block: its time if nothing in it overlapped [ps], the collectives that it starts, gradient buckets of them."""
GRADIENTS, SHARDS = int(Waits.GRADIENTS), int(Waits.SHARDS)


@compiled
def block_sums(operators: Ints, segments: Ints, blocks: Ints, serial_types: NDArray[np.float64]) -> NDArray[np.float64]:
    """`SERIAL`, `STARTED` and `BUCKETS` of each block, `[blocks, 3]`, from the serial time of each type [ps]."""
    of_segments = np.zeros((len(segments), 3))
    for i in range(len(segments)):
        for row in range(segments[i, 0], segments[i, 1]):
            code, argument, other = operators[row, 0], operators[row, 1], operators[row, 2]
            if code == COMPUTE:
                of_segments[i, SERIAL] += argument
            elif code in (BLOCKING, START):
                of_segments[i, SERIAL] += serial_types[argument]
                of_segments[i, STARTED] += 1
                of_segments[i, BUCKETS] += code == START and other in (GRADIENTS, SHARDS)
    sums = np.zeros((len(blocks), 3))
    for i in range(len(blocks)):
        for segment in range(blocks[i, 0], blocks[i, 1]):
            for column in range(3):
                sums[i, column] += of_segments[segment, column] * segments[segment, 2]
    return sums


@compiled
def serial_time(programs: Ints, sums: NDArray[np.float64], microbatches: int) -> float:
    """Time of an iteration if nothing in it overlapped [ps]: more than it takes."""
    total = 0.0
    stages, chunks, kinds = programs.shape
    for stage in range(stages):
        for chunk in range(chunks):
            for kind in range(kinds):
                often = microbatches if kind in (FORWARD, BACKWARD, WEIGHT_GRADIENTS) else 1
                total += often * sums[programs[stage, chunk, kind], SERIAL]
    return total
