"""Repeats of a segment that are waited for: what leaves in flight just what the repeat before it left goes on so.

The fast engine plays two such repeats and adds the rest (`fast.blocks`). Here others are on the links meanwhile. So a
class that adds repeats claims the most that the last of them needed of each link (`claims`), and none of its streams is
in service until it goes on. If another stream comes to be with which that might not fit, the repeats that nobody has
felt are added, and the one that is under way is played from its beginning.
"""

from __future__ import annotations

from simcore.compiled import borrowing, inlined
from simcore.engine.fast.snapshot import are_equal, shift
from simcore.engine.fast.state import NEVER, NOW, SOLO_END_AT, SOLO_TYPE, locate_solo
from simcore.engine.fast.tables import REPEATS, locate_segment
from simcore.engine.flow.claims import count_users, locate_span, may_be_full, share_of
from simcore.engine.flow.in_flight import set_streams, write_flight
from simcore.engine.flow.passages import note_run_of
from simcore.engine.flow.rates import (
    END_LOAD,
    FIRST_LOAD,
    LOAD_LINK,
    LOAD_SIZE,
    LOADS_AT,
    locate_stream,
    pace_of,
    uses,
)
from simcore.engine.flow.tables import (
    ADDABLE_AT,
    ADDS,
    BEGAN,
    BEGIN,
    DIMENSIONS,
    FROM,
    HANDS_ON,
    ITS_STREAM,
    JOB,
    MODE,
    P_SPANS,
    PATTERN,
    POSITION,
    PRIVATE_AT,
    PROGRAM,
    R_LENGTH,
    R_POSITION,
    R_REPEAT,
    R_SEGMENT,
    R_SLOWED,
    R_SPENT,
    R_TIME,
    R_TOOK,
    R_TURN,
    R_WAYS,
    RECORDED,
    REPEAT,
    REPEATED_ROOM,
    REPLAYED,
    REPLAYS,
    RUN_WAY,
    SEGMENT,
    SENDS,
    SKIPPED,
    SKIPPERS,
    SOLO_UNMET,
    SPENT,
    STREAM,
    STREAMS_AT,
    STRETCH,
    UNTIL,
    USERS_AT,
    WAY_SIZE,
    Ints,
    World,
    locate_class,
    locate_collective,
    locate_machine,
    locate_notes,
    locate_repeated,
    locate_repeated_snapshot,
    locate_service,
    stream_of_way,
)


@inlined
def note_way(play: Ints, repeated: int, way: int) -> None:
    """A way over shared links is served in the repeat that is under way."""
    count = play[repeated + R_WAYS]
    known = False
    for place in range(count):
        known = known or play[repeated + R_WAYS + 1 + place] == way
    if not known:
        play[repeated + R_WAYS + 1 + count] = way
        play[repeated + R_WAYS] = count + 1


@inlined
def _note_ways_in_flight(world: World, c: int, repeated: int) -> None:
    """Note the ways that are served as a repeat begins, and those of solos; and whether others slow one of them."""
    nets, states, _, _, plan, play, _, flows, numbers = world
    its, state = locate_class(plan, c), states[c]
    play[repeated + R_WAYS] = play[repeated + R_SLOWED] = 0
    streams_at = plan[its + STREAMS_AT]
    for d in range(plan[DIMENSIONS]):
        stream = play[locate_service(plan, play, c, d) + ITS_STREAM]
        if stream < 0:
            continue
        if pace_of(flows, numbers, stream) != 1.0:
            play[repeated + R_SLOWED] = 1
        way = 0
        while plan[streams_at + way * WAY_SIZE + STREAM] != stream:
            way += 1
        note_way(play, repeated, way)
    for least in range(nets[plan[its + JOB], 0]):
        if state[state[SOLO_END_AT] + least] != NEVER:
            note_solo(world, c, repeated, state[locate_solo(state, least) + SOLO_TYPE])


@inlined
def note_solo(world: World, c: int, repeated: int, kind: int) -> None:
    """A collective is a solo in the repeat that is under way: note its ways over shared links."""
    plan, play = world[4], world[5]
    its = locate_class(plan, c)
    if plan[plan[its + PRIVATE_AT] + kind] == SOLO_UNMET:
        collective = locate_collective(plan, play, its, kind)
        for number in range(play[collective + P_SPANS]):
            way = play[locate_span(play, collective, number) + RUN_WAY]
            if stream_of_way(plan, its, way) >= 0:
                note_way(play, repeated, way)


