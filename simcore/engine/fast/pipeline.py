"""A training iteration as a compiled loop: blocks of a pipeline schedule, each a program of one representative NPU.

A *block* is what a stage does for one microbatch and one direction: segments (a layer, the embedding, the head) that
repeat, then the send to the next stage; the last backward block also carries the reduction of gradients, the optimizer
step, and what follows. All NPUs of a stage do the same, so one of them and one queue per dimension is exact.

What starts on an idle network and ends on an idle network always takes the same time; such segments and blocks are
played once and then only added. So does a collective while it shares no dimension with anything outstanding,
and a repeat that leaves in flight just what the repeat before it left. Everything else is played event by event, for
one of the stages that did the same since their networks were idle (`histories`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcore.compiled import compiled, inlined
from simcore.engine.fast.histories import (
    BLOCK,
    ENDS_IDLE,
    PAUSE,
    ROOT,
    SENT_AFTER,
    SPENT_BY,
    TOOK,
    add,
    found,
    path,
    planted,
    with_room,
)
from simcore.engine.fast.queues import advance, wait
from simcore.engine.fast.snapshot import normalized, shift
from simcore.engine.fast.solo import rehearse, start
from simcore.engine.fast.state import ISSUES_AT, NOW, OUTSTANDING, Ints
from simcore.schedule.base import CHUNK_SHIFT, WEIGHTS

BLOCKING_CLASS = 0

# Operators, `[operators, 3]`: COMPUTE (duration [ps], category), BLOCKING (type of collective, category), START (type,
# class), WAIT (class, category), SENT.
COMPUTE, BLOCKING, START, WAIT, SENT = range(5)
# Segments, `[segments, 3]`: first operator, end, repeats. Blocks, `[blocks, 2]`: first segment, end.

# Learnt, one row per segment or block, `[…, SPENT + categories]`: is it known; duration from idle to idle; time until
# it has sent; time by category.
KNOWN, DURATION, UNTIL_SENT, SPENT = range(4)
UNKNOWN, CONSTANT, VARIES = range(3)

# Programs of a stage's blocks, `[stages, chunks, KINDS]`; FINAL is that of the very last block, in chunk 0;
# WEIGHT_GRADIENTS is empty where the schedule does not split the backward pass; FIRST_FORWARD is of the first
# microbatch.
FORWARD, BACKWARD, LAST_BACKWARD, FINAL, WEIGHT_GRADIENTS, FIRST_FORWARD, KINDS = range(7)

# Log, `[capacity, 5]`: level, stage, operator or block code, begin, end. Row 0 holds the number of rows used.
BLOCK_LEVEL, OPERATOR_LEVEL = range(2)


@inlined
def _note(log: Ints, level: int, stage: int, what: int, begin: int, end: int) -> None:
    if log.shape[0] > 0 and end > begin:
        n = log[0, 0] + 1
        if n < log.shape[0]:
            log[n, 0], log[n, 1], log[n, 2], log[n, 3], log[n, 4] = level, stage, what, begin, end
            log[0, 0] = n


@compiled
def _play_segment(
    net: Ints, state: Ints, stage: int, operators: Ints, first: int, end: int, spent: Ints, log: Ints
) -> int:
    """Play one segment once; the time at which it sent, or -1."""
    sent = -1
    for i in range(first, end):
        code, argument, other = operators[i, 0], operators[i, 1], operators[i, 2]
        begin = state[NOW]
        if code == COMPUTE:
            advance(net, state, begin + argument)
            spent[other] += argument
        elif code == BLOCKING:
            start(net, state, argument, BLOCKING_CLASS)
            wait(net, state, BLOCKING_CLASS)
            spent[other] += state[NOW] - begin
        elif code == START:
            start(net, state, argument, other)
        elif code == WAIT:
            wait(net, state, argument)
            spent[other] += state[NOW] - begin
        else:
            sent = begin
        _note(log, OPERATOR_LEVEL, stage, i, begin, state[NOW])
    return int(sent)


@inlined
def same(a: Ints, b: Ints, length: int) -> bool:
    """Whether the first `length` numbers of two arrays are equal."""
    equal = True
    for i in range(length):
        if a[i] != b[i]:
            equal = False
            break
    return equal


@compiled
def _play_block(
    net: Ints,
    state: Ints,
    stage: int,
    operators: Ints,
    segments: Ints,
    blocks: Ints,
    block: int,
    known_segments: Ints,
    known_blocks: Ints,
    spent: Ints,
    log: Ints,
) -> int:
    """Play one block, and learn what it takes where it starts and ends idle; the time at which it sent."""
    begin = state[NOW]
    idle_before = state[OUTSTANDING] == 0
    before = spent.copy()
    so_far = np.empty_like(spent)
    sent = begin
    for segment in range(blocks[block, 0], blocks[block, 1]):
        left = segments[segment, 2]
        earlier, length = np.empty(0, np.int64), -1
        while left > 0:
            idle = state[OUTSTANDING] == 0
            if idle and known_segments[segment, KNOWN] == CONSTANT and log.shape[0] == 0:
                state[NOW] += left * known_segments[segment, DURATION]
                spent += left * known_segments[segment, SPENT:]
                break
            since = state[NOW]
            so_far[:] = spent
            first, end = segments[segment, 0], segments[segment, 1]
            at = _play_segment(net, state, stage, operators, first, end, spent, log)
            left -= 1
            if at >= 0:
                sent = at
            elif idle and known_segments[segment, KNOWN] == UNKNOWN:
                known_segments[segment, KNOWN] = CONSTANT if state[OUTSTANDING] == 0 else VARIES
                known_segments[segment, DURATION] = state[NOW] - since
                known_segments[segment, SPENT:] = spent - so_far
            if left > 0 and state[OUTSTANDING] > 0 and log.shape[0] == 0:
                # In flight as at the end of the repeat before: so will all the repeats be that are left.
                if earlier.shape[0] == 0:
                    earlier, latest = np.empty(state.shape[0], np.int64), np.empty(state.shape[0], np.int64)
                written = normalized(net, state, latest)
                if written == length and same(earlier, latest, length):
                    period = state[NOW] - since
                    shift(net, state, left * period)
                    spent += left * (spent - so_far)
                    break
                earlier, latest = latest, earlier
                length = written
            else:
                length = -1
    if idle_before and known_blocks[block, KNOWN] == UNKNOWN:
        known_blocks[block, KNOWN] = CONSTANT if state[OUTSTANDING] == 0 else VARIES
        known_blocks[block, DURATION] = state[NOW] - begin
        known_blocks[block, UNTIL_SENT] = sent - begin
        known_blocks[block, SPENT:] = spent - before
    return int(sent)


@compiled
def _catch_up(
    net: Ints,
    state: Ints,
    stage: int,
    operators: Ints,
    segments: Ints,
    blocks: Ints,
    known_segments: Ints,
    known_blocks: Ints,
    tree: Ints,
    missed: Ints,
    clock: int,
    log: Ints,
) -> None:
    """Play the blocks of a history that the state of a stage has `missed`, so that it is that of time `clock`."""
    for node in missed:
        clock -= tree[node, PAUSE] + tree[node, TOOK]
    if state[OUTSTANDING] == 0:
        state[NOW] = clock
    again = np.zeros(tree.shape[1] - SPENT_BY, np.int64)  # counted when they were played first
    for node in missed:
        advance(net, state, state[NOW] + tree[node, PAUSE])
        block = tree[node, BLOCK]
        _play_block(net, state, stage, operators, segments, blocks, block, known_segments, known_blocks, again, log)


@compiled
def run(
    net: Ints,
    states: Ints,
    operators: Ints,
    segments: Ints,
    blocks: Ints,
    known_segments: Ints,
    known_blocks: Ints,
    order: Ints,
    sequence: NDArray[np.int32],
    programs: Ints,
    done: Ints,
    spent: Ints,
    bubble: Ints,
    log: Ints,
) -> None:
    """Play an iteration.

    `order` `[stages, blocks]` lists each stage's blocks, `sequence` the stages in an order in which their next block
    always has its input (see `simcore.schedule`). Fills `done` `[2, microbatches, virtual stages + 2]`, the time at
    which each block has sent (the first and last column stay 0: what comes from outside the pipeline is there), `spent`
    `[stages, categories]` and `bubble` `[stages]`, the time each stage waited for its input [ps]; the time at which a
    stage is done is `states[stage, NOW]`.
    """
    blank = states[0, : states[0, ISSUES_AT]].copy()
    rehearse(net, states[0])
    stages, length = order.shape
    last = done.shape[1] - 1
    times = np.zeros((stages, blocks.shape[0]), np.int64)
    position = np.zeros(stages, np.int64)
    # A stage's time and history, side by side: its state is pages away, and that of the history up to `shown`.
    clock = np.zeros(stages, np.int64)
    history = np.full(stages, ROOT)
    shown = np.full(stages, ROOT)
    tree, nodes = planted(spent.shape[1]), 1
    for s in sequence:
        at = position[s]
        code = order[s, at]
        position[s] = at + 1
        direction = code & 1
        chunk = (code >> 1) & (WEIGHTS - 1)
        weights = (code >> 1) & WEIGHTS > 0
        microbatch = code >> (CHUNK_SHIFT + 1)
        stage = chunk * stages + s + 1
        begin = clock[s]
        kind = direction * (BACKWARD + (microbatch == last) + (at == length - 1))  # FORWARD is 0
        if direction == 0 and microbatch == 0:
            kind = FIRST_FORWARD
        if weights:
            kind = FINAL if at == length - 1 else WEIGHT_GRADIENTS
        else:
            begin = max(begin, done[direction, microbatch, stage - 1 + 2 * direction])
            bubble[s] += begin - clock[s]
        block = programs[s, chunk, kind]
        if history[s] == ROOT and known_blocks[block, KNOWN] == CONSTANT:
            sent = begin + known_blocks[block, UNTIL_SENT]
            clock[s] = begin + known_blocks[block, DURATION]
            times[s, block] += 1
        else:
            pause = begin - clock[s] if history[s] != ROOT else 0
            node = found(tree, history[s], block, pause) if log.shape[0] == 0 else -1
            if node < 0:
                state = states[s]
                if shown[s] == ROOT:
                    state[: blank.shape[0]] = blank
                _catch_up(
                    net,
                    state,
                    s,
                    operators,
                    segments,
                    blocks,
                    known_segments,
                    known_blocks,
                    tree,
                    path(tree, shown[s], history[s]),
                    clock[s],
                    log,
                )
                advance(net, state, begin)
                node, nodes = nodes, nodes + 1
                tree = with_room(tree, node)
                add(tree, node, history[s], block, pause)
                took = tree[node, SPENT_BY:]
                took[:] = 0
                tree[node, SENT_AFTER] = (
                    _play_block(
                        net,
                        state,
                        s,
                        operators,
                        segments,
                        blocks,
                        block,
                        known_segments,
                        known_blocks,
                        took,
                        log,
                    )
                    - begin
                )
                tree[node, TOOK] = state[NOW] - begin
                tree[node, ENDS_IDLE] = state[OUTSTANDING] == 0
                shown[s] = node
            sent = begin + tree[node, SENT_AFTER]
            clock[s] = begin + tree[node, TOOK]
            spent[s] += tree[node, SPENT_BY:]
            history[s] = node
            if tree[node, ENDS_IDLE]:
                history[s] = shown[s] = ROOT
        _note(log, BLOCK_LEVEL, s, code, begin, clock[s])
        if not weights:
            done[direction, microbatch, stage] = sent
    for s in range(stages):
        states[s, NOW] = clock[s]
        for played in range(blocks.shape[0]):
            if times[s, played] > 0:
                spent[s] += times[s, played] * known_blocks[played, SPENT:]
