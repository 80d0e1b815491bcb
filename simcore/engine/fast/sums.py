"""What the blocks of an iteration add up to, repeats counted: the room a run needs, and that 64 bits are enough."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcore.compiled import compiled
from simcore.engine.fast.state import Ints
from simcore.engine.fast.tables import (
    ARGUMENT,
    BACKWARD,
    BLOCKING,
    BLOCKS,
    CODE,
    COMPUTE,
    END_OPERATOR,
    END_SEGMENT,
    FIRST_OPERATOR,
    FIRST_SEGMENT,
    FORWARD,
    OTHER,
    REPEATS,
    SEGMENTS,
    START,
    WEIGHT_GRADIENTS,
    locate_block,
    locate_operator,
    locate_segment,
)
from simcore.program import Waits

SERIAL, STARTED, BUCKETS = range(3)
"""Columns: the time of a block if nothing overlapped [ps], collectives that it starts, gradient buckets of them."""
GRADIENTS, SHARDS = int(Waits.GRADIENTS), int(Waits.SHARDS)


@compiled
def sum_blocks(program: Ints, serial_types: NDArray[np.float64]) -> NDArray[np.float64]:
    """`SERIAL`, `STARTED` and `BUCKETS` of each block, `[blocks, 3]`, from the serial time of each type [ps]."""
    of_segments = np.zeros((program[SEGMENTS], 3))
    for i in range(program[SEGMENTS]):
        segment = locate_segment(program, i)
        for number in range(program[segment + FIRST_OPERATOR], program[segment + END_OPERATOR]):
            operator = locate_operator(number)
            code, argument, other = program[operator + CODE], program[operator + ARGUMENT], program[operator + OTHER]
            if code == COMPUTE:
                of_segments[i, SERIAL] += argument
            elif code in (BLOCKING, START):
                of_segments[i, SERIAL] += serial_types[argument]
                of_segments[i, STARTED] += 1
                of_segments[i, BUCKETS] += code == START and other in (GRADIENTS, SHARDS)
    sums = np.zeros((program[BLOCKS], 3))
    for i in range(program[BLOCKS]):
        block = locate_block(program, i)
        for segment in range(program[block + FIRST_SEGMENT], program[block + END_SEGMENT]):
            for column in range(3):
                sums[i, column] += of_segments[segment, column] * program[locate_segment(program, segment) + REPEATS]
    return sums


@compiled
def add_serially(choices: Ints, sums: NDArray[np.float64], microbatches: int, updates: int) -> float:
    """Time of an iteration if nothing in it overlapped [ps]: more than it takes."""
    total = 0.0
    stages, chunks, kinds = choices.shape
    for stage in range(stages):
        for chunk in range(chunks):
            for kind in range(kinds):
                often = microbatches if kind in (FORWARD, BACKWARD, WEIGHT_GRADIENTS) else updates
                total += often * sums[choices[stage, chunk, kind], SERIAL]
    return total
