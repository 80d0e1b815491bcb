"""What the future of a network depends on, moving it in time, and having it again.

For what leaves in flight what it found, or what was left before.
"""

from __future__ import annotations

from simcore.compiled import borrowing, inlined
from simcore.engine.fast.state import (
    ARRIVAL,
    DIMENSIONS,
    END_AT,
    ENTRY_PHASE,
    ENTRY_SIZE,
    ENTRY_TASK,
    FLIGHT_AT,
    FLIGHT_PHASE,
    FLIGHT_SIZE,
    FLIGHT_TASK,
    FLYING,
    HEAD,
    HELD,
    ISSUE_SHIFT,
    ISSUE_SIZE,
    ISSUE_WEIGHT,
    ISSUED,
    ISSUES_AT,
    LANDS,
    LANE_KEY,
    LANE_SIZE,
    LANES,
    NEVER,
    NEXT,
    NOW,
    POOL_AT,
    SOLO_BEGIN,
    SOLO_CLASS,
    SOLO_END_AT,
    SOLO_TYPE,
    STAGE,
    TASK,
    USED,
    Ints,
    locate_flight,
    locate_issue,
    locate_lanes,
    locate_serving,
    locate_solo,
)


@inlined
def _write_solos(net: Ints, state: Ints, out: Ints) -> int:
    """Write the solos; the length of what is written."""
    n = 0
    for least in range(net[DIMENSIONS]):
        end = state[state[SOLO_END_AT] + least]
        out[n] = end - state[NOW] if end != NEVER else -1
        n += 1
        if end != NEVER:
            solo = locate_solo(state, least)
            out[n], out[n + 1] = state[solo + SOLO_TYPE], state[solo + SOLO_CLASS]
            n += 2
    return n


@inlined
def _write_serving(state: Ints, d: int, out: Ints, n: int, oldest: int) -> tuple[int, int]:
    """Write what dimension `d` serves behind the first `n`; the length of what is written, and the oldest issue."""
    serving = locate_serving(state, d)
    end = state[state[END_AT] + d]
    busy = end != NEVER
    out[n] = end - state[NOW] if busy else -1
    out[n + 1] = state[serving + TASK] - (state[ISSUED] << ISSUE_SHIFT) if busy else 0
    out[n + 2] = state[serving + HELD]
    out[n + 3] = state[serving + LANES]
    if busy:
        oldest = min(oldest, state[serving + TASK] >> ISSUE_SHIFT)
    return n + 4, oldest


@inlined
def _write_lane(net: Ints, state: Ints, lane: int, out: Ints, n: int, oldest: int) -> tuple[int, int]:
    """Write a lane behind the first `n`; the length of what is written, and the oldest issue."""
    out[n] = state[lane + LANE_KEY] - net[ISSUE_WEIGHT] * state[ISSUED]
    out[n + 1] = NEVER  # no arrival: here begins a lane
    n += 2
    entry = state[lane + HEAD]
    while entry >= 0:
        out[n] = state[entry + ARRIVAL] - state[NOW]
        out[n + 1] = state[entry + ENTRY_TASK] - (state[ISSUED] << ISSUE_SHIFT)
        out[n + 2] = state[entry + ENTRY_PHASE]
        n += 3
        oldest = min(oldest, state[entry + ENTRY_TASK] >> ISSUE_SHIFT)
        entry = state[entry + NEXT]
    return n, oldest


@inlined
def _write_flight(state: Ints, out: Ints, n: int, oldest: int) -> tuple[int, int]:
    """Write the flying chunks behind the first `n`; the length of what is written, and the oldest issue."""
    for place in range(state[FLYING]):
        flight = locate_flight(state, place)
        out[n] = state[flight + LANDS] - state[NOW]
        out[n + 1] = state[flight + FLIGHT_TASK] - (state[ISSUED] << ISSUE_SHIFT)
        out[n + 2] = state[flight + FLIGHT_PHASE]
        n += 3
        oldest = min(oldest, state[flight + FLIGHT_TASK] >> ISSUE_SHIFT)
    return n, oldest


@borrowing
def take_snapshot(net: Ints, state: Ints, out: Ints) -> int:
    """Write what the future of the network depends on into `out`, with times from now and issues from the latest.

    Equal contents (of equal length, which is returned) mean equal futures.
    """
    n, oldest = _write_solos(net, state, out), state[ISSUED]
    for d in range(net[DIMENSIONS]):
        n, oldest = _write_serving(state, d, out, n, oldest)
        first = locate_lanes(state, d)
        for place in range(state[locate_serving(state, d) + LANES]):
            n, oldest = _write_lane(net, state, first + place * LANE_SIZE, out, n, oldest)
    n, oldest = _write_flight(state, out, n, oldest)
    for row in range(locate_issue(state, oldest), locate_issue(state, state[ISSUED])):
        out[n] = state[row]
        n += 1
    return int(n)


