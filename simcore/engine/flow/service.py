"""The network of a class in the global loop: services at a pace, meetings of classes, chunks that land.

Beside what `fast.queues` does, a phase on shared links is served at the pace of its stream, and where the peers of an
NPU are of several classes a chunk flies once all of them have served it (`reference.phase_level`).
"""

from __future__ import annotations

import numpy as np

from simcore.compiled import borrowing, inlined
from simcore.engine.fast.flight import land, take_off
from simcore.engine.fast.queues import can_pick, enter, is_alone, issue, leave, pick, pick_soon
from simcore.engine.fast.solo import begin_solo, meets_solo
from simcore.engine.fast.state import (
    DIMENSION,
    DIMENSIONS,
    END_AT,
    FLIGHT_AT,
    FLIGHT_PHASE,
    FLIGHT_TASK,
    FLYING,
    ISSUED,
    LANDS,
    LATENCY,
    LEAST,
    LISTED,
    NEVER,
    NOW,
    PHASE,
    PHASE_SIZE,
    READY,
    READY_AT,
    SERIALIZATION,
    SLOTS,
    SOLO_CLAIMS,
    SOLO_END_AT,
    TASK,
    Ints,
    locate_serving,
    locate_solo,
    locate_type,
)
from simcore.engine.flow.in_flight import way_served
from simcore.engine.flow.log import note_service
from simcore.engine.flow.meetings import meet
from simcore.engine.flow.passages import note_run
from simcore.engine.flow.rates import begin_stream, end_stream, list_changed, pace_of
from simcore.engine.flow.repeats import note_solo, note_way
from simcore.engine.flow.solos import claim, finish_solo, is_past, play_solo
from simcore.engine.flow.tables import (
    ADDS,
    BEGAN,
    FROM,
    ISSUES_ROOM,
    ITS_STREAM,
    JOB,
    MODE,
    OPEN_RUN,
    PICKS,
    PRIVATE_AT,
    R_LENGTH,
    REMAINING,
    REPLAYS,
    ROW,
    SEQUENCES_AT,
    SKIPPERS,
    SKIPS,
    SOLO,
    STREAM,
    STRETCH,
    TAIL,
    WAY,
    World,
    locate_class,
    locate_machine,
    locate_notes,
    locate_repeated,
    locate_sequences,
    locate_service,
    locate_way,
)

LEAVES_ALONE = -1
"""The task of a chunk that gives back its slot here, while it flies on once the others have served it."""


@inlined
def time_at(work: int, pace: float) -> int:
    """Time that `work` [ps alone] takes at a pace; a pace near 0 takes no longer than times can be."""
    return int(work) if pace == 1.0 else int(min(np.ceil(work / pace), float(NEVER >> 1)))


@inlined
def work_at(time: int, pace: float) -> int:
    """Work [ps alone] that is done in `time` at a pace."""
    return int(time) if pace == 1.0 else int(np.floor(time * pace))


@borrowing
def begin_collective(world: World, c: int, kind: int, group: int) -> None:
    """A class issues a collective of type `kind` and class `group` now.

    As in `fast.solo`, one that is alone on its dimensions is noted and not played as long as it meets nobody (`solos`).
    """
    nets, states, _, _, plan, play, _, _, _ = world
    its = locate_class(plan, c)
    net, state = nets[plan[its + JOB]], states[c]
    if is_alone(net, state, kind):
        claims = claim(world, c, kind)
        if claims or plan[plan[its + PRIVATE_AT] + kind] == SOLO or is_past(world, c, kind):
            begin_solo(net, state, kind, group)
            state[locate_solo(state, net[locate_type(net, kind) + LEAST]) + SOLO_CLAIMS] = claims
            if play[locate_repeated(play, c) + R_LENGTH] >= 0:
                note_solo(world, c, locate_repeated(play, c), kind)
            return
    else:
        for least in range(net[DIMENSIONS]):
            if meets_solo(net, state, kind, least):
                play_solo(world, c, least)
    issue(net, state, kind, group)
    if play[SEQUENCES_AT] > 0:  # which of them it is, for those that it meets
        sequences = locate_sequences(plan, play, c)
        count = sequences + play[ISSUES_ROOM] + kind
        play[sequences + state[ISSUED] - 1] = play[count]
        play[count] += 1


@inlined
def _end_service(world: World, c: int, d: int, time: int) -> None:
    """Dimension `d` of a class has served its task now; it flies on, once those that it meets have served theirs."""
    nets, states, _, _, plan, play, _, flows, numbers = world
    its = locate_class(plan, c)
    net, state = nets[plan[its + JOB]], states[c]
    serving = locate_serving(state, d)
    task, phase = state[serving + TASK], state[serving + PHASE]
    state[state[END_AT] + d] = NEVER
    pick_soon(state, d)
    service = locate_service(plan, play, c, d)
    since, pace = time - net[phase + SERIALIZATION], 1.0
    if play[service + ITS_STREAM] >= 0:
        play[locate_machine(play, c) + STRETCH + d] += time - play[service + BEGAN] - net[phase + SERIALIZATION]
        since, pace = play[service + FROM], pace_of(flows, numbers, play[service + ITS_STREAM])
    note_service(plan, play, c, d, plan[locate_way(plan, its, phase, PHASE_SIZE) + WAY], since, time, pace)
    way = locate_way(plan, its, phase, PHASE_SIZE)
    lands = time + net[phase + LATENCY] + plan[way + TAIL]
    if plan[way + ROW] < 0:
        take_off(state, lands, task, phase)
        return
    if net[SLOTS] > 0:
        take_off(state, lands, LEAVES_ALONE, phase)
    meet(world, c, task, phase, way)