@borrowing
def _repeats(world: World, c: int, repeated: int) -> bool:
    """Whether the repeat that is over left in flight what the one before it left, and nobody slowed it.

    Notes what it took, and in the other snapshot what is in flight now.
    """
    play, state = world[5], world[1][c]
    m = locate_machine(play, c)
    room, turn = play[REPEATED_ROOM], play[repeated + R_TURN]
    earlier = play[locate_repeated_snapshot(play, c, turn) :][:room]
    latest = play[locate_repeated_snapshot(play, c, 1 - turn) :][:room]
    length, time = write_flight(world, c, latest), state[NOW]
    repeats = (
        play[repeated + R_LENGTH] == length
        and play[repeated + R_POSITION] == play[m + POSITION]
        and play[repeated + R_SEGMENT] == play[m + SEGMENT]
        and play[repeated + R_REPEAT] == play[m + REPEAT] + 1
        and play[repeated + R_SLOWED] == 0
        and play[repeated + R_TIME] < time
        and are_equal(earlier, latest, length)
    )
    play[repeated + R_TOOK] = time - play[repeated + R_TIME]
    categories = STRETCH - SPENT
    for category in range(categories):
        spent = play[m + SPENT + category]
        play[repeated + R_SPENT + categories + category] = spent - play[repeated + R_SPENT + category]
        play[repeated + R_SPENT + category] = spent
    play[repeated + R_TURN], play[repeated + R_LENGTH], play[repeated + R_TIME] = 1 - turn, length, time
    play[repeated + R_POSITION], play[repeated + R_SEGMENT] = play[m + POSITION], play[m + SEGMENT]
    play[repeated + R_REPEAT] = play[m + REPEAT]
    return bool(repeats)


@inlined
def _count_claims(world: World, c: int, repeated: int, sign: int) -> None:
    """Claim the most that a repeat ever needs of each link for all that are added (1), or no more (-1)."""
    _, states, _, _, plan, play, _, flows, numbers = world
    its, state = locate_class(plan, c), states[c]
    for place in range(play[repeated + R_WAYS]):
        stream = locate_stream(flows, stream_of_way(plan, its, play[repeated + R_WAYS + 1 + place]))
        for load in range(flows[stream + FIRST_LOAD], flows[stream + END_LOAD]):
            link = flows[flows[LOADS_AT] + load * LOAD_SIZE + LOAD_LINK]
            most = 0
            for before in range(place):
                other = locate_stream(flows, stream_of_way(plan, its, play[repeated + R_WAYS + 1 + before]))
                for its_load in range(flows[other + FIRST_LOAD], flows[other + END_LOAD]):
                    if flows[flows[LOADS_AT] + its_load * LOAD_SIZE + LOAD_LINK] == link:
                        most = max(most, share_of(flows, numbers, its_load))
            play[play[USERS_AT] + link] += sign * max(0, share_of(flows, numbers, load) - most)
    for least in range(world[0][plan[its + JOB], 0]):  # solos in flight are among what is claimed
        if state[state[SOLO_END_AT] + least] != NEVER:
            kind = state[locate_solo(state, least) + SOLO_TYPE]
            if plan[plan[its + PRIVATE_AT] + kind] == SOLO_UNMET:
                count_users(world, c, locate_collective(plan, play, its, kind), -sign)
    play[SKIPPERS] += sign


@inlined
def _move_in_time(world: World, c: int, by: int) -> None:
    """Move all that a class has in flight."""
    nets, states, _, _, plan, play, _, _, _ = world
    shift(nets[plan[locate_class(plan, c) + JOB]], states[c], by)
    for d in range(plan[DIMENSIONS]):
        service = locate_service(plan, play, c, d)
        play[service + FROM] += by
        play[service + BEGAN] += by


@inlined
def _spend(play: Ints, m: int, repeated: int, times: int) -> None:
    """Count what so many repeats spend."""
    categories = STRETCH - SPENT
    for category in range(categories):
        play[m + SPENT + category] += times * play[repeated + R_SPENT + categories + category]


