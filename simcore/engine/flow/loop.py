"""The global event loop: all classes of all jobs side by side, one picosecond after the other.

At each picosecond the networks' events come first, then the programs' moves, then the queues' picks (as
`reference.clock` says), and then the streams that began or ended let the paces of those be solved that they meet.
"""

from __future__ import annotations

from simcore.compiled import borrowing, inlined, merged
from simcore.engine.fast.solo import rehearse
from simcore.engine.fast.state import DIMENSIONS, END_AT, NEVER, NOW
from simcore.engine.flow.claims import may_be_full
from simcore.engine.flow.computation import find_computed
from simcore.engine.flow.in_flight import way_served
from simcore.engine.flow.log import note_service
from simcore.engine.flow.moves import move
from simcore.engine.flow.passages import drop_passage, meets_run
from simcore.engine.flow.period import jump_ahead
from simcore.engine.flow.rates import (
    ACTIVE,
    CHANGED,
    CHANGED_AT,
    END_LOAD,
    FIRST_LOAD,
    FOUND,
    FOUND_AT,
    LINKS,
    LISTED,
    LOAD_LINK,
    LOAD_SIZE,
    LOADS,
    LOADS_AT,
    LOOKED,
    SERVER,
    SERVER_DIMENSION,
    SERVERS_AT,
    SLOWED,
    SLOWED_AT,
    STAMP,
    STREAMS,
    begin_stream,
    find_connected,
    list_changed,
    list_slowed,
    locate_stream,
    pace_alone,
    pace_of,
    recall,
    set_pace,
)
from simcore.engine.flow.repeats import drop_repeats, repeat_uses
from simcore.engine.flow.service import (
    end_services,
    find_network_event,
    land_chunks,
    pick_next,
    time_at,
    work_at,
)
from simcore.engine.flow.solos import play_met
from simcore.engine.flow.tables import (
    ADDS,
    BEGIN,
    COMPUTES,
    COMPUTES_BESIDE,
    DISTURBED,
    EVENTS,
    FROM,
    GOES_ON,
    ITS_STREAM,
    JOB,
    MODE,
    MOVES,
    MOVES_AT,
    PERIOD,
    R_SLOWED,
    REMAINING,
    REPLAY_TO,
    REPLAYS,
    SKIPPERS,
    SKIPS,
    STAMPS_AT,
    TOUCHED,
    TOUCHED_AT,
    TREE_AT,
    UNFINISHED,
    UNTIL,
    Ints,
    World,
    locate_class,
    locate_machine,
    locate_notes,
    locate_repeated,
    locate_service,
    set_time,
    touch,
    touch_due,
)


@inlined
def _set_stream(world: World, s: int, pace: float, time: int) -> None:
    """Serve a stream at a pace from now on."""
    _, states, _, _, plan, play, _, flows, numbers = world
    before = pace_of(flows, numbers, s)
    if pace == before:
        return
    its = locate_stream(flows, s)
    c, d = flows[its + SERVER], flows[its + SERVER_DIMENSION]
    service = locate_service(plan, play, c, d)
    passed = time - play[service + FROM]
    if passed > 0:
        note_service(plan, play, c, d, way_served(plan, states[c], c, d), play[service + FROM], time, before)
        play[service + REMAINING] = max(1, play[service + REMAINING] - work_at(passed, before))
        play[service + FROM] = time
    set_pace(flows, numbers, s, pace)
    if pace != 1.0:
        play[locate_notes(play, c) + DISTURBED] = play[locate_repeated(play, c) + R_SLOWED] = 1
    states[c, states[c, END_AT] + d] = time + time_at(play[service + REMAINING], pace)
    touch(play, c)
    if pace < before and play[SKIPPERS] > 0:  # it is on its links for longer than it was thought
        list_slowed(flows, s)


@borrowing
def _replay(world: World, c: int, now: int) -> None:
    """Play the passage or the repeat that a class waits for up to `now`; its streams are in service from then on."""
    nets, states, _, _, plan, play, _, flows, numbers = world
    its, m = locate_class(plan, c), locate_machine(play, c)
    net, state = nets[plan[its + JOB]], states[c]
    if play[m + MODE] == ADDS:
        drop_repeats(world, c, now)
    else:
        drop_passage(world, c)
    play[m + MODE] = GOES_ON
    play[REPLAYS] += 1
    play[REPLAY_TO] = now
    state[NOW] = time = play[m + BEGIN]
    while time <= now:
        end_services(world, c, time)
        land_chunks(world, c, time)
        move(world, c, time)
        pick_next(world, c)
        time = _find_next(net, state, play, m, time)
    play[REPLAYS] -= 1
    state[NOW] = now
    for d in range(net[DIMENSIONS]):
        service = locate_service(plan, play, c, d)
        if play[service + ITS_STREAM] >= 0:
            begin_stream(flows, numbers, play[service + ITS_STREAM], c, d)
    touch(play, c)


