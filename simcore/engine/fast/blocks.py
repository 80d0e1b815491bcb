"""What a stage does for one microbatch and one direction, as a compiled loop beside `NpuProcess` of the reference.

Beside playing operators it adds what it knows: what starts and ends on an idle network always takes the same time, and
a repeat that leaves in flight just what the repeat before it left will go on so.
"""

from __future__ import annotations

import numpy as np

from simcore.compiled import borrowing, inlined, merged
from simcore.engine.fast.computation import compute
from simcore.engine.fast.queues import wait
from simcore.engine.fast.snapshot import are_equal, shift, take_snapshot
from simcore.engine.fast.solo import start
from simcore.engine.fast.state import NOW, OUTSTANDING, STAGE, Ints
from simcore.engine.fast.tables import (
    ARGUMENT,
    BLOCKING,
    CODE,
    COMPUTE,
    CONSTANT,
    DURATION,
    END_OPERATOR,
    END_SEGMENT,
    FIRST_OPERATOR,
    FIRST_SEGMENT,
    KNOWN,
    OPERATOR_LEVEL,
    OTHER,
    REPEATS,
    SEGMENTS,
    SPENT,
    START,
    UNKNOWN,
    UNTIL_SENT,
    VARIES,
    WAIT,
    locate_block,
    locate_operator,
    locate_segment,
    note,
)

BLOCKING_CLASS = 0


@borrowing
def play_segment(net: Ints, state: Ints, program: Ints, segment: int, spent: Ints, log: Ints) -> int:
    """Play one segment once; the time at which it sent, or -1."""
    sent = -1
    its = locate_segment(program, segment)
    for i in range(program[its + FIRST_OPERATOR], program[its + END_OPERATOR]):
        operator = locate_operator(i)
        code, argument, other = program[operator + CODE], program[operator + ARGUMENT], program[operator + OTHER]
        begin = state[NOW]
        if code == COMPUTE:
            compute(net, state, argument)
            spent[other] += state[NOW] - begin
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
        note(log, OPERATOR_LEVEL, state[STAGE], i, begin, state[NOW])
    return int(sent)


@inlined
def _learn(state: Ints, known: Ints, begin: int, before: Ints, spent: Ints) -> None:
    """Note what it took that began on an idle network when `before` was spent: the same always, or nothing."""
    if known[KNOWN] == UNKNOWN:
        known[KNOWN] = CONSTANT if state[OUTSTANDING] == 0 else VARIES
        known[DURATION] = state[NOW] - begin
        for category in range(spent.shape[0]):
            known[SPENT + category] = spent[category] - before[category]


@merged
def _play_repeats(net: Ints, state: Ints, program: Ints, segment: int, learnt: Ints, spent: Ints, log: Ints) -> int:
    """Play one segment as often as it repeats, or add what is known of that; the time at which it sent, or -1."""
    sent = -1
    left = program[locate_segment(program, segment) + REPEATS]
    earlier, length = np.empty(0, np.int64), -1
    while left > 0:
        idle = state[OUTSTANDING] == 0
        if idle and learnt[segment, KNOWN] == CONSTANT and log.shape[0] == 0:
            state[NOW] += left * learnt[segment, DURATION]
            spent += left * learnt[segment, SPENT:]
            break
        begin = state[NOW]
        before = spent.copy()
        sent = play_segment(net, state, program, segment, spent, log)
        left -= 1
        if idle and sent < 0:
            _learn(state, learnt[segment], begin, before, spent)
        if left > 0 and state[OUTSTANDING] > 0 and log.shape[0] == 0:
            # In flight as at the end of the repeat before: so will all the repeats be that are left.
            if earlier.shape[0] == 0:
                earlier, latest = np.empty(state.shape[0], np.int64), np.empty(state.shape[0], np.int64)
            written = take_snapshot(net, state, latest)
            if written == length and are_equal(earlier, latest, length):
                shift(net, state, left * (state[NOW] - begin))
                spent += left * (spent - before)
                break
            earlier, latest = latest, earlier
            length = written
        else:
            length = -1
    return int(sent)


@merged
def play_block(net: Ints, state: Ints, program: Ints, block: int, learnt: Ints, spent: Ints, log: Ints) -> int:
    """Play one block, and learn what it takes where it starts and ends idle; the time at which it sent."""
    begin = state[NOW]
    idle = state[OUTSTANDING] == 0
    before = spent.copy()
    sent = begin
    its = locate_block(program, block)
    for segment in range(program[its + FIRST_SEGMENT], program[its + END_SEGMENT]):
        sent = max(sent, _play_repeats(net, state, program, segment, learnt, spent, log))
    if idle:
        known = learnt[program[SEGMENTS] + block]
        if known[KNOWN] == UNKNOWN:
            known[UNTIL_SENT] = sent - begin
        _learn(state, known, begin, before, spent)
    return int(sent)
