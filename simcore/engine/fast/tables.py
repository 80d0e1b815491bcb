"""The arrays of a program that the compiled loop plays, one access layer with those of the network (`state`).

A program is one flat int64 array (`pack_program`): its operators, segments and blocks, and which block each stage
plays. What is learnt, the representative NPUs and the log are tables whose columns are named here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simcore.compiled import inlined
from simcore.engine.fast.state import Ints, flatten
from simcore.schedule.base import ALONE, CHUNK_MASK, CHUNK_SHIFT, WEIGHTS

# Header of a program: numbers of segments, of blocks, and of chunks of a stage; after how many microbatches weights are
# updated where the pipeline never empties (else 0); where the tables start.
SEGMENTS, BLOCKS, STAGE_CHUNKS, UPDATED_AFTER, SEGMENTS_AT, BLOCKS_AT, CHOICES_AT, OPERATORS_AT = range(8)
# Operators: COMPUTE (duration [ps], category), BLOCKING (type of collective, category), START (type, class), WAIT
# (class, category), SENT.
CODE, ARGUMENT, OTHER, OPERATOR_SIZE = range(4)
COMPUTE, BLOCKING, START, WAIT, SENT = range(5)
# Segments: first operator, end, repeats. Blocks: first segment, end.
FIRST_OPERATOR, END_OPERATOR, REPEATS, SEGMENT_SIZE = range(4)
FIRST_SEGMENT, END_SEGMENT, BLOCK_SIZE = range(3)
# Choices: the blocks of each stage and chunk, by kind. FINAL is that of the very last block, in chunk 0, and of every
# backward block after which weights are updated where the pipeline never empties;
# WEIGHT_GRADIENTS is empty where the schedule does not split the backward pass, and so is LAST_WEIGHTS, that of the
# last microbatch; FIRST_FORWARD is of the first microbatch. ALONE_FORWARD and ALONE_BACKWARD are beside no other one.
FORWARD, BACKWARD, LAST_BACKWARD, FINAL, WEIGHT_GRADIENTS, FIRST_FORWARD, LAST_WEIGHTS = range(7)
ALONE_FORWARD, ALONE_BACKWARD, KINDS = range(7, 10)

# Learnt, `[segments + blocks, SPENT + categories]`: is it known; duration from idle to idle; time until it has sent;
# time by category [ps].
KNOWN, DURATION, UNTIL_SENT, SPENT = range(4)
UNKNOWN, CONSTANT, VARIES = range(3)

# Representative NPUs, `[stages, NPU_SPENT + categories]`: time; blocks played; history (see `histories`), and that up
# to which the state of its network has been played; time it waited for its inputs [ps]; time by category [ps].
CLOCK, PLAYED, HISTORY, SHOWN, BUBBLE, NPU_SPENT = range(6)

# Log, `[capacity, LOG_SIZE]`: level, stage, operator or block code, begin, end. Row 0 holds the number of rows used.
LOG_LEVEL, LOG_STAGE, LOG_CODE, LOG_BEGIN, LOG_END, LOG_SIZE = range(6)
LOG_ROWS_USED = 0
BLOCK_LEVEL, OPERATOR_LEVEL = range(2)


def pack_program(
    operators: Sequence[tuple[int, int, int]],
    segments: Sequence[tuple[int, int, int]],
    blocks: Sequence[tuple[int, int]],
    choices: Ints,
    updated_after: int = 0,
) -> Ints:
    """The program of all stages; `choices` `[stages, chunks, KINDS]` is the block of each kind.

    For `updated_after` see the header.
    """
    segments_at = OPERATORS_AT + len(operators) * OPERATOR_SIZE
    blocks_at = segments_at + len(segments) * SEGMENT_SIZE
    choices_at = blocks_at + len(blocks) * BLOCK_SIZE
    starts = (segments_at, blocks_at, choices_at)
    header = np.array([len(segments), len(blocks), choices.shape[1], updated_after, *starts], np.int64)
    rows = (flatten(operators), flatten(segments), flatten(blocks), choices.reshape(-1))
    return np.concatenate([header, *rows])


@inlined
def locate_operator(operator: int) -> int:
    """Where an operator lies."""
    return OPERATORS_AT + operator * OPERATOR_SIZE


@inlined
def locate_segment(program: Ints, segment: int) -> int:
    """Where a segment lies."""
    return int(program[SEGMENTS_AT] + segment * SEGMENT_SIZE)


@inlined
def locate_block(program: Ints, block: int) -> int:
    """Where a block lies."""
    return int(program[BLOCKS_AT] + block * BLOCK_SIZE)


@inlined
def locate_choice(program: Ints, stage: int, chunk: int) -> int:
    """Where the blocks of a stage's chunk lie."""
    return int(program[CHOICES_AT] + (stage * program[STAGE_CHUNKS] + chunk) * KINDS)


@inlined
def choose_kind(code: int, microbatches: int, updated_after: int, very_last: bool) -> int:
    """Which kind of block a code stands for; `very_last`: no other follows on its stage."""
    direction, microbatch = code & 1, code >> (CHUNK_SHIFT + 1)
    kind = direction * (BACKWARD + (microbatch == microbatches - 1) + very_last)  # FORWARD is 0
    if updated_after > 0:
        kind = direction * (FINAL if (microbatch + 1) % updated_after == 0 else BACKWARD)
    if (code >> 1) & ALONE > 0 and kind <= BACKWARD:
        kind = ALONE_BACKWARD if direction else ALONE_FORWARD
    if direction == 0 and microbatch == 0:
        kind = FIRST_FORWARD
    if (code >> 1) & WEIGHTS > 0:
        kind = WEIGHT_GRADIENTS
        if microbatch == microbatches - 1:
            kind = FINAL if very_last else LAST_WEIGHTS
    return int(kind)


@inlined
def choose_block(program: Ints, s: int, code: int, microbatches: int, very_last: bool) -> int:
    """The block of stage `s` that a code stands for; see `choose_kind`."""
    kind = choose_kind(code, microbatches, program[UPDATED_AFTER], very_last)
    return int(program[locate_choice(program, s, (code >> 1) & CHUNK_MASK) + kind])


@inlined
def note(log: Ints, level: int, stage: int, code: int, begin: int, end: int) -> None:
    """Write a row into the log while there is room."""
    if log.shape[0] > 0 and end > begin:
        n = log[0, LOG_ROWS_USED] + 1
        if n < log.shape[0]:
            log[n, LOG_LEVEL], log[n, LOG_STAGE], log[n, LOG_CODE] = level, stage, code
            log[n, LOG_BEGIN], log[n, LOG_END] = begin, end
            log[0, LOG_ROWS_USED] = n
