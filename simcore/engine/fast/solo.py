"""Collectives that nothing meets: noted, and played only if another one joins them.

A collective that is alone on the dimensions that it uses takes the same time whatever happens on others. It is a
*solo*: its type, class, start and end are noted, and its end is an event like any other. If another one starts before
that which uses one of its dimensions, the solo is played from its start up to then, and is a solo no longer. When one
slows computation beside it is the *profile* of its type, written when that is rehearsed.
"""

from __future__ import annotations

from simcore.compiled import borrowing, inlined
from simcore.engine.fast.queues import advance, count, end_solo, find_level, happen, is_alone, issue, pick_all, wait
from simcore.engine.fast.state import (
    ALONE,
    CHUNKS_AT,
    DIMENSIONS,
    LANES,
    LEAST,
    LEVEL,
    LISTED,
    NEVER,
    NOW,
    OUTSTANDING,
    PROFILE,
    PROFILE_SIZE,
    READY,
    READY_AT,
    SOLO_BEGIN,
    SOLO_CLASS,
    SOLO_END_AT,
    SOLO_PROFILE,
    SOLO_TYPE,
    TYPE_SIZE,
    TYPES_AT,
    UNTIL,
    USES,
    Ints,
    locate_serving,
    locate_solo,
    locate_type,
)


@borrowing
def join(net: Ints, state: Ints, least: int) -> None:
    """Put a solo into its queues, as far as it has come by now: it is a solo no longer.

    It is played from its start while the rest stands still. What happens elsewhere does so later than now; only picks
    are due now, so those dimensions are set aside (those with nothing to pick are only struck off the list).
    """
    aside = 0
    for i in range(state[READY]):
        d = state[state[READY_AT] + i]
        serving = locate_serving(state, d)
        if state[serving + LANES] > 0:
            state[state[READY_AT] + aside] = d
            aside += 1
        else:
            state[serving + LISTED] = 0
    state[READY_AT] += aside
    state[READY] = 0
    now = state[NOW]
    solo = locate_solo(state, least)
    end_solo(net, state, least)
    state[NOW] = state[solo + SOLO_BEGIN]
    issue(net, state, state[solo + SOLO_TYPE], state[solo + SOLO_CLASS])
    advance(net, state, now)
    state[READY_AT] -= aside
    state[READY] += aside


@inlined
def begin_solo(net: Ints, state: Ints, kind: int, group: int) -> None:
    """Note a collective that is alone on its dimensions."""
    its = locate_type(net, kind)
    solo = locate_solo(state, net[its + LEAST])
    state[solo + SOLO_TYPE], state[solo + SOLO_CLASS], state[solo + SOLO_BEGIN] = kind, group, state[NOW]
    state[solo + SOLO_PROFILE] = net[its + PROFILE]
    state[state[SOLO_END_AT] + net[its + LEAST]] = state[NOW] + net[its + ALONE]
    count(net, state, kind, group, 1)


@inlined
def meets_solo(net: Ints, state: Ints, kind: int, least: int) -> bool:
    """Whether there is a solo of which dimension `least` is the least, and a type uses a dimension of it."""
    if state[state[SOLO_END_AT] + least] == NEVER:
        return False
    other = state[locate_solo(state, least) + SOLO_TYPE]
    return bool(net[locate_type(net, kind) + USES] & net[locate_type(net, other) + USES])


@borrowing
def start(net: Ints, state: Ints, kind: int, group: int) -> None:
    """Issue a collective of type `kind` and class `group` now.

    While nothing else is outstanding on its dimensions, how long it takes is known (`rehearse`): it is noted as a
    *solo* and not played, until another one starts there.
    """
    if is_alone(net, state, kind):
        begin_solo(net, state, kind, group)
        return
    for least in range(net[DIMENSIONS]):
        if meets_solo(net, state, kind, least):
            join(net, state, least)
    issue(net, state, kind, group)


@inlined
def look_at_solos(net: Ints, state: Ints, level: int, until: int) -> tuple[int, int]:
    """The largest level now of `level` and those of the solos, and until when none of these changes or `until`."""
    for least in range(net[DIMENSIONS]):
        solo = locate_solo(state, least)
        entry = state[solo + SOLO_PROFILE]
        if state[state[SOLO_END_AT] + least] != NEVER and entry > 0:
            begin = state[solo + SOLO_BEGIN]
            while begin + net[entry + UNTIL] <= state[NOW]:
                entry += PROFILE_SIZE
            state[solo + SOLO_PROFILE] = entry
            level, until = max(level, net[entry + LEVEL]), min(until, begin + net[entry + UNTIL])
    return int(level), int(until)


@borrowing
def _write_profile(net: Ints, state: Ints, kind: int) -> None:
    """Play a type of collective alone and write when it slows computation how much; `state` is idle at 0."""
    entry = net[locate_type(net, kind) + PROFILE]
    issue(net, state, kind, 0)
    while state[OUTSTANDING] > 0:
        time, level = pick_all(net, state), find_level(net, state)
        if state[NOW] > 0 and level != net[entry + LEVEL]:
            entry += PROFILE_SIZE
        net[entry + UNTIL], net[entry + LEVEL] = time, level
        happen(net, state, time)


@borrowing
def rehearse(net: Ints, state: Ints) -> None:
    """Play each type of collective of which is not known what it does alone; `state` is idle at 0."""
    for kind in range((net[CHUNKS_AT] - net[TYPES_AT]) // TYPE_SIZE):
        its = locate_type(net, kind)
        if net[its + PROFILE] > 0:
            _write_profile(net, state, kind)
        elif net[its + ALONE] == 0:
            issue(net, state, kind, 0)
            wait(net, state, 0)
        else:
            continue
        net[its + ALONE] = state[NOW]
        state[NOW] = 0
