"""The queue of a dimension: a few lanes, one per policy key, each linked by arrival.

What comes later goes to the end of its lane, so every policy costs a few steps, where a heap would cost a walk down its
depth. The reference engine has a heap instead (`reference.phase_level.Queue`); the order is the same.
"""

from __future__ import annotations

from simcore.compiled import inlined
from simcore.engine.fast.state import (
    ARRIVAL,
    ENTRY_PHASE,
    ENTRY_SIZE,
    ENTRY_TASK,
    FREE,
    HEAD,
    LANE_KEY,
    LANE_SIZE,
    LANES,
    NEXT,
    NOW,
    POOL_AT,
    PREVIOUS,
    TAIL,
    USED,
    Ints,
    locate_lanes,
    locate_serving,
)


@inlined
def find_lane(state: Ints, d: int, key: int) -> int:
    """Where the lane of `key` in the queue of dimension `d` lies; a new one where there is none."""
    lanes = locate_serving(state, d) + LANES
    lane = locate_lanes(state, d)
    end = lane + state[lanes] * LANE_SIZE
    while lane < end and state[lane + LANE_KEY] < key:
        lane += LANE_SIZE
    if lane == end or state[lane + LANE_KEY] != key:
        i = end - 1
        while i >= lane:
            state[i + LANE_SIZE] = state[i]
            i -= 1
        state[lane + LANE_KEY] = key
        state[lane + TAIL] = -1
        state[lanes] += 1
    return int(lane)


@inlined
def join_lane(state: Ints, lane: int, task: int, phase: int) -> None:
    """Put a task that arrives now into a lane: behind all that are there, but for ties."""
    entry = state[FREE]
    if entry >= 0:
        state[FREE] = state[entry + NEXT]
    else:
        entry = state[POOL_AT] + state[USED] * ENTRY_SIZE
        state[USED] += 1
    now = state[NOW]
    state[entry + ARRIVAL], state[entry + ENTRY_TASK], state[entry + ENTRY_PHASE] = now, task, phase
    after, before = state[lane + TAIL], -1
    while after >= 0 and state[after + ARRIVAL] == now and state[after + ENTRY_TASK] > task:
        before = after
        after = state[after + PREVIOUS]
    state[entry + NEXT], state[entry + PREVIOUS] = before, after
    if before >= 0:
        state[before + PREVIOUS] = entry
    else:
        state[lane + TAIL] = entry
    if after >= 0:
        state[after + NEXT] = entry
    else:
        state[lane + HEAD] = entry


@inlined
def drop_first(state: Ints, d: int) -> None:
    """Take the first entry out of the queue of dimension `d`; a lane that is empty after that goes too."""
    lane = locate_lanes(state, d)
    entry = state[lane + HEAD]
    following = state[entry + NEXT]
    state[entry + NEXT] = state[FREE]
    state[FREE] = entry
    if following >= 0:
        state[lane + HEAD] = following
        state[following + PREVIOUS] = -1
    else:
        lanes = locate_serving(state, d) + LANES
        state[lanes] -= 1
        for i in range(lane, lane + state[lanes] * LANE_SIZE):
            state[i] = state[i + LANE_SIZE]