@inlined
def _is_between(world: World, c: int, m: int) -> bool:
    """Whether a class is between two repeats of a segment."""
    _, _, programs, _, plan, play, _, _, _ = world
    its, segment = locate_class(plan, c), play[m + SEGMENT]
    if play[m + REPEAT] == 0 or plan[its + PATTERN] < 0 or play[REPLAYS] > 0:
        return False
    need = plan[plan[its + ADDABLE_AT] + segment]
    whole = programs[plan[its + PROGRAM], locate_segment(programs[plan[its + PROGRAM]], segment) + REPEATS]
    return bool(need not in (HANDS_ON, SENDS) and play[m + REPEAT] < whole)


@inlined
def _may_be_met(world: World, c: int, repeated: int, begin: int, end: int) -> bool:
    """Whether what repeats claim may not fit on a link beside what others need there from `begin` to `end`."""
    plan, play, flows = world[4], world[5], world[7]
    its, met = locate_class(plan, c), False
    for place in range(play[repeated + R_WAYS]):
        stream = locate_stream(flows, stream_of_way(plan, its, play[repeated + R_WAYS + 1 + place]))
        for load in range(flows[stream + FIRST_LOAD], flows[stream + END_LOAD]):
            link = flows[flows[LOADS_AT] + load * LOAD_SIZE + LOAD_LINK]
            met = met or may_be_full(world, link, begin, end)
    return met


@borrowing
def begin_repeats(world: World, c: int) -> bool:
    """Wait for the repeats that are left where they go on as the last one did; False where one has to be played."""
    _, states, _, _, plan, play, _, _, _ = world
    m, repeated = locate_machine(play, c), locate_repeated(play, c)
    if not _is_between(world, c, m):
        play[repeated + R_LENGTH] = -1
        return False
    if not _repeats(world, c, repeated):
        _note_ways_in_flight(world, c, repeated)
        return False
    set_streams(world, c, False)
    _count_claims(world, c, repeated, 1)
    before, left, now = play[m + MODE], play[m + REPEAT], states[c, NOW]
    play[m + MODE] = ADDS
    if _may_be_met(world, c, repeated, now, now + left * play[repeated + R_TOOK]):
        play[m + MODE] = before
        _count_claims(world, c, repeated, -1)
        set_streams(world, c, True)
        _note_ways_in_flight(world, c, repeated)
        return False
    play[m + BEGIN], play[m + UNTIL] = now, now + left * play[repeated + R_TOOK]
    _spend(play, m, repeated, left)
    _move_in_time(world, c, play[m + UNTIL] - now)
    for place in range(play[repeated + R_WAYS]):
        note_run_of(plan, play, c, play[repeated + R_WAYS + 1 + place], now, play[m + UNTIL])
    play[repeated + R_LENGTH] = -1
    return True


@borrowing
def end_repeats(world: World, c: int) -> None:
    """A class has waited for its repeats, of which nobody met anything: it goes on with what they left in flight."""
    play = world[5]
    m = locate_machine(play, c)
    _count_claims(world, c, locate_repeated(play, c), -1)
    set_streams(world, c, True)
    play[m + REPEAT] = 0
    play[m + SEGMENT] += 1
    play[SKIPPED] += 1


@borrowing
def drop_repeats(world: World, c: int, now: int) -> None:
    """A class waits for its repeats no longer: those that are over by now are added, the next one will be played."""
    play = world[5]
    m, repeated = locate_machine(play, c), locate_repeated(play, c)
    over = (now - play[m + BEGIN]) // play[repeated + R_TOOK]
    _count_claims(world, c, repeated, -1)
    left = play[m + REPEAT] - over
    _spend(play, m, repeated, -left)
    _move_in_time(world, c, -left * play[repeated + R_TOOK])
    play[m + REPEAT] = left
    play[m + BEGIN] += over * play[repeated + R_TOOK]
    play[locate_notes(play, c) + RECORDED] = 0
    play[REPLAYED] += 1


@inlined
def repeat_uses(world: World, c: int, link: int) -> bool:
    """Whether repeats that a class waits for use a link."""
    plan, play, flows = world[4], world[5], world[7]
    its, repeated = locate_class(plan, c), locate_repeated(play, c)
    found = False
    for place in range(play[repeated + R_WAYS]):
        found = found or uses(flows, stream_of_way(plan, its, play[repeated + R_WAYS + 1 + place]), link)
    return found
