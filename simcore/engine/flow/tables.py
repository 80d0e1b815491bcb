"""The arrays of the global loop: what does not change of a run (the *plan*), and what does (the *play*).

Both are flat int64 arrays with a header, as those of the fast engine are (`simcore.engine.fast.state`), whose networks,
states and programs the loop plays: `nets[job]`, `states[class]`, `programs[program]`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcore.compiled import inlined
from simcore.program import Category

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
World = tuple[Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Floats]
"""All that the loop plays: nets `[jobs, …]`, states `[classes, …]`, programs `[programs, …]`, orders of blocks, plan,
play, what is learnt of segments `[programs, segments, SPENT + categories]`, and the flows with their numbers
(`rates`)."""

# Header of the plan: number of classes; most dimensions and types of collectives of a job; most iterations that a job
# is to play; microbatches and blocks of each stage in which the schedule of the one job repeats (0: not looked at);
# where the classes lie.
CLASSES, DIMENSIONS, TYPES, ITERATIONS, PERIOD, PERIOD_BLOCKS, CLASSES_AT, PLAN_HEADER = range(8)
# Classes: job; program; stage; where its blocks lie in order, and how many they are; microbatches, stages that hand
# inputs to each other (1: none do) and chunks of its job; where the places lie that a microbatch visits, and the
# virtual stage of each place, counted from 0; where lie the classes that get what it sends to each stage; where its
# ways lie, and where the phases of its network do; where lies which types of collectives are solos (`SOLO` …), and of
# which segments all collectives are such (`TO_PLAY` …); where its inputs lie in the play; where lies the stream of each
# way; which of its passages are those of others (-1: its passages are always played, see `passages`); iterations that
# are asked for of its job.
(
    JOB,
    PROGRAM,
    STAGE,
    ORDER_AT,
    LENGTH,
    MICROBATCHES,
    STAGES,
    CHUNKS,
    PATH_AT,
    ALONG_AT,
    RECEIVERS_AT,
    WAYS_AT,
    PHASES_AT,
    PRIVATE_AT,
    ADDABLE_AT,
    INPUTS_AT,
    STREAMS_AT,
    PATTERN,
    ASKED,
    CLASS_SIZE,
) = range(20)
# Ways, by phase of the network: its stream (-1: it shares no link), its row of classes (-1: all its peers are of the
# class itself), how many classes meet there, the number of the way, and how much longer its chunks fly than the network
# has it [ps].
STREAM, ROW, MEET, WAY, TAIL, WAY_SIZE = range(6)
# What a class needs of a segment: to be played, only to be added, to be played as it hands an input on, or to be played
# as a message to another stage.
TO_PLAY, TO_ADD, HANDS_ON, SENDS = range(4)
# How a class begins a collective of a type that is alone on its dimensions: it is played; it is a solo; it is a solo
# until it may meet somebody.
NO_SOLO, SOLO, SOLO_UNMET = range(3)

# Header of the play: where the tables lie; lists in use; free meetings and attendees, and those ever used; what a run
# counts.
MACHINES_AT, SERVICES_AT, SEQUENCES_AT, TREE_AT, LEAVES, TOUCHED_AT, MOVES_AT, STAMPS_AT = range(8)
TOUCHED, MOVES, BUCKETS_AT, BUCKETS, MEETINGS_AT, ATTENDEES_AT = range(8, 14)
FREE_MEETING, FREE_ATTENDEE, MEETINGS, ATTENDEES, ISSUES_ROOM, UNFINISHED, MACHINE_WIDTH = range(14, 21)
RECORDS_AT, SNAPSHOTS_AT, SNAPSHOT_ROOM, MARKED, EVENTS, JUMPED = range(21, 27)
PASSAGES_AT, PASSAGES_ROOM, RUNS_AT, RUNS_ROOM, RUNS_USED, NOTES_AT, NOTES_ROOM, USERS_AT = range(27, 35)
REPLAYS, SKIPPED, SKIPPERS, REPLAYED, COLLECTIVES_AT = range(35, 40)
# The log (`log`): where it lies, where the last row of each dimension of a class and of its blocks lies; rows there is
# room for (0: none is kept), rows used, and those that had no room.
LOG_AT, LOG_LAST_AT, LOG_ROOM, LOG_USED, LOG_LOST = range(40, 45)
# Repeats (`repeats`): where they lie, how wide they are, and room for a snapshot of one class.
REPEATED_AT, REPEATED_WIDTH, REPEATED_ROOM = range(45, 48)
# Passages that are known: where they lie, room for them, and how many there are. What is kept of networks
# (`in_flight`): where it lies, how much may be, and is.
ENTRIES_AT, ENTRIES_ROOM, ENTRIES, KEPT_AT, KEPT_ROOM, KEPT = range(48, 54)
# Until when a class is played again.
REPLAY_TO, PLAY_HEADER = range(54, 56)
# Machines, per class: the next block in order; block, segment and operator that are played; repeats left of the
# segment; what it does now (`MODE`); until when, if it computes; work left, since when, and at what level, if it may
# be slowed meanwhile; class of collectives that it waits for; when it began what it does, and as what the time counts
# (-1: it is counted already); whether it has a block; iterations that it played, and end of the last one; time it
# waited for inputs; then time by category, and by dimension what services took beyond their serialization [ps].
(
    POSITION,
    SEGMENT,
    SEGMENT_END,
    OPERATOR,
    REPEAT,
    MODE,
    UNTIL,
    WORK,
    SINCE,
    LEVEL,
    AWAITED,
    BEGIN,
    CATEGORY,
    PLAYED,
    FINISH,
    BUBBLE,
    SPENT,
) = range(17)
STRETCH = SPENT + len(Category)
GOES_ON, COMPUTES, COMPUTES_BESIDE, WAITS, RECEIVES, FINISHED, SKIPS, GATHERS, ADDS = range(9)
# Notes, per class, on passages (`passages`): the one that it waits for; of the one that is recorded its first segment
# and 1 (0: none is), when it began, whether another stream slowed one of it, runs so far, how often queues picked, and
# where it lies what it found in flight; time by category before; the run of each dimension that serves a stream (-1:
# none does); then the runs.
AWAITED_PASSAGE, RECORDED, RECORD_BEGIN, DISTURBED, RUNS, PICKS, KEPT_BEGIN, SPENT_BEFORE = range(8)
OPEN_RUN = SPENT_BEFORE + len(Category)
# Runs of a passage, by when they begin: from when and to when after its beginning which way is served [ps]; the latest
# end of this run and those before it.
RUN_FROM, RUN_TO, RUN_WAY, RUN_REACH, RUN_SIZE = range(5)
# Passages: where the next one lies of the same pattern and segment (0: there is none); time; its first run and how many
# there are; how many *spans* follow these, which are runs too: one for each way, from its first run to the end of its
# last one; where lies what it found and left in flight (0: nothing, at either end); time by category. Of each pattern
# and segment it is noted where the first one lies: 0 where none is known, `UNWORTHY` where none shall be. Collectives,
# per job and type, are passages too.
P_NEXT, P_DURATION, P_FIRST, P_RUNS, P_SPANS, P_BEGIN, P_END, P_SPENT = range(8)
UNWORTHY = -1
PASSAGE_SIZE = P_SPENT + len(Category)
# Repeats, per class: position, segment and repeats left at the end of the last one; when that was; length of the
# snapshot of it (-1: none), and which of two has it; whether others slowed it; what it took; time by category at its
# end, and what it spent; how many ways over shared links it served, and which; then the snapshots.
R_POSITION, R_SEGMENT, R_REPEAT, R_TIME, R_LENGTH, R_TURN, R_SLOWED, R_TOOK, R_SPENT = range(9)
R_WAYS = R_SPENT + 2 * len(Category)
# Services, per class and dimension: stream (-1: none that shares a link), what is left of it [ps alone], since when
# that is so, when it began.
ITS_STREAM, REMAINING, FROM, BEGAN, SERVICE_SIZE = range(5)
# Meetings: row, type, issue, chunk and phase, attendees so far, the first of them, the next meeting of its bucket.
M_ROW, M_TYPE, M_ISSUE, M_PART, M_COUNT, M_FIRST, M_NEXT, MEETING_SIZE = range(8)
# Rows of the log: what kind it is, class, what it was (block, operator, way), begin, end, pace (`log.PACES`).
ROW_LEVEL, ROW_CLASS, ROW_WHAT, ROW_BEGIN, ROW_END, ROW_PACE, LOG_WIDTH = range(7)
# Attendees: class, task, phase, the next one.
A_CLASS, A_TASK, A_PHASE, A_NEXT, ATTENDEE_SIZE = range(5)


@inlined
def mix(key: int, value: int) -> int:
    """A hash of 31 bits of two numbers."""
    mixed = ((key ^ value) & 0x7FFFFFFF) * 0x5E3779B1
    return int((mixed ^ (mixed >> 29)) & 0x7FFFFFFF)


@inlined
def locate_class(plan: Ints, c: int) -> int:
    """Where a class lies in the plan."""
    return int(plan[CLASSES_AT] + c * CLASS_SIZE)


@inlined
def locate_machine(play: Ints, c: int) -> int:
    """Where it lies what a class does."""
    return int(play[MACHINES_AT] + c * play[MACHINE_WIDTH])


@inlined
def locate_sequences(plan: Ints, play: Ints, c: int) -> int:
    """Offset of a class's sequence numbers: one for each issued collective, then the next free one of each type."""
    return int(play[SEQUENCES_AT] + c * (play[ISSUES_ROOM] + plan[TYPES]))


