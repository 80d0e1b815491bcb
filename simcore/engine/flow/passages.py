"""Passages: what a class does between two points of its program over links that nobody else uses meanwhile.

A passage is a row of segments that hands nothing on, or a message to the next stage. Where as much is in flight at its
beginning and no stream of another class slows one of its own, it always takes the same time, leaves the same in flight,
and serves the same ways at the same times after its beginning: its *runs*. So it is played and recorded once, for all
classes that share links on the same ways, and then only waited for, while what all classes need of its links fits on
them (`claims`). If it may not any more, it is played from its beginning up to now (`loop`), which nobody has felt, and
goes on being played.
"""

from __future__ import annotations

from simcore.compiled import borrowing, inlined
from simcore.engine.fast.snapshot import are_equal
from simcore.engine.fast.state import DIMENSIONS as NET_DIMENSIONS
from simcore.engine.fast.state import (
    END_AT,
    NEVER,
    NOW,
    OUTSTANDING,
    SOLO_CLAIMS,
    SOLO_END_AT,
    SOLO_TYPE,
    locate_solo,
)
from simcore.engine.flow.claims import count_users, is_met, locate_span, share_in_passage
from simcore.engine.flow.in_flight import (
    count_solos,
    have_again,
    is_slowed,
    keep_flight,
    set_streams,
    way_served,
    write_key,
)
from simcore.engine.flow.tables import (
    ADDABLE_AT,
    AWAITED_PASSAGE,
    BEGIN,
    DIMENSIONS,
    DISTURBED,
    ENTRIES,
    ENTRIES_AT,
    ENTRIES_ROOM,
    HANDS_ON,
    ITS_STREAM,
    JOB,
    KEPT,
    KEPT_AT,
    KEPT_BEGIN,
    KEPT_ROOM,
    MODE,
    NOTES_ROOM,
    OPEN_RUN,
    P_BEGIN,
    P_DURATION,
    P_END,
    P_FIRST,
    P_NEXT,
    P_RUNS,
    P_SPANS,
    P_SPENT,
    PASSAGE_SIZE,
    PATTERN,
    PICKS,
    RECORD_BEGIN,
    RECORDED,
    REPLAYED,
    REPLAYS,
    RUN_FROM,
    RUN_REACH,
    RUN_SIZE,
    RUN_TO,
    RUN_WAY,
    RUNS,
    RUNS_AT,
    RUNS_ROOM,
    RUNS_USED,
    SEGMENT,
    SEGMENT_END,
    SENDS,
    SKIPPED,
    SKIPPERS,
    SKIPS,
    SPENT,
    SPENT_BEFORE,
    STRETCH,
    UNTIL,
    UNWORTHY,
    Ints,
    World,
    locate_class,
    locate_collective,
    locate_machine,
    locate_notes,
    locate_passages,
    locate_service,
    stream_of_way,
)

WORTHY = 32
"""Picks of a passage that is worth keeping what it found and left in flight."""


@inlined
def is_passage_over(plan: Ints, play: Ints, its: int, m: int, first: int) -> bool:
    """Whether a passage that begins with the segment `first` ends before the one that is due."""
    segment = play[m + SEGMENT]
    if segment == play[m + SEGMENT_END]:
        return True
    need = plan[plan[its + ADDABLE_AT] + segment]
    return bool(need == HANDS_ON or (need == SENDS and segment > first))


@inlined
def note_run(plan: Ints, play: Ints, c: int, d: int, now: int, way: int) -> None:
    """Dimension `d` of a class serves another way over shared links than before (-1: none)."""
    notes = locate_notes(play, c)
    if play[notes + RECORDED] == 0:
        return
    since = now - play[notes + RECORD_BEGIN]
    if play[notes + OPEN_RUN + d] >= 0:
        play[play[notes + OPEN_RUN + d] + RUN_TO] = since
        play[notes + OPEN_RUN + d] = -1
    if way >= 0:
        run = notes + OPEN_RUN + plan[DIMENSIONS] + play[notes + RUNS] * RUN_SIZE
        if run + RUN_SIZE > notes + play[NOTES_ROOM]:
            play[notes + RECORDED] = 0  # there is no room for it
            return
        play[notes + RUNS] += 1
        play[run + RUN_FROM], play[run + RUN_TO], play[run + RUN_WAY] = since, -1, way
        play[notes + OPEN_RUN + d] = run


@inlined
def note_run_of(plan: Ints, play: Ints, c: int, way: int, begin: int, end: int) -> None:
    """A class may serve a way over shared links at any time from `begin` to `end`."""
    notes = locate_notes(play, c)
    if play[notes + RECORDED] == 0:
        return
    run = notes + OPEN_RUN + plan[DIMENSIONS] + play[notes + RUNS] * RUN_SIZE
    if run + RUN_SIZE > notes + play[NOTES_ROOM]:
        play[notes + RECORDED] = 0  # there is no room for it
        return
    play[notes + RUNS] += 1
    since = play[notes + RECORD_BEGIN]
    play[run + RUN_FROM], play[run + RUN_TO], play[run + RUN_WAY] = begin - since, end - since, way


