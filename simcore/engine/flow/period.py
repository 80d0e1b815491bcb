"""The steady phase of a pipeline: what all classes do repeats, so what is left of it is added and not played.

Between two blocks of the first class that are one period of the schedule apart everything is compared that the future
depends on, times from now. If it is equal, and the blocks of every stage go on as they did, the run goes on so too:
it is moved by as many periods as the schedule's steady phase still has.
"""

from __future__ import annotations

from simcore.compiled import borrowing, inlined
from simcore.engine.fast.snapshot import are_equal, shift, take_snapshot
from simcore.engine.fast.state import CARRY_AT, LEVELS, NEVER, NOW, OUTSTANDING, Ints
from simcore.engine.fast.tables import choose_block
from simcore.engine.flow.tables import (
    ADDS,
    AWAITED_PASSAGE,
    BEGAN,
    BEGIN,
    BUBBLE,
    CATEGORY,
    CHUNKS,
    CLASSES,
    COMPUTES,
    COMPUTES_BESIDE,
    DIMENSIONS,
    FINISHED,
    FROM,
    GOES_ON,
    INPUTS_AT,
    ITS_STREAM,
    JOB,
    JUMPED,
    LEAVES,
    LENGTH,
    MACHINE_WIDTH,
    MARKED,
    MICROBATCHES,
    MODE,
    ORDER_AT,
    PERIOD,
    PERIOD_BLOCKS,
    POSITION,
    PROGRAM,
    R_LENGTH,
    R_TOOK,
    RECORDED,
    REMAINING,
    SINCE,
    SKIPS,
    SNAPSHOT_ROOM,
    SNAPSHOTS_AT,
    STAGE,
    STAGES,
    TREE_AT,
    UNTIL,
    World,
    locate_class,
    locate_machine,
    locate_notes,
    locate_repeated,
    locate_service,
    set_time,
)
from simcore.schedule.base import CHUNK_SHIFT

# Snapshots, in turn: length, time, then the machines as they were, then what the future depends on.
LENGTH_OF, TIME_OF, MACHINES_OF = range(3)
KEPT = 16
"""Snapshots that a new one is compared with: where queues take turns a state is met again after several periods."""


@inlined
def _write_machine(play: Ints, m: int, out: Ints, n: int, ahead: int) -> int:
    """Write what a class does, its position from `ahead` and times from now (`out[TIME_OF]`); the length so far."""
    now = out[TIME_OF]
    for column in range(UNTIL):
        out[n + column] = play[m + column]
    out[n + POSITION] -= ahead
    n += UNTIL
    mode = play[m + MODE]
    counted = mode != FINISHED and mode != GOES_ON and (mode != COMPUTES or play[m + CATEGORY] >= 0)
    out[n] = play[m + UNTIL] - now if mode in (COMPUTES, SKIPS, ADDS) else 0
    out[n + 1] = play[m + BEGIN] - now if counted else 0
    out[n + 2] = counted
    n += 3
    if mode == COMPUTES_BESIDE:
        for column in range(UNTIL + 1, BEGIN):
            out[n] = play[m + column] - (now if column == SINCE else 0)
            n += 1
    return n


@inlined
def _write_network(world: World, c: int, out: Ints, n: int) -> int:
    """Write what is in flight of a class; the length so far."""
    nets, states, _, _, plan, play, _, _, _ = world
    state, net, now = states[c], nets[plan[locate_class(plan, c) + JOB]], out[TIME_OF]
    state[NOW] = now
    waits = play[locate_machine(play, c) + MODE] == SKIPS
    out[n], out[n + 1] = state[OUTSTANDING], play[locate_notes(play, c) + AWAITED_PASSAGE] if waits else -1
    n += 2
    if state[OUTSTANDING] > 0:
        n += take_snapshot(net, state, out[n:])
        for d in range(plan[DIMENSIONS]):
            service = locate_service(plan, play, c, d)
            out[n] = play[service + ITS_STREAM]
            if out[n] >= 0:
                out[n + 1], out[n + 2] = play[service + REMAINING], play[service + FROM] - now
                out[n + 3] = play[service + BEGAN] - now
                n += 3
            n += 1
        mode = play[locate_machine(play, c) + MODE]
        if mode == ADDS:
            out[n] = play[locate_repeated(play, c) + R_TOOK]
            n += 1
        if mode == COMPUTES_BESIDE:
            for level in range(net[LEVELS] + 1):
                out[n] = state[state[CARRY_AT] + level]
                n += 1
    return n


@borrowing
def _write(world: World, time: int, out: Ints) -> None:
    """Write a snapshot of everything."""
    _, _, _, _, plan, play, _, _, _ = world
    classes, width = plan[CLASSES], play[MACHINE_WIDTH]
    n = MACHINES_OF + classes * width
    for i in range(classes * width):
        out[MACHINES_OF + i] = play[locate_machine(play, 0) + i]
    out[TIME_OF] = time
    ahead = play[locate_machine(play, 0) + POSITION]
    for c in range(classes):
        n = _write_machine(play, locate_machine(play, c), out, n, ahead)
        n = _write_network(world, c, out, n)
    out[LENGTH_OF] = n


