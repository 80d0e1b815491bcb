"""Passages: what a class does from an idle network to an idle network over links that nobody else uses meanwhile.

A passage is a row of segments that hands nothing on, or a message to the next stage. Where its network is idle before
and after it and no stream of another class slows one of its own, it always takes the same time, and serves the same
ways at the same times after its beginning: its *runs*. So it is played and recorded once, for all classes that share
links on the same ways, and then only waited for, while what all classes need of its links fits on them (`claims`). If
it may not any more, it is played from its beginning up to now (`replay`), which nobody has felt, and goes on being
played.
"""

from __future__ import annotations

from simcore.compiled import borrowing, inlined
from simcore.engine.fast.state import NOW, OUTSTANDING
from simcore.engine.fast.tables import CONSTANT, UNKNOWN, VARIES
from simcore.engine.flow.claims import count_users, is_met, share_in_passage
from simcore.engine.flow.tables import (
    ADDABLE_AT,
    BEGIN,
    DIMENSIONS,
    DISTURBED,
    HANDS_ON,
    MODE,
    NOTES_ROOM,
    OPEN_RUN,
    P_DURATION,
    P_FIRST,
    P_KNOWN,
    P_RUNS,
    P_SPANS,
    P_SPENT,
    PATTERN,
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
    Ints,
    World,
    locate_class,
    locate_machine,
    locate_notes,
    locate_passage,
)


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


@borrowing
def begin_passage(world: World, c: int) -> bool:
    """Wait for the passage that is due, if it is known and meets nobody; else begin to record it, if it is not known.

    False where it has to be played.
    """
    _, states, _, _, plan, play, _, _, _ = world
    its, m, now = locate_class(plan, c), locate_machine(play, c), states[c, NOW]
    if plan[its + PATTERN] < 0 or play[REPLAYS] > 0 or states[c, OUTSTANDING] > 0:
        return False
    notes, passage = locate_notes(play, c), locate_passage(plan, play, its, play[m + SEGMENT])
    if play[passage + P_KNOWN] == UNKNOWN and play[notes + RECORDED] == 0:
        play[notes + RECORDED], play[notes + RECORD_BEGIN] = play[m + SEGMENT] + 1, now
        play[notes + DISTURBED] = play[notes + RUNS] = 0
        for d in range(plan[DIMENSIONS]):
            play[notes + OPEN_RUN + d] = -1
        for category in range(STRETCH - SPENT):
            play[notes + SPENT_BEFORE + category] = play[m + SPENT + category]
    if play[passage + P_KNOWN] != CONSTANT or play[notes + RECORDED] > 0:
        return False
    if is_met(world, its, passage, now, play[passage + P_DURATION]):
        return False
    count_users(world, c, passage, 1)
    play[m + MODE], play[m + BEGIN], play[m + UNTIL] = SKIPS, now, now + play[passage + P_DURATION]
    play[SKIPPERS] += 1
    return True


@borrowing
def end_passage(world: World, c: int) -> None:
    """A class has waited for its passage, of which nobody met anything."""
    _, _, _, _, plan, play, _, _, _ = world
    its, m = locate_class(plan, c), locate_machine(play, c)
    passage = locate_passage(plan, play, its, play[m + SEGMENT])
    count_users(world, c, passage, -1)
    play[SKIPPERS] -= 1
    for category in range(STRETCH - SPENT):
        play[m + SPENT + category] += play[passage + P_SPENT + category]
    first = play[m + SEGMENT]
    while not is_passage_over(plan, play, its, m, first):
        play[m + SEGMENT] += 1
    play[SKIPPED] += 1


@borrowing
def drop_passage(world: World, c: int) -> None:
    """A class waits for its passage no longer: it will be played."""
    plan, play = world[4], world[5]
    its, m = locate_class(plan, c), locate_machine(play, c)
    passage = locate_passage(plan, play, its, play[m + SEGMENT])
    count_users(world, c, passage, -1)
    play[SKIPPERS] -= 1
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


@borrowing
def finish_recording(world: World, c: int) -> None:
    """A passage that was recorded is over: keep it if the network is idle and nothing slowed it."""
    _, states, _, _, plan, play, _, _, _ = world
    its, m, notes = locate_class(plan, c), locate_machine(play, c), locate_notes(play, c)
    passage = locate_passage(plan, play, its, play[notes + RECORDED] - 1)
    count = play[notes + RUNS]
    play[notes + RECORDED] = 0
    if play[passage + P_KNOWN] != UNKNOWN or play[notes + DISTURBED]:
        return
    if states[c, OUTSTANDING] > 0 or play[RUNS_USED] + 2 * count > play[RUNS_ROOM]:
        play[passage + P_KNOWN] = VARIES
        return
    play[passage + P_KNOWN] = CONSTANT
    play[passage + P_DURATION] = states[c, NOW] - play[notes + RECORD_BEGIN]
    play[passage + P_FIRST], play[passage + P_RUNS] = play[RUNS_USED], count
    first, to = notes + OPEN_RUN + plan[DIMENSIONS], play[RUNS_AT] + play[RUNS_USED] * RUN_SIZE
    for i in range(count * RUN_SIZE):
        play[to + i] = play[first + i]
    reach = 0
    for number in range(count):
        run = to + number * RUN_SIZE
        if play[run + RUN_TO] < 0:  # a stream that ends now has not been struck off yet
            play[run + RUN_TO] = play[passage + P_DURATION]
        reach = max(reach, play[run + RUN_TO])
        play[run + RUN_REACH] = reach
    spans = 0
    for number in range(count):
        spans = _widen_span(play, to, to + count * RUN_SIZE, number, spans)
    play[passage + P_SPANS] = spans
    play[RUNS_USED] += count + spans
    for category in range(STRETCH - SPENT):
        play[passage + P_SPENT + category] = play[m + SPENT + category] - play[notes + SPENT_BEFORE + category]


@borrowing
def meets_run(world: World, c: int, link: int, end: int) -> bool:
    """Whether the passage that class `c` waits for uses a link between now and `end`."""
    _, states, _, _, plan, play, _, _, _ = world
    its, m = locate_class(plan, c), locate_machine(play, c)
    passage = locate_passage(plan, play, its, play[m + SEGMENT])
    since, until = states[c, NOW] - play[m + BEGIN], end - play[m + BEGIN]
    return share_in_passage(world, its, passage, link, since, until) > 0
