"""An operator beside what is in flight of its class, which slows it down (`fast.computation`)."""

from __future__ import annotations

from simcore.compiled import borrowing, inlined
from simcore.engine.fast.queues import find_level
from simcore.engine.fast.solo import look_at_solos
from simcore.engine.fast.state import CARRY_AT, LEVELS, NEVER, NOW, OUTSTANDING, SLOWDOWNS_AT
from simcore.engine.flow.tables import COMPUTES, COMPUTES_BESIDE, LEVEL, MODE, SINCE, UNTIL, WORK, Ints
from simcore.engine.interference import time_left_over, time_needed, work_done

_time_needed, _work_done, _time_left_over = inlined(time_needed), inlined(work_done), inlined(time_left_over)


@inlined
def settle(net: Ints, state: Ints, play: Ints, m: int, time: int) -> None:
    """Count the work that a computation has done by now at its present level."""
    passed = time - play[m + SINCE]
    if passed > 0:
        slowdown = net[net[SLOWDOWNS_AT] + play[m + LEVEL]]
        carry = state[CARRY_AT] + play[m + LEVEL]
        before = state[carry]
        play[m + WORK] -= _work_done(passed, before, slowdown)
        state[carry] = _time_left_over(passed, before, slowdown)
        play[m + SINCE] = time


@borrowing
def find_computed(net: Ints, state: Ints, play: Ints, m: int, time: int) -> int:
    """When the computation of a class ends, or what slows it changes; its dimensions have picked."""
    settle(net, state, play, m, time)
    level, until = look_at_solos(net, state, find_level(net, state), NEVER)
    play[m + LEVEL] = level
    carry = state[state[CARRY_AT] + level]
    return int(min(until, time + _time_needed(play[m + WORK], carry, net[net[SLOWDOWNS_AT] + level])))


@inlined
def begin_computation(net: Ints, state: Ints, play: Ints, m: int, work: int) -> None:
    """Begin to compute `work` [ps]."""
    now = state[NOW]
    if net[LEVELS] == 0 or state[OUTSTANDING] == 0:
        play[m + MODE], play[m + UNTIL] = COMPUTES, now + work
        return
    play[m + MODE], play[m + WORK], play[m + SINCE], play[m + LEVEL] = COMPUTES_BESIDE, work, now, 0
    for level in range(net[LEVELS] + 1):
        state[state[CARRY_AT] + level] = 0
