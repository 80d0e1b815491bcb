"""The network of one NPU as a compiled event loop: one queue per dimension, chunks that flow through phases.

A *task* is one phase of one chunk of one issued collective, packed into an int64 as (issue, chunk, phase) so that
its order is the order in which ties are broken. A task waits in its dimension's queue by (policy key, arrival, task),
occupies the dimension for its serialization time, flies for its latency, and arrives at its next phase. At any one
picosecond, arrivals come before the program's own moves, and those before any queue picks its next task; so the
outcome depends on no processing order.

All chunks of a collective arrive at their first phases together, so those that begin in the same queue stand there as
one entry, the earliest chunk's, which turns into the next one's when it is served: nothing can come between two.

What nothing meets is not played (`simcore.engine.fast.solo`): of it, only the end is an event here.

Its arrays are those of `simcore.engine.fast.state`.
"""

from __future__ import annotations

from simcore.compiled import compiled, inlined
from simcore.engine.fast.state import (
    ARRIVAL,
    BEGINS,
    BUSY_AT,
    CHUNK_MASK,
    CHUNK_SIZE,
    CHUNKS,
    CHUNKS_AT,
    CLASS,
    COMPONENT,
    DIMENSION,
    DIMENSIONS,
    END_AT,
    ENTRY_PHASE,
    ENTRY_SIZE,
    ENTRY_TASK,
    FIRST,
    FLIGHT_AT,
    FLIGHT_SIZE,
    FLYING,
    FOLLOWER,
    FREE,
    HEAD,
    HEADS,
    HEADS_END,
    HELD,
    ISSUE_SHIFT,
    ISSUE_SIZE,
    ISSUE_WEIGHT,
    ISSUED,
    ISSUES_AT,
    KEY,
    LANE_KEY,
    LANE_ROOM,
    LANE_SIZE,
    LANES,
    LANES_AT,
    LATENCY,
    LEFT,
    LISTED,
    MORE,
    NEVER,
    NEXT,
    NOW,
    OUTSTANDING,
    PENDING,
    PHASE,
    PHASE_BITS,
    PHASE_MASK,
    PHASE_SIZE,
    POOL_AT,
    PREVIOUS,
    READY,
    READY_AT,
    SERIALIZATION,
    SERVING_AT,
    SERVING_SIZE,
    SLOTS,
    SOLO_AT,
    SOLO_CLASS,
    SOLO_END_AT,
    SOLO_SIZE,
    SOLO_TYPE,
    TAIL,
    TASK,
    TYPE,
    TYPE_SIZE,
    TYPES_AT,
    USED,
    Ints,
)


@inlined
def _take_off(state: Ints, arrival: int, task: int, phase: int) -> None:
    """Add a chunk to those in flight."""
    base = state[FLIGHT_AT]
    i = state[FLYING]
    state[FLYING] = i + 1
    while i > 0:
        parent = (i - 1) >> 1
        at = base + FLIGHT_SIZE * parent
        if state[at] <= arrival:
            break
        here = base + FLIGHT_SIZE * i
        for column in range(FLIGHT_SIZE):
            state[here + column] = state[at + column]
        i = parent
    here = base + FLIGHT_SIZE * i
    state[here], state[here + 1], state[here + 2] = arrival, task, phase


@inlined
def _land(state: Ints) -> None:
    """Take the chunk that arrives first out of those in flight."""
    base = state[FLIGHT_AT]
    length = state[FLYING] - 1
    state[FLYING] = length
    last = base + FLIGHT_SIZE * length
    arrival, task, phase = state[last], state[last + 1], state[last + 2]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= length:
            break
        at = base + FLIGHT_SIZE * child
        if child + 1 < length and state[at + FLIGHT_SIZE] < state[at]:
            child += 1
            at += FLIGHT_SIZE
        if arrival <= state[at]:
            break
        here = base + FLIGHT_SIZE * i
        for column in range(FLIGHT_SIZE):
            state[here + column] = state[at + column]
        i = child
    here = base + FLIGHT_SIZE * i
    state[here], state[here + 1], state[here + 2] = arrival, task, phase