@inlined
def locate_service(plan: Ints, play: Ints, c: int, d: int) -> int:
    """Where it lies what dimension `d` of a class serves."""
    return int(play[SERVICES_AT] + (c * plan[DIMENSIONS] + d) * SERVICE_SIZE)


@inlined
def locate_way(plan: Ints, its: int, phase: int, phase_size: int) -> int:
    """Where the way of a phase of the class at `its` lies."""
    return int(plan[its + WAYS_AT] + (phase - plan[its + PHASES_AT]) // phase_size * WAY_SIZE)


@inlined
def stream_of_way(plan: Ints, its: int, way: int) -> int:
    """The stream of a way of the class at `its`; -1 where it shares no link."""
    return int(plan[plan[its + STREAMS_AT] + way * WAY_SIZE + STREAM])


@inlined
def locate_notes(play: Ints, c: int) -> int:
    """Where the notes of a class lie."""
    return int(play[NOTES_AT] + c * play[NOTES_ROOM])


@inlined
def locate_repeated(play: Ints, c: int) -> int:
    """Where it lies what is known of the last repeat of a class."""
    return int(play[REPEATED_AT] + c * play[REPEATED_WIDTH])


@inlined
def locate_repeated_snapshot(play: Ints, c: int, turn: int) -> int:
    """Where one of the two snapshots of repeats of a class lies."""
    return int(locate_repeated(play, c) + play[REPEATED_WIDTH] - (2 - turn) * play[REPEATED_ROOM])


@inlined
def locate_passages(plan: Ints, play: Ints, its: int, segment: int) -> int:
    """Offset of the pointer to the first passage that begins with a segment, of the class at `its`."""
    return int(play[PASSAGES_AT] + plan[its + PATTERN] * play[PASSAGES_ROOM] + segment)


@inlined
def locate_collective(plan: Ints, play: Ints, its: int, kind: int) -> int:
    """Where the type of collective `kind` of the class at `its` lies as a passage."""
    return int(play[COLLECTIVES_AT] + (plan[its + JOB] * plan[TYPES] + kind) * PASSAGE_SIZE)


@inlined
def touch(play: Ints, c: int) -> None:
    """Note that something happens to a class now."""
    stamp = play[STAMPS_AT] + 2 * c
    if play[stamp] == 0:
        play[stamp] = 1
        play[play[TOUCHED_AT] + play[TOUCHED]] = c
        play[TOUCHED] += 1


@inlined
def let_move(play: Ints, c: int) -> None:
    """Note that the program of a class may go on now."""
    touch(play, c)
    stamp = play[STAMPS_AT] + 2 * c + 1
    if play[stamp] == 0:
        play[stamp] = 1
        play[play[MOVES_AT] + play[MOVES]] = c
        play[MOVES] += 1


@inlined
def set_time(play: Ints, c: int, time: int) -> None:
    """Note when something happens to a class next; the tree's root has the earliest time of all."""
    node = play[LEAVES] + c
    tree = play[TREE_AT]
    play[tree + node] = time
    while node > 1:
        node >>= 1
        least = min(play[tree + 2 * node], play[tree + 2 * node + 1])
        if play[tree + node] == least:
            break
        play[tree + node] = least


@inlined
def touch_due(play: Ints, time: int) -> None:
    """Touch every class to which something happens at `time`, the earliest time of all."""
    tree, leaves = play[TREE_AT], play[LEAVES]
    node = 1
    while True:
        if play[tree + node] == time and node < leaves:
            node *= 2
            continue
        if play[tree + node] == time:
            let_move(play, node - leaves)
        while node & 1 and node > 1:
            node >>= 1
        if node <= 1:
            break
        node += 1