@merged
def _meet_passages(world: World, s: int, time: int) -> None:
    """Let all passages and solos be played that a stream meets which is in service from now on."""
    _, states, _, _, _, play, _, flows, _ = world
    its = locate_stream(flows, s)
    server = flows[its + SERVER]
    end = states[server, states[server, END_AT] + flows[its + SERVER_DIMENSION]]
    for number in range(flows[its + FIRST_LOAD], flows[its + END_LOAD]):
        link = flows[flows[LOADS_AT] + number * LOAD_SIZE + LOAD_LINK]
        if not may_be_full(world, link, time, end):
            continue
        ends = flows[SERVERS_AT] + link
        for place in range(flows[ends], flows[ends + 1]):
            c = flows[place]
            if c == server:
                continue
            states[c, NOW] = time
            mode = play[locate_machine(play, c) + MODE]
            if mode in (SKIPS, ADDS):
                if meets_run(world, c, link, end) if mode == SKIPS else repeat_uses(world, c, link):
                    _replay(world, c, time)
                    if play_met(world, c, link):
                        pick_next(world, c)
            elif play_met(world, c, link):
                pick_next(world, c)


@borrowing
def _solve_changed(world: World, time: int) -> None:
    """Give every stream its pace that those which began or ended now may have changed."""
    _, _, _, _, _, play, _, flows, numbers = world
    earlier = flows[STAMP]
    paces_at = 3 * flows[STREAMS] + flows[LOADS] + 3 * flows[LINKS]
    i = 0
    while i < flows[CHANGED]:
        s = flows[flows[CHANGED_AT] + i]
        i += 1
        its = locate_stream(flows, s)
        if flows[its + ACTIVE] and play[SKIPPERS] > 0:
            _meet_passages(world, s, time)
    for i in range(flows[CHANGED]):
        s = flows[flows[CHANGED_AT] + i]
        its = locate_stream(flows, s)
        flows[its + LISTED] = 0
        if flows[its + ACTIVE] == 0 or flows[its + LOOKED] > earlier:
            continue
        find_connected(flows, s)
        if flows[FOUND] == 1:
            _set_stream(world, s, pace_alone(flows, numbers, s), time)
            continue
        entry = recall(flows, numbers)
        for j in range(flows[FOUND]):
            _set_stream(world, flows[flows[FOUND_AT] + j], numbers[paces_at + entry + j], time)
    flows[CHANGED] = 0
    for i in range(flows[SLOWED]):
        list_changed(flows, flows[flows[SLOWED_AT] + i])
    flows[SLOWED] = 0


@inlined
def _find_next(net: Ints, state: Ints, play: Ints, m: int, time: int) -> int:
    """When something happens to a class next."""
    earliest = find_network_event(net, state)
    if play[m + MODE] in (COMPUTES, SKIPS, ADDS):
        earliest = min(earliest, play[m + UNTIL])
    elif play[m + MODE] == COMPUTES_BESIDE:
        state[NOW] = time
        earliest = min(earliest, find_computed(net, state, play, m, time))
    return earliest


@merged
def _happen(world: World, time: int) -> None:
    """Everything that happens at `time` to the classes that are touched."""
    plan, play = world[4], world[5]
    touched, moves = play[TOUCHED_AT], play[MOVES_AT]
    place = 0
    while place < play[TOUCHED]:
        end_services(world, play[touched + place], time)
        place += 1
    place = 0
    while place < play[TOUCHED]:
        land_chunks(world, play[touched + place], time)
        place += 1
    while play[MOVES] > 0:
        play[MOVES] -= 1
        c = play[moves + play[MOVES]]
        play[play[STAMPS_AT] + 2 * c + 1] = 0
        move(world, c, time)
    for place in range(play[TOUCHED]):
        pick_next(world, play[touched + place])
    while world[7][CHANGED] > 0:
        _solve_changed(world, time)
    for place in range(play[TOUCHED]):
        c = play[touched + place]
        play[play[STAMPS_AT] + 2 * c] = 0
        net = world[0][plan[locate_class(plan, c) + JOB]]
        set_time(play, c, _find_next(net, world[1][c], play, locate_machine(play, c), time))
    play[TOUCHED] = 0


@merged
def play_on(world: World) -> None:
    """Play until all classes have played their iterations, or nothing is left that can happen."""
    plan, play = world[4], world[5]
    for c in range(plan[0]):
        set_time(play, c, 0)
    while play[UNFINISHED] > 0:
        time = play[play[TREE_AT] + 1]
        if time == NEVER:
            break
        play[EVENTS] += 1
        touch_due(play, time)
        _happen(world, time)
        if plan[PERIOD] > 0:
            jump_ahead(world, time)


@borrowing
def play_all(world: World) -> None:
    """Rehearse what collectives do alone, and play."""
    nets, states, _, _, plan, _, _, _, _ = world
    for job in range(nets.shape[0]):
        for c in range(plan[0]):
            if plan[locate_class(plan, c) + JOB] == job:
                rehearse(nets[job], states[c])
                break
    play_on(world)