@inlined
def _find_passage(play: Ints, head: int, key: int) -> int:
    """The passage that begins with what the key at `key` says; 0 where none is known."""
    passage = play[head]
    while passage > 0:
        begin = play[passage + P_BEGIN]
        if begin == 0:
            equal = play[key] == 0
        else:
            equal = play[begin] == play[key] and are_equal(play[begin:], play[key:], play[key] + 1)
        if equal:
            break
        passage = play[passage + P_NEXT]
    return int(passage)


@borrowing
def _begin_recording(world: World, c: int) -> None:
    """Begin to record the passage that is due, with what is in flight."""
    nets, states, _, _, plan, play, _, _, _ = world
    its, m, notes = locate_class(plan, c), locate_machine(play, c), locate_notes(play, c)
    state = states[c]
    play[notes + RECORDED], play[notes + RECORD_BEGIN] = play[m + SEGMENT] + 1, state[NOW]
    play[notes + DISTURBED] = play[notes + RUNS] = play[notes + PICKS] = 0
    for category in range(STRETCH - SPENT):
        play[notes + SPENT_BEFORE + category] = play[m + SPENT + category]
    for d in range(plan[DIMENSIONS]):
        play[notes + OPEN_RUN + d] = -1
    play[notes + KEPT_BEGIN] = keep_flight(world, c)
    for least in range(nets[plan[its + JOB], NET_DIMENSIONS]):
        solo, end = locate_solo(state, least), state[state[SOLO_END_AT] + least]
        if end == NEVER or state[solo + SOLO_CLAIMS] == 0:
            continue
        collective = locate_collective(plan, play, its, state[solo + SOLO_TYPE])
        for number in range(play[collective + P_SPANS]):  # to its end, even if that is after the end of the passage
            span = locate_span(play, collective, number)
            if stream_of_way(plan, its, play[span + RUN_WAY]) >= 0:
                note_run_of(plan, play, c, play[span + RUN_WAY], state[NOW], end)
    for d in range(plan[DIMENSIONS]):
        if play[locate_service(plan, play, c, d) + ITS_STREAM] >= 0 and state[state[END_AT] + d] != NEVER:
            note_run(plan, play, c, d, state[NOW], way_served(plan, state, c, d))


@borrowing
def begin_passage(world: World, c: int) -> bool:
    """Wait for the passage that is due, if it is known and meets nobody; else begin to record it, if it is not known.

    False where it has to be played.
    """
    _, states, _, _, plan, play, _, _, _ = world
    its, m, now = locate_class(plan, c), locate_machine(play, c), states[c, NOW]
    notes = locate_notes(play, c)
    if plan[its + PATTERN] < 0 or play[REPLAYS] > 0 or play[notes + RECORDED] > 0 or is_slowed(world, c):
        return False
    head = locate_passages(plan, play, its, play[m + SEGMENT])
    if play[head] == UNWORTHY:
        return False
    write_key(world, c)
    passage = _find_passage(play, head, play[KEPT_AT] + play[KEPT])
    if passage == 0:
        if play[ENTRIES] < play[ENTRIES_ROOM] and play[KEPT] < play[KEPT_ROOM]:
            _begin_recording(world, c)
        return False
    set_streams(world, c, False)
    count_solos(world, c, -1)
    if is_met(world, its, passage, now, NEVER):
        count_solos(world, c, 1)
        set_streams(world, c, True)
        return False
    count_users(world, c, passage, 1)
    play[SKIPPERS] += 1
    play[notes + AWAITED_PASSAGE] = passage
    play[m + MODE], play[m + BEGIN], play[m + UNTIL] = SKIPS, now, now + play[passage + P_DURATION]
    if play[passage + P_END] > 0:
        have_again(world, c, play[passage + P_END], play[m + UNTIL])
    else:
        for d in range(plan[DIMENSIONS]):
            play[locate_service(plan, play, c, d) + ITS_STREAM] = -1
    return True


@borrowing
def _stop_waiting(world: World, c: int) -> int:
    """A class waits for its passage no longer, which claims nothing any more."""
    play = world[5]
    passage = play[locate_notes(play, c) + AWAITED_PASSAGE]
    count_users(world, c, passage, -1)
    play[SKIPPERS] -= 1
    return int(passage)


@borrowing
def end_passage(world: World, c: int) -> None:
    """A class has waited for its passage, of which nobody met anything: it goes on with what that left in flight."""
    _, _, _, _, plan, play, _, _, _ = world
    its, m = locate_class(plan, c), locate_machine(play, c)
    passage = _stop_waiting(world, c)
    count_solos(world, c, 1)
    set_streams(world, c, True)
    for category in range(STRETCH - SPENT):
        play[m + SPENT + category] += play[passage + P_SPENT + category]
    first = play[m + SEGMENT]
    while not is_passage_over(plan, play, its, m, first):
        play[m + SEGMENT] += 1
    play[SKIPPED] += 1


