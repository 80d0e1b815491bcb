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

from simcore.compiled import compiled, merged
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
from simcore.engine.fast.itinerary import AT_STAGE, CHOICE, NOWHERE, SOURCE, TARGET
from simcore.engine.fast.queues import advance
from simcore.engine.fast.solo import rehearse
from simcore.engine.fast.state import ISSUES_AT, NOW, OUTSTANDING, STAGE, Ints
from simcore.engine.fast.tables import (
    BACKWARD,
    BLOCK_LEVEL,
    BLOCKING,
    BLOCKS,
    BUBBLE,
    CHOICES_AT,
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
    PLAYED,
    SEGMENTS,
    SENT,
    SHOWN,
    SPENT,
    STAGE_CHUNKS,
    START,
    UNTIL_SENT,
    WAIT,
    WEIGHT_GRADIENTS,
    note,
)

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
    "run",
]


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
def _spend_added(npus: Ints, program: Ints, added: Ints, known: Ints) -> None:
    """Count the time by category of the blocks that stages have only `added`, of which all is `known`."""
    of_stage = program[STAGE_CHUNKS] * KINDS
    for choice in range(added.shape[0]):
        if added[choice] > 0:
            s, block = choice // of_stage, program[program[CHOICES_AT] + choice]
            for category in range(npus.shape[1] - NPU_SPENT):
                npus[s, NPU_SPENT + category] += added[choice] * known[block, SPENT + category]


@merged
def _note_block(order: Ints, npus: Ints, log: Ints, s: int, begin: int) -> None:
    """Write the block into the log that stage `s` has just played."""
    if log.shape[0] > 0:
        note(log, BLOCK_LEVEL, s, order[s, npus[s, PLAYED]], begin, npus[s, CLOCK])
        npus[s, PLAYED] += 1


@compiled
def run(
    net: Ints, states: Ints, program: Ints, order: Ints, visits: NDArray[np.int32], done: Ints, npus: Ints, log: Ints
) -> Ints:
    """Play an iteration; what was learnt on the way (see `tables`).

    `order` `[stages, blocks]` lists each stage's blocks for the log, `visits` says in which order they are played (see
    `itinerary`). Fills `done`, when each block has sent, and `npus` (see `tables`): when each stage is done, its
    bubble, and its time by category [ps].
    """
    idle = states[0, : states[0, ISSUES_AT]].copy()
    rehearse(net, states[0])
    categories = npus.shape[1] - NPU_SPENT
    learnt = np.zeros((program[SEGMENTS] + program[BLOCKS], SPENT + categories), np.int64)
    added = np.zeros(npus.shape[0] * program[STAGE_CHUNKS] * KINDS, np.int64)  # how often a stage added what is known
    tree, nodes = plant(categories), 1
    for number in range(visits.shape[0]):
        s, choice, target = visits[number, AT_STAGE], visits[number, CHOICE], visits[number, TARGET]
        block = program[program[CHOICES_AT] + choice]
        before = npus[s, CLOCK]
        begin = max(before, done[visits[number, SOURCE]])
        npus[s, BUBBLE] += begin - before
        history, known = npus[s, HISTORY], program[SEGMENTS] + block
        if history == ROOT and learnt[known, KNOWN] == CONSTANT:
            sent = begin + learnt[known, UNTIL_SENT]
            npus[s, CLOCK] = begin + learnt[known, DURATION]
            added[choice] += 1
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
        _note_block(order, npus, log, s, begin)
        if target != NOWHERE:
            done[target] = sent
    _spend_added(npus, program, added, learnt[program[SEGMENTS] :])
    return learnt