@inlined
def _repeats(world: World, its: int, position: int, periods: int) -> bool:
    """Whether the block at a position is the one a few periods later but for the number of its microbatch."""
    _, _, programs, orders, plan, _, _, _, _ = world
    later = position + periods * plan[PERIOD_BLOCKS]
    if later >= plan[its + LENGTH]:
        return False
    order, microbatches, stage = plan[its + ORDER_AT], plan[its + MICROBATCHES], plan[its + STAGE]
    code, code_later = orders[order + position], orders[order + later]
    program = programs[plan[its + PROGRAM]]
    last = later == plan[its + LENGTH] - 1
    return bool(
        code_later - code == (periods * plan[PERIOD]) << (CHUNK_SHIFT + 1)
        and choose_block(program, stage, code, microbatches, False)
        == choose_block(program, stage, code_later, microbatches, last)
    )


@inlined
def _count_periods(world: World, earlier: Ints, periods: int) -> int:
    """How often what happened since an earlier snapshot, `periods` of the schedule, happens again."""
    _, _, _, _, plan, play, _, _, _ = world
    length, most = periods * plan[PERIOD_BLOCKS], NEVER
    for c in range(plan[CLASSES]):
        its = locate_class(plan, c)
        position = earlier[MACHINES_OF + c * play[MACHINE_WIDTH] + POSITION]
        first = max(0, position - 1)  # the block that it is in
        end = first
        while _repeats(world, its, end, periods):
            end += 1
        # the last block touched on the way must be one of those that repeat
        most = min(most, (end - 1 - position) // length)
    return int(max(0, most))


@inlined
def _move_inputs(plan: Ints, play: Ints, its: int, microbatches: int) -> None:
    """Let the inputs that a class has be those of microbatches that are so much later."""
    count, chunks = plan[its + MICROBATCHES], plan[its + CHUNKS]
    for direction in range(2):
        first = plan[its + INPUTS_AT] + direction * count * chunks
        for place in range((count - microbatches) * chunks - 1, -1, -1):
            play[first + microbatches * chunks + place] = play[first + place]
        for place in range(microbatches * chunks):
            play[first + place] = 0


@borrowing
def _jump(world: World, earlier: Ints, periods: int, times: int, time: int) -> None:
    """Let what happened since an earlier snapshot, `periods` of the schedule, have happened `times` more often."""
    nets, states, _, _, plan, play, _, _, _ = world
    width = play[MACHINE_WIDTH]
    by = times * (time - earlier[TIME_OF])
    for c in range(plan[CLASSES]):
        its, m, was = locate_class(plan, c), locate_machine(play, c), MACHINES_OF + c * width
        play[m + POSITION] += times * periods * plan[PERIOD_BLOCKS]
        for column in range(BUBBLE, width):
            play[m + column] += times * (play[m + column] - earlier[was + column])
        play[locate_notes(play, c) + RECORDED] = 0
        play[locate_repeated(play, c) + R_LENGTH] = -1
        play[m + UNTIL] += by
        play[m + SINCE] += by
        play[m + BEGIN] += by
        for d in range(plan[DIMENSIONS]):
            service = locate_service(plan, play, c, d)
            play[service + FROM] += by
            play[service + BEGAN] += by
        states[c, NOW] = time
        shift(nets[plan[its + JOB]], states[c], by)
        if plan[its + STAGES] > 1:
            _move_inputs(plan, play, its, times * periods * plan[PERIOD])
        due = play[play[TREE_AT] + play[LEAVES] + c]
        if due != NEVER:
            set_time(play, c, due + by)
    play[JUMPED] += times * periods * plan[PERIOD]


@borrowing
def jump_ahead(world: World, time: int) -> None:
    """Where the first class has begun a period of its blocks: compare, and jump if everything repeats."""
    _, _, _, _, plan, play, _, _, _ = world
    position = play[locate_machine(play, 0) + POSITION]
    number = position // plan[PERIOD_BLOCKS]
    if number == play[MARKED]:
        return
    play[MARKED] = number
    room = play[SNAPSHOT_ROOM]
    out = play[play[SNAPSHOTS_AT] + number % (KEPT + 1) * room :][:room]
    _write(world, time, out)
    for periods in range(1, KEPT + 1):
        earlier = play[play[SNAPSHOTS_AT] + (number - periods) % (KEPT + 1) * room :][:room]
        begin = MACHINES_OF + plan[CLASSES] * play[MACHINE_WIDTH]
        length = out[LENGTH_OF]
        apart = position - earlier[MACHINES_OF + POSITION]
        if earlier[LENGTH_OF] != length or apart != periods * plan[PERIOD_BLOCKS]:
            continue
        if are_equal(earlier[begin:], out[begin:], length - begin):
            times = _count_periods(world, earlier, periods)
            if times > 0:
                _jump(world, earlier, periods, times, time)
                play[MARKED] = play[locate_machine(play, 0) + POSITION] // plan[PERIOD_BLOCKS]
                return
