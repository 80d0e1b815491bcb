"""Meetings: a chunk that members of several classes serve flies once the last of them has served it."""

from __future__ import annotations

from simcore.compiled import borrowing, inlined
from simcore.engine.fast.flight import take_off
from simcore.engine.fast.state import ISSUE_SHIFT, LATENCY, NOW, TYPE, locate_issue
from simcore.engine.flow.tables import (
    A_CLASS,
    A_NEXT,
    A_PHASE,
    A_TASK,
    ATTENDEE_SIZE,
    ATTENDEES,
    ATTENDEES_AT,
    BUCKETS,
    BUCKETS_AT,
    FREE_ATTENDEE,
    FREE_MEETING,
    JOB,
    M_COUNT,
    M_FIRST,
    M_ISSUE,
    M_NEXT,
    M_PART,
    M_ROW,
    M_TYPE,
    MEET,
    MEETING_SIZE,
    MEETINGS,
    MEETINGS_AT,
    ROW,
    TAIL,
    Ints,
    World,
    let_move,
    locate_class,
    locate_sequences,
    mix,
)

_PART_MASK = (1 << ISSUE_SHIFT) - 1


@inlined
def _take_attendee(play: Ints) -> int:
    """Where a free attendee lies."""
    place = play[FREE_ATTENDEE]
    if place >= 0:
        play[FREE_ATTENDEE] = play[place + A_NEXT]
    else:
        place = play[ATTENDEES_AT] + play[ATTENDEES] * ATTENDEE_SIZE
        play[ATTENDEES] += 1
    return int(place)


@inlined
def _take_meeting(play: Ints) -> int:
    """Where a free meeting lies."""
    place = play[FREE_MEETING]
    if place >= 0:
        play[FREE_MEETING] = play[place + M_NEXT]
    else:
        place = play[MEETINGS_AT] + play[MEETINGS] * MEETING_SIZE
        play[MEETINGS] += 1
    return int(place)


@inlined
def _bucket_of(play: Ints, row: int, kind: int, issue: int, part: int) -> int:
    """Where the first meeting of a bucket lies."""
    return int(play[BUCKETS_AT] + (mix(mix(mix(row, kind), issue), part) & (play[BUCKETS] - 1)))


@inlined
def _find_meeting(play: Ints, row: int, kind: int, issue: int, part: int) -> int:
    """Where a meeting lies, which begins where there is none yet."""
    bucket = _bucket_of(play, row, kind, issue, part)
    place = play[bucket]
    while place >= 0:
        if (
            play[place + M_PART] == part
            and play[place + M_ISSUE] == issue
            and play[place + M_TYPE] == kind
            and play[place + M_ROW] == row
        ):
            return int(place)
        place = play[place + M_NEXT]
    place = _take_meeting(play)
    play[place + M_ROW], play[place + M_TYPE], play[place + M_ISSUE], play[place + M_PART] = row, kind, issue, part
    play[place + M_COUNT], play[place + M_FIRST], play[place + M_NEXT] = 0, -1, play[bucket]
    play[bucket] = place
    return int(place)


@inlined
def _close(play: Ints, place: int) -> None:
    """Strike a meeting off, whose attendees have gone."""
    link = _bucket_of(play, play[place + M_ROW], play[place + M_TYPE], play[place + M_ISSUE], play[place + M_PART])
    while play[link] != place:
        link = play[link] + M_NEXT
    play[link] = play[place + M_NEXT]
    play[place + M_NEXT] = play[FREE_MEETING]
    play[FREE_MEETING] = place


@borrowing
def meet(world: World, c: int, task: int, phase: int, way: int) -> None:
    """A class has served a phase of a chunk; with the last class of its row all of them let the chunk fly."""
    nets, states, _, _, plan, play, _, _, _ = world
    its = locate_class(plan, c)
    state, net = states[c], nets[plan[its + JOB]]
    number = task >> ISSUE_SHIFT
    kind = state[locate_issue(state, number) + TYPE]
    issue = play[locate_sequences(plan, play, c) + number]
    place = _find_meeting(play, plan[way + ROW], kind, issue, task & _PART_MASK)
    attendee = _take_attendee(play)
    play[attendee + A_CLASS], play[attendee + A_TASK], play[attendee + A_PHASE] = c, task, phase
    play[attendee + A_NEXT] = play[place + M_FIRST]
    play[place + M_FIRST] = attendee
    play[place + M_COUNT] += 1
    if play[place + M_COUNT] < plan[way + MEET]:
        return
    lands = state[NOW] + net[phase + LATENCY] + plan[way + TAIL]
    while attendee >= 0:
        other = play[attendee + A_CLASS]
        take_off(states[other], lands, play[attendee + A_TASK], play[attendee + A_PHASE])
        let_move(play, other)
        following = play[attendee + A_NEXT]
        play[attendee + A_NEXT] = play[FREE_ATTENDEE]
        play[FREE_ATTENDEE] = attendee
        attendee = following
    _close(play, place)
