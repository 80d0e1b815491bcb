"""What the future of a network depends on, and moving it in time: for repeats that leave in flight what they found."""

from __future__ import annotations

from simcore.compiled import compiled
from simcore.engine.fast.state import (
    ARRIVAL,
    DIMENSIONS,
    END_AT,
    ENTRY_PHASE,
    ENTRY_TASK,
    FLIGHT_AT,
    FLIGHT_SIZE,
    FLYING,
    HEAD,
    HELD,
    ISSUE_SHIFT,
    ISSUE_SIZE,
    ISSUE_WEIGHT,
    ISSUED,
    ISSUES_AT,
    LANE_KEY,
    LANE_ROOM,
    LANE_SIZE,
    LANES,
    LANES_AT,
    NEVER,
    NEXT,
    NOW,
    SERVING_AT,
    SERVING_SIZE,
    SOLO_AT,
    SOLO_BEGIN,
    SOLO_CLASS,
    SOLO_END_AT,
    SOLO_SIZE,
    SOLO_TYPE,
    TASK,
    Ints,
)


@compiled
def normalized(net: Ints, state: Ints, out: Ints) -> int:
    """Write what the future of the network depends on into `out`, with times from now and issues from the latest.

    Equal contents (of equal length, which is returned) mean equal futures.
    """
    now, latest = state[NOW], state[ISSUED]
    oldest = latest
    n = 0
    for component in range(net[DIMENSIONS]):
        end = state[state[SOLO_END_AT] + component]
        out[n] = end - now if end != NEVER else -1
        n += 1
        if end != NEVER:
            solo = state[SOLO_AT] + component * SOLO_SIZE
            out[n], out[n + 1] = state[solo + SOLO_TYPE], state[solo + SOLO_CLASS]
            n += 2
    for d in range(net[DIMENSIONS]):
        serving = state[SERVING_AT] + d * SERVING_SIZE
        end = state[state[END_AT] + d]
        busy = end != NEVER
        out[n] = end - now if busy else -1
        out[n + 1] = state[serving + TASK] - (latest << ISSUE_SHIFT) if busy else 0
        out[n + 2] = state[serving + HELD]
        out[n + 3] = state[serving + LANES]
        n += 4
        if busy:
            oldest = min(oldest, state[serving + TASK] >> ISSUE_SHIFT)
        lane = state[LANES_AT] + d * state[LANE_ROOM] * LANE_SIZE
        for _ in range(state[serving + LANES]):
            out[n] = state[lane + LANE_KEY] - net[ISSUE_WEIGHT] * latest
            out[n + 1] = NEVER  # no arrival: here begins a lane
            n += 2
            entry = state[lane + HEAD]
            while entry >= 0:
                out[n] = state[entry + ARRIVAL] - now
                out[n + 1] = state[entry + ENTRY_TASK] - (latest << ISSUE_SHIFT)
                out[n + 2] = state[entry + ENTRY_PHASE]
                n += 3
                oldest = min(oldest, state[entry + ENTRY_TASK] >> ISSUE_SHIFT)
                entry = state[entry + NEXT]
            lane += LANE_SIZE
    for i in range(state[FLYING]):
        at = state[FLIGHT_AT] + i * FLIGHT_SIZE
        out[n] = state[at] - now
        out[n + 1] = state[at + 1] - (latest << ISSUE_SHIFT)
        out[n + 2] = state[at + 2]
        n += 3
        oldest = min(oldest, state[at + 1] >> ISSUE_SHIFT)
    for issue in range(oldest, latest):
        row = state[ISSUES_AT] + issue * ISSUE_SIZE
        for column in range(ISSUE_SIZE):
            out[n + column] = state[row + column]
        n += ISSUE_SIZE
    return int(n)


@compiled
def shift(net: Ints, state: Ints, by: int) -> None:
    """Move everything that is in flight `by` [ps] into the future."""
    state[NOW] += by
    for d in range(net[DIMENSIONS]):
        if state[state[SOLO_END_AT] + d] != NEVER:
            state[state[SOLO_END_AT] + d] += by
            state[state[SOLO_AT] + d * SOLO_SIZE + SOLO_BEGIN] += by
        if state[state[END_AT] + d] != NEVER:
            state[state[END_AT] + d] += by
        lane = state[LANES_AT] + d * state[LANE_ROOM] * LANE_SIZE
        for _ in range(state[state[SERVING_AT] + d * SERVING_SIZE + LANES]):
            entry = state[lane + HEAD]
            while entry >= 0:
                state[entry + ARRIVAL] += by
                entry = state[entry + NEXT]
            lane += LANE_SIZE
    for i in range(state[FLYING]):
        state[state[FLIGHT_AT] + i * FLIGHT_SIZE] += by