@borrowing
def drop_passage(world: World, c: int) -> None:
    """A class waits for its passage no longer: it will be played, from what was in flight then."""
    play = world[5]
    passage = _stop_waiting(world, c)
    if play[passage + P_BEGIN] > 0:
        have_again(world, c, play[passage + P_BEGIN], play[locate_machine(play, c) + BEGIN])
    count_solos(world, c, 1)
    play[REPLAYED] += 1


@inlined
def _widen_span(play: Ints, first: int, spans_at: int, number: int, spans: int) -> int:
    """Let the span of a run's way, one of so many `spans` or a new one, last to its end; how many there are then."""
    run = first + number * RUN_SIZE
    place = 0
    while place < spans and play[spans_at + place * RUN_SIZE + RUN_WAY] != play[run + RUN_WAY]:
        place += 1
    span = spans_at + place * RUN_SIZE
    if place == spans:
        play[span + RUN_FROM], play[span + RUN_WAY] = play[run + RUN_FROM], play[run + RUN_WAY]
        play[span + RUN_TO] = 0
    play[span + RUN_TO] = max(play[span + RUN_TO], play[run + RUN_TO])
    return int(max(spans, place + 1))


@inlined
def _keep_runs(plan: Ints, play: Ints, notes: int, passage: int) -> None:
    """Keep the runs that were noted, and after them the span of each way."""
    count = play[notes + RUNS]
    play[passage + P_FIRST], play[passage + P_RUNS] = play[RUNS_USED], count
    first, to = notes + OPEN_RUN + plan[DIMENSIONS], play[RUNS_AT] + play[RUNS_USED] * RUN_SIZE
    for i in range(count * RUN_SIZE):
        play[to + i] = play[first + i]
    reach = 0
    for number in range(count):
        run = to + number * RUN_SIZE
        if play[run + RUN_TO] < 0:  # a stream that ends now has not been struck off yet, or it goes on
            play[run + RUN_TO] = play[passage + P_DURATION]
        reach = max(reach, play[run + RUN_TO])
        play[run + RUN_REACH] = reach
    spans = 0
    for number in range(count):
        spans = _widen_span(play, to, to + count * RUN_SIZE, number, spans)
    play[passage + P_SPANS] = spans
    play[RUNS_USED] += count + spans


@borrowing
def finish_recording(world: World, c: int) -> None:
    """A passage that was recorded is over: keep it if nothing slowed it."""
    _, states, _, _, plan, play, _, _, _ = world
    its, m, notes = locate_class(plan, c), locate_machine(play, c), locate_notes(play, c)
    begin, head = play[notes + KEPT_BEGIN], locate_passages(plan, play, its, play[notes + RECORDED] - 1)
    idle = play[begin] == 0 and states[c, OUTSTANDING] == 0
    play[notes + RECORDED] = 0
    if play[notes + DISTURBED] or play[ENTRIES] == play[ENTRIES_ROOM] or play[KEPT] >= play[KEPT_ROOM]:
        return
    if play[RUNS_USED] + 2 * play[notes + RUNS] > play[RUNS_ROOM] or not (idle or play[notes + PICKS] >= WORTHY):
        if play[head] == 0:
            play[head] = UNWORTHY
        return
    if _find_passage(play, head, begin) > 0:  # another class was quicker
        return
    passage = play[ENTRIES_AT] + play[ENTRIES] * PASSAGE_SIZE
    play[ENTRIES] += 1
    # Another class may have found meanwhile that what it recorded from here is not worth it.
    play[passage + P_NEXT], play[head] = max(play[head], 0), passage
    play[passage + P_DURATION] = states[c, NOW] - play[notes + RECORD_BEGIN]
    if not idle:
        play[play[KEPT_AT] + play[KEPT]] = 0  # nobody asks for it by a key
        play[passage + P_BEGIN], play[passage + P_END] = begin, keep_flight(world, c)
    _keep_runs(plan, play, notes, passage)
    for category in range(STRETCH - SPENT):
        play[passage + P_SPENT + category] = play[m + SPENT + category] - play[notes + SPENT_BEFORE + category]


@borrowing
def meets_run(world: World, c: int, link: int, end: int) -> bool:
    """Whether the passage that class `c` waits for uses a link between now and `end`."""
    _, states, _, _, plan, play, _, _, _ = world
    its, m = locate_class(plan, c), locate_machine(play, c)
    passage = play[locate_notes(play, c) + AWAITED_PASSAGE]
    since, until = states[c, NOW] - play[m + BEGIN], end - play[m + BEGIN]
    return share_in_passage(world, its, passage, link, since, until) > 0