@inlined
def _list(state: Ints, d: int) -> None:
    """Note that dimension `d` may be able to pick a task."""
    listed = state[SERVING_AT] + d * SERVING_SIZE + LISTED
    if state[listed] == 0:
        state[listed] = 1
        state[state[READY_AT] + state[READY]] = d
        state[READY] += 1


@inlined
def _lane(state: Ints, d: int, key: int) -> int:
    """Where the lane of `key` in the queue of dimension `d` lies; a new one where there is none."""
    lanes = state[SERVING_AT] + d * SERVING_SIZE + LANES
    first = state[LANES_AT] + d * state[LANE_ROOM] * LANE_SIZE
    end = first + state[lanes] * LANE_SIZE
    lane = first
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
def _enqueue(net: Ints, state: Ints, phase: int, task: int) -> None:
    """A task arrives at its dimension."""
    d = net[phase + DIMENSION]
    lane = _lane(state, d, net[phase + KEY] + net[ISSUE_WEIGHT] * (task >> ISSUE_SHIFT))
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
    _list(state, d)


@inlined
def count(net: Ints, state: Ints, kind: int, group: int, more: int) -> None:
    """Count `more` outstanding collectives of type `kind` and class `group`."""
    state[OUTSTANDING] += more
    state[state[BUSY_AT] + net[net[TYPES_AT] + kind * TYPE_SIZE + COMPONENT]] += more
    state[PENDING + group] += more


@inlined
def issue(net: Ints, state: Ints, kind: int, group: int) -> None:
    """All chunks of a collective arrive at their first dimension now."""
    if state[OUTSTANDING] == 0:
        state[ISSUED] = 0
    number = state[ISSUED]
    its = net[TYPES_AT] + kind * TYPE_SIZE
    chunks_at = net[CHUNKS_AT] + net[its + FIRST] * CHUNK_SIZE
    state[ISSUED] += 1
    count(net, state, kind, group, 1)
    row = state[ISSUES_AT] + number * ISSUE_SIZE
    state[row + TYPE] = kind
    state[row + CLASS] = group
    state[row + LEFT] = net[its + CHUNKS]
    for head in range(net[its + HEADS], net[its + HEADS_END]):
        chunk = net[head]
        begins = net[chunks_at + chunk * CHUNK_SIZE + BEGINS]
        _enqueue(net, state, begins, (number << ISSUE_SHIFT) | (chunk << PHASE_BITS))


@inlined
def _pick(net: Ints, state: Ints, d: int) -> None:
    """Dimension `d` begins to serve the next task of its queue."""
    serving = state[SERVING_AT] + d * SERVING_SIZE
    lane = state[LANES_AT] + d * state[LANE_ROOM] * LANE_SIZE
    entry = state[lane + HEAD]
    task, phase = state[entry + ENTRY_TASK], state[entry + ENTRY_PHASE]
    follower = -1
    if task & PHASE_MASK == 0:
        kind = state[state[ISSUES_AT] + (task >> ISSUE_SHIFT) * ISSUE_SIZE + TYPE]
        chunks_at = net[CHUNKS_AT] + net[net[TYPES_AT] + kind * TYPE_SIZE + FIRST] * CHUNK_SIZE
        chunk = (task >> PHASE_BITS) & CHUNK_MASK
        follower = net[chunks_at + chunk * CHUNK_SIZE + FOLLOWER]
        if follower >= 0:
            state[entry + ENTRY_TASK] = task + ((follower - chunk) << PHASE_BITS)
            state[entry + ENTRY_PHASE] = net[chunks_at + follower * CHUNK_SIZE + BEGINS]
    if follower < 0:
        following = state[entry + NEXT]
        state[entry + NEXT] = state[FREE]
        state[FREE] = entry
        if following >= 0:
            state[lane + HEAD] = following
            state[following + PREVIOUS] = -1
        else:
            state[serving + LANES] -= 1
            for i in range(lane, lane + state[serving + LANES] * LANE_SIZE):
                state[i] = state[i + LANE_SIZE]
    state[state[END_AT] + d] = state[NOW] + net[phase + SERIALIZATION]
    state[serving + TASK] = task
    state[serving + PHASE] = phase
    state[serving + HELD] += 1