@borrowing
def end_services(world: World, c: int, time: int) -> None:
    """End all services of a class that end now."""
    state = world[1][c]
    state[NOW] = time
    for d in range(world[0][world[4][locate_class(world[4], c) + JOB], DIMENSIONS]):
        if state[state[END_AT] + d] == time:
            _end_service(world, c, d, time)


@borrowing
def land_chunks(world: World, c: int, time: int) -> None:
    """Let all chunks of a class land that arrive somewhere now, and end the solos that end now."""
    nets, states, _, _, plan, _, _, _, _ = world
    its = locate_class(plan, c)
    net, state = nets[plan[its + JOB]], states[c]
    state[NOW] = time
    while state[FLYING] > 0 and state[state[FLIGHT_AT] + LANDS] == time:
        first = state[FLIGHT_AT]
        task, phase = state[first + FLIGHT_TASK], state[first + FLIGHT_PHASE]
        land(state)
        alone = plan[locate_way(plan, its, phase, PHASE_SIZE) + ROW] < 0
        if alone or task == LEAVES_ALONE or net[SLOTS] == 0:
            leave(net, state, net[phase + DIMENSION])
        if task != LEAVES_ALONE:
            enter(net, state, task, phase)
    for least in range(net[DIMENSIONS]):
        if state[state[SOLO_END_AT] + least] == time:
            finish_solo(world, c, least)


@inlined
def _serve_next(world: World, c: int, d: int) -> int:
    """An idle dimension picks its next task, if it has one; the stream of it, or -1."""
    nets, states, _, _, plan, play, _, flows, numbers = world
    its = locate_class(plan, c)
    net, state = nets[plan[its + JOB]], states[c]
    if not can_pick(net, state, d):
        return -1
    pick(net, state, d)
    phase = state[locate_serving(state, d) + PHASE]
    stream = plan[locate_way(plan, its, phase, PHASE_SIZE) + STREAM]
    if stream >= 0:
        service, now = locate_service(plan, play, c, d), state[NOW]
        play[service + REMAINING] = net[phase + SERIALIZATION]
        play[service + FROM] = play[service + BEGAN] = now
        if stream == play[service + ITS_STREAM] and play[REPLAYS] == 0:
            state[state[END_AT] + d] = now + time_at(net[phase + SERIALIZATION], pace_of(flows, numbers, stream))
    return int(stream)


@borrowing
def pick_next(world: World, c: int) -> None:
    """Let every idle dimension of a class pick its next task; the stream goes on where the next phase is alike."""
    _, states, _, _, plan, play, _, flows, numbers = world
    state, repeated = states[c], locate_repeated(play, c)
    if play[locate_machine(play, c) + MODE] in (ADDS, SKIPS):  # what was left in flight is there already
        return
    play[locate_notes(play, c) + PICKS] += 1
    for i in range(state[READY]):
        d = state[state[READY_AT] + i]
        state[locate_serving(state, d) + LISTED] = 0
        if state[state[END_AT] + d] != NEVER:
            continue
        stream = _serve_next(world, c, d)
        service = locate_service(plan, play, c, d)
        before = play[service + ITS_STREAM]
        if stream >= 0 and play[repeated + R_LENGTH] >= 0:
            note_way(play, repeated, way_served(plan, state, c, d))
        if play[REPLAYS] > 0:
            play[service + ITS_STREAM] = stream
        elif stream != before:
            if before >= 0:
                end_stream(flows, before)
            if stream >= 0:
                begin_stream(flows, numbers, stream, c, d)
            play[service + ITS_STREAM] = stream
            note_run(plan, play, c, d, state[NOW], way_served(plan, state, c, d) if stream >= 0 else -1)
        elif stream >= 0:
            if play[SKIPPERS] > 0:
                list_changed(flows, stream)  # it may meet a passage now that it goes on
            if play[locate_notes(play, c) + OPEN_RUN + d] < 0:
                note_run(plan, play, c, d, state[NOW], way_served(plan, state, c, d))
    state[READY] = 0


@inlined
def find_network_event(net: Ints, state: Ints) -> int:
    """When something happens next in a network whose dimensions have picked."""
    time = state[state[FLIGHT_AT] + LANDS] if state[FLYING] > 0 else NEVER
    for end in range(state[END_AT], state[END_AT] + 2 * net[DIMENSIONS]):
        time = min(time, state[end])
    return int(time)
