"""A training iteration as a compiled loop: blocks of a pipeline schedule, each a program of one representative NPU.

A *block* is what a stage does for one microbatch and one direction: segments (a layer, the embedding, the head) that
repeat, then the send to the next stage; the last backward block also carries the reduction of gradients, the optimizer
step, and what follows. All NPUs of a stage do the same, so one of them and one queue per dimension is exact. It does
what `reference.npu.NpuProcess.play` does: it takes the block that is due, receives, runs (`blocks`) and sends.

What starts on an idle network and ends on an idle network always takes the same time; such segments and blocks are
played once and then only added. So does a collective while it shares no dimension with anything outstanding,
and a repeat that leaves in flight just what the repeat before it left. Everything else is played event by event, for
one of the stages that did the same since their networks were idle (`histories`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcore.compiled import compiled, inlined, merged
from simcore.engine.fast.blocks import play_block
from simcore.engine.fast.histories import (
    BLOCK,
    ENDS_IDLE,
    PAUSE,
    ROOT,
    SENT_AFTER,
    SPENT_BY,
    TOOK,
    add,
    find,
    list_path,
    make_room,
    measure,
    plant,
)
from simcore.engine.fast.queues import advance
from simcore.engine.fast.solo import rehearse
from simcore.engine.fast.state import ISSUES_AT, NOW, OUTSTANDING, STAGE, Ints
from simcore.engine.fast.tables import (
    ALONE_BACKWARD,
    ALONE_FORWARD,
    BACKWARD,
    BLOCK_LEVEL,
    BLOCKING,
    BLOCKS,
    BUBBLE,
    CLOCK,
    COMPUTE,
    CONSTANT,
    DURATION,
    FINAL,
    FIRST_FORWARD,
    FORWARD,
    HISTORY,
    KINDS,
    KNOWN,
    LAST_BACKWARD,
    LAST_WEIGHTS,
    NPU_SPENT,
    OPERATOR_LEVEL,
    PATH_AT,
    PLAYED,
    SEGMENTS,
    SENT,
    SHOWN,
    SPENT,
    START,
    UNTIL_SENT,
    UPDATED_AFTER,
    WAIT,
    WEIGHT_GRADIENTS,
    locate_choice,
    note,
)
from simcore.schedule.base import ALONE, CHUNK_MASK, CHUNK_SHIFT, WEIGHTS

__all__ = [
    "BACKWARD",
    "BLOCKING",
    "BLOCK_LEVEL",
    "COMPUTE",
    "FINAL",
    "FIRST_FORWARD",
    "FORWARD",
    "KINDS",
    "LAST_BACKWARD",
    "LAST_WEIGHTS",
    "OPERATOR_LEVEL",
    "SENT",
    "START",
    "WAIT",
    "WEIGHT_GRADIENTS",
    "choose_block",
    "run",
]


@inlined
def choose_block(program: Ints, s: int, code: int, microbatches: int, very_last: bool) -> int:
    """The block of stage `s` that a code stands for; `very_last`: no other follows on this stage."""
    direction, microbatch = code & 1, code >> (CHUNK_SHIFT + 1)
    kind = direction * (BACKWARD + (microbatch == microbatches - 1) + very_last)  # FORWARD is 0
    if program[UPDATED_AFTER] > 0:
        kind = direction * (FINAL if (microbatch + 1) % program[UPDATED_AFTER] == 0 else BACKWARD)
    if (code >> 1) & ALONE > 0 and kind <= BACKWARD:
        kind = ALONE_BACKWARD if direction else ALONE_FORWARD
    if direction == 0 and microbatch == 0:
        kind = FIRST_FORWARD
    if (code >> 1) & WEIGHTS > 0:
        kind = WEIGHT_GRADIENTS
        if microbatch == microbatches - 1:
            kind = FINAL if very_last else LAST_WEIGHTS
    return int(program[locate_choice(program, s, (code >> 1) & CHUNK_MASK) + kind])


@inlined
def _count_virtual_stage(npus: Ints, along: Ints, s: int, code: int) -> int:
    """The virtual stage of a block of stage `s`, counted from 1; `along` has that of every place."""
    return int(along[((code >> 1) & CHUNK_MASK) * npus.shape[0] + s])


@merged
def _receive(npus: Ints, done: Ints, along: Ints, s: int, code: int) -> int:
    """Wait for the input of a block, which weight gradients do not need; the time at which the block begins."""
    begin = npus[s, CLOCK]
    if (code >> 1) & WEIGHTS == 0:
        direction, microbatch = code & 1, code >> (CHUNK_SHIFT + 1)
        source = _count_virtual_stage(npus, along, s, code) - 1 + 2 * direction
        begin = max(begin, done[direction, microbatch, source])
        npus[s, BUBBLE] += begin - npus[s, CLOCK]
    return int(begin)


@merged
def _send(npus: Ints, done: Ints, along: Ints, s: int, code: int, sent: int) -> None:
    """Give the next virtual stage its input at the time `sent`; weight gradients go nowhere."""
    if (code >> 1) & WEIGHTS == 0:
        done[code & 1, code >> (CHUNK_SHIFT + 1), _count_virtual_stage(npus, along, s, code)] = sent


@merged
def _play_missed(net: Ints, state: Ints, program: Ints, learnt: Ints, tree: Ints, missed: Ints, log: Ints) -> None:
    """Play the blocks of a history that the state of a stage has `missed`, and note what each of them takes."""
    for node in missed:
        advance(net, state, state[NOW] + tree[node, PAUSE])
        begin = state[NOW]
        took = tree[node, SPENT_BY:]
        took[:] = 0
        sent = play_block(net, state, program, tree[node, BLOCK], learnt, took, log)
        tree[node, SENT_AFTER], tree[node, TOOK] = sent - begin, state[NOW] - begin
        tree[node, ENDS_IDLE] = state[OUTSTANDING] == 0


@merged
def _wake(state: Ints, s: int, idle: Ints, now: int) -> None:
    """Make the state of stage `s` that of an idle network at `now`."""
    for i in range(idle.shape[0]):
        state[i] = idle[i]
    state[STAGE], state[NOW] = s, now


@merged
def _follow(npus: Ints, s: int, tree: Ints, node: int, begin: int) -> None:
    """Let stage `s` go where the history `node` goes, whose block begins at `begin`."""
    npus[s, CLOCK] = begin + tree[node, TOOK]
    for category in range(npus.shape[1] - NPU_SPENT):
        npus[s, NPU_SPENT + category] += tree[node, SPENT_BY + category]
    npus[s, HISTORY] = node
    if tree[node, ENDS_IDLE]:
        npus[s, HISTORY] = npus[s, SHOWN] = ROOT


@merged
def _spend_added(npus: Ints, added: Ints, known: Ints) -> None:
    """Count the time by category of the blocks that stages have only `added`, of which all is `known`."""
    for s in range(added.shape[0]):
        for block in range(added.shape[1]):
            if added[s, block] > 0:
                for category in range(npus.shape[1] - NPU_SPENT):
                    npus[s, NPU_SPENT + category] += added[s, block] * known[block, SPENT + category]


@compiled
def run(
    net: Ints,
    states: Ints,
    program: Ints,
    order: Ints,
    sequence: NDArray[np.int32],
    done: Ints,
    npus: Ints,
    log: Ints,
) -> Ints:
    """Play an iteration; what was learnt on the way (see `tables`).

    `order` `[stages, blocks]` lists each stage's blocks, `sequence` the stages in an order in which their next block
    always has its input. Fills `done` `[2, microbatches, virtual stages + 2]`, the time at which each block has sent
    (the first and last column stay 0: what comes from outside the pipeline is there), and `npus` (see `tables`): when
    each stage is done, its bubble, and its time by category [ps].
    """
    idle = states[0, : states[0, ISSUES_AT]].copy()
    rehearse(net, states[0])
    categories = npus.shape[1] - NPU_SPENT
    learnt = np.zeros((program[SEGMENTS] + program[BLOCKS], SPENT + categories), np.int64)
    added = np.zeros((npus.shape[0], program[BLOCKS]), np.int64)  # how often a stage added a block that is constant
    tree, nodes = plant(categories), 1
    along = np.empty(program.shape[0] - program[PATH_AT], np.int64)
    for k in range(along.shape[0]):
        along[program[program[PATH_AT] + k]] = k + 1
    for s in sequence:
        code = order[s, npus[s, PLAYED]]
        npus[s, PLAYED] += 1
        block = choose_block(program, s, code, done.shape[1], npus[s, PLAYED] == order.shape[1])
        before = npus[s, CLOCK]
        begin = _receive(npus, done, along, s, code)
        history, known = npus[s, HISTORY], program[SEGMENTS] + block
        if history == ROOT and learnt[known, KNOWN] == CONSTANT:
            sent = begin + learnt[known, UNTIL_SENT]
            npus[s, CLOCK] = begin + learnt[known, DURATION]
            added[s, block] += 1
        else:
            pause = begin - before if history != ROOT else 0
            node = find(tree, history, block, pause) if log.shape[0] == 0 else -1
            if node < 0:
                node, nodes = nodes, nodes + 1
                tree = make_room(tree, node)
                add(tree, node, history, block, pause)
                missed = list_path(tree, npus[s, SHOWN], node)
                if npus[s, SHOWN] == ROOT:
                    _wake(states[s], s, idle, begin - measure(tree, missed))
                _play_missed(net, states[s], program, learnt, tree, missed, log)
                npus[s, SHOWN] = node
            sent = begin + tree[node, SENT_AFTER]
            _follow(npus, s, tree, node, begin)
        note(log, BLOCK_LEVEL, s, code, begin, npus[s, CLOCK])
        _send(npus, done, along, s, code, sent)
    _spend_added(npus, added, learnt[program[SEGMENTS] :])
    return learnt