@inlined
def _serve(net: Ints, state: Ints) -> int:
    """Let every idle dimension pick its next task; the time of the next event."""
    for i in range(state[READY]):
        d = state[state[READY_AT] + i]
        serving = state[SERVING_AT] + d * SERVING_SIZE
        state[serving + LISTED] = 0
        free = net[SLOTS] == 0 or state[serving + HELD] < net[SLOTS]
        if state[state[END_AT] + d] == NEVER and state[serving + LANES] > 0 and free:
            _pick(net, state, d)
    state[READY] = 0
    time = state[state[FLIGHT_AT]] if state[FLYING] > 0 else NEVER
    for at in range(state[END_AT], state[END_AT] + 2 * net[DIMENSIONS]):  # ends of services, then of solos
        time = min(time, state[at])
    return int(time)


@inlined
def _arrive(net: Ints, state: Ints, task: int, phase: int) -> None:
    """A chunk has left a phase: on to the next one, or done."""
    state[state[SERVING_AT] + net[phase + DIMENSION] * SERVING_SIZE + HELD] -= 1
    if net[SLOTS] > 0:
        _list(state, net[phase + DIMENSION])
    if net[phase + MORE]:
        _enqueue(net, state, phase + PHASE_SIZE, task + 1)
        return
    row = state[ISSUES_AT] + (task >> ISSUE_SHIFT) * ISSUE_SIZE
    state[row + LEFT] -= 1
    if state[row + LEFT] == 0:
        count(net, state, state[row + TYPE], state[row + CLASS], -1)


@inlined
def end_solo(net: Ints, state: Ints, component: int) -> None:
    """The solo of a component is over, or is one no longer."""
    solo = state[SOLO_AT] + component * SOLO_SIZE
    state[state[SOLO_END_AT] + component] = NEVER
    count(net, state, state[solo + SOLO_TYPE], state[solo + SOLO_CLASS], -1)


@inlined
def _happen(net: Ints, state: Ints, time: int) -> None:
    """Everything that happens at `time`: services and solos that end, then chunks that arrive."""
    state[NOW] = time
    for d in range(net[DIMENSIONS]):
        if state[state[END_AT] + d] == time:
            serving = state[SERVING_AT] + d * SERVING_SIZE
            phase = state[serving + PHASE]
            state[state[END_AT] + d] = NEVER
            _list(state, d)
            _take_off(state, time + net[phase + LATENCY], state[serving + TASK], phase)
    while state[FLYING] > 0 and state[state[FLIGHT_AT]] == time:
        task, phase = state[state[FLIGHT_AT] + 1], state[state[FLIGHT_AT] + 2]
        _land(state)
        _arrive(net, state, task, phase)
    for component in range(net[DIMENSIONS]):
        if state[state[SOLO_END_AT] + component] == time:
            end_solo(net, state, component)


@compiled
def advance(net: Ints, state: Ints, until: int) -> None:
    """Let the network run up to and including what happens at `until`, but no queue picks at `until` yet."""
    while state[NOW] < until:
        if state[OUTSTANDING] == 0:
            state[NOW] = until
            return
        time = _serve(net, state)
        if time > until:
            state[NOW] = until
            return
        _happen(net, state, time)


@compiled
def wait(net: Ints, state: Ints, group: int) -> None:
    """Let the network run until no collective of class `group` is outstanding."""
    while state[PENDING + group] > 0:
        _happen(net, state, _serve(net, state))