@inlined
def are_equal(a: Ints, b: Ints, length: int) -> bool:
    """Whether the first `length` numbers of two arrays are equal."""
    equal = True
    for i in range(length):
        if a[i] != b[i]:
            equal = False
            break
    return equal


@borrowing
def shift(net: Ints, state: Ints, by: int) -> None:
    """Move everything that is in flight `by` [ps] into the future."""
    state[NOW] += by
    for d in range(net[DIMENSIONS]):
        if state[state[SOLO_END_AT] + d] != NEVER:
            state[state[SOLO_END_AT] + d] += by
            state[locate_solo(state, d) + SOLO_BEGIN] += by
        if state[state[END_AT] + d] != NEVER:
            state[state[END_AT] + d] += by
        lane = locate_lanes(state, d)
        for _ in range(state[locate_serving(state, d) + LANES]):
            entry = state[lane + HEAD]
            while entry >= 0:
                state[entry + ARRIVAL] += by
                entry = state[entry + NEXT]
            lane += LANE_SIZE
    for place in range(state[FLYING]):
        state[locate_flight(state, place) + LANDS] += by


@inlined
def _copy(source: Ints, at: int, count: int, out: Ints, to: int) -> int:
    """Copy so many numbers from `at` to `to`; where the next ones go."""
    for i in range(count):
        out[to + i] = source[at + i]
    return int(to + count)


@borrowing
def pack_network(net: Ints, state: Ints, out: Ints) -> int:
    """Write all that a network is into `out`, nothing that it has room for; the length of what is written."""
    n = _copy(state, 0, locate_issue(state, state[ISSUED]), out, 0)
    n = _copy(state, state[FLIGHT_AT], state[FLYING] * FLIGHT_SIZE, out, n)
    n = _copy(state, state[POOL_AT], state[USED] * ENTRY_SIZE, out, n)
    for d in range(net[DIMENSIONS]):
        n = _copy(state, locate_lanes(state, d), state[locate_serving(state, d) + LANES] * LANE_SIZE, out, n)
    return int(n)


@borrowing
def unpack_network(net: Ints, packed: Ints, state: Ints, time: int) -> None:
    """Let a network of the same job be what was written of another one, as if that were so at `time`.

    Collectives count from the first one that is still played: the future is the same.
    """
    n = _copy(packed, STAGE + 1, state[ISSUES_AT] - STAGE - 1, state, STAGE + 1)
    for part, size in (
        (state[ISSUES_AT], state[ISSUED] * ISSUE_SIZE),
        (state[FLIGHT_AT], state[FLYING] * FLIGHT_SIZE),
        (state[POOL_AT], state[USED] * ENTRY_SIZE),
    ):
        _copy(packed, n, size, state, part)
        n += size
    for d in range(net[DIMENSIONS]):
        size = state[locate_serving(state, d) + LANES] * LANE_SIZE
        _copy(packed, n, size, state, locate_lanes(state, d))
        n += size
    shift(net, state, time - state[NOW])
    _forget_issues(net, state, _find_oldest_issue(net, state))


@inlined
def _find_oldest_issue(net: Ints, state: Ints) -> int:
    """The first issued collective that is still played; how many were issued if there is none."""
    oldest = state[ISSUED]
    for d in range(net[DIMENSIONS]):
        serving = locate_serving(state, d)
        if state[state[END_AT] + d] != NEVER:
            oldest = min(oldest, state[serving + TASK] >> ISSUE_SHIFT)
        lane = locate_lanes(state, d)
        for _ in range(state[serving + LANES]):
            entry = state[lane + HEAD]
            while entry >= 0:
                oldest = min(oldest, state[entry + ENTRY_TASK] >> ISSUE_SHIFT)
                entry = state[entry + NEXT]
            lane += LANE_SIZE
    for place in range(state[FLYING]):
        oldest = min(oldest, state[locate_flight(state, place) + FLIGHT_TASK] >> ISSUE_SHIFT)
    return int(oldest)


@inlined
def _forget_issues(net: Ints, state: Ints, count: int) -> None:
    """Forget the first `count` issued collectives, which are over: the others are numbered from 0."""
    if count == 0:
        return
    for i in range(locate_issue(state, count), locate_issue(state, state[ISSUED])):
        state[i - count * ISSUE_SIZE] = state[i]
    state[ISSUED] -= count
    for d in range(net[DIMENSIONS]):
        serving, lane = locate_serving(state, d), locate_lanes(state, d)
        state[serving + TASK] -= count << ISSUE_SHIFT
        for _ in range(state[serving + LANES]):
            state[lane + LANE_KEY] -= net[ISSUE_WEIGHT] * count
            entry = state[lane + HEAD]
            while entry >= 0:
                state[entry + ENTRY_TASK] -= count << ISSUE_SHIFT
                entry = state[entry + NEXT]
            lane += LANE_SIZE
    for place in range(state[FLYING]):
        state[locate_flight(state, place) + FLIGHT_TASK] -= count << ISSUE_SHIFT
