"""Computation beside collectives, which slow it while they are served (`simcore.engine.interference`)."""

from __future__ import annotations

from simcore.compiled import borrowing, inlined
from simcore.engine.fast.queues import advance, find_level, happen, pick_all
from simcore.engine.fast.solo import look_at_solos
from simcore.engine.fast.state import CARRY_AT, LEVELS, NOW, OUTSTANDING, SLOWDOWNS_AT, Ints
from simcore.engine.interference import time_left_over, time_needed, work_done

_time_needed, _work_done, _time_left_over = inlined(time_needed), inlined(work_done), inlined(time_left_over)


@borrowing
def compute(net: Ints, state: Ints, work: int) -> None:
    """Let the network run until `work` [ps] is done, up to and including what happens then (as `advance`)."""
    if net[LEVELS] == 0:
        advance(net, state, state[NOW] + work)
        return
    for level in range(net[LEVELS] + 1):
        state[state[CARRY_AT] + level] = 0
    while work > 0:
        if state[OUTSTANDING] == 0:
            state[NOW] += work
            return
        time = pick_all(net, state)
        serving, until = find_level(net, state), state[NOW]
        while until < time and work > 0:
            level, until = look_at_solos(net, state, serving, time)
            slowdown, carry = net[net[SLOWDOWNS_AT] + level], state[CARRY_AT] + level
            passed, before = until - state[NOW], state[carry]
            done = _work_done(passed, before, slowdown)
            if done >= work:
                needed = _time_needed(work, before, slowdown)
                if needed < passed:
                    state[NOW] += needed
                    return
            work -= done
            state[carry] = _time_left_over(passed, before, slowdown)
            state[NOW] = until
        if until == time:
            happen(net, state, time)
