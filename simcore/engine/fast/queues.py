"""The network of one NPU as a compiled event loop: one queue per dimension, chunks that flow through phases.

A *task* is one phase of one chunk of one issued collective, packed into an int64 as (issue, chunk, phase) so that
its order is the order in which ties are broken. A task waits in its dimension's queue by (policy key, arrival, task),
occupies the dimension for its serialization time, flies for its latency, and arrives at its next phase. At any one
picosecond, arrivals come before the program's own moves, and those before any queue picks its next task; so the
outcome depends on no processing order.

All chunks of a collective arrive at their first phases together, so those that begin in the same queue stand there as
one entry, the earliest chunk's, which turns into the next one's when it is served: nothing can come between two.

What nothing meets is not played (`simcore.engine.fast.solo`): of it, only the end is an event here.

Steps have the names that they have in the reference engine (`reference.phase_level`), where a queue is an object and
what happens later is an event: here a queue is a few rows of the state, and the loop looks for what happens next.
"""

from __future__ import annotations

from simcore.compiled import borrowing, inlined
from simcore.engine.fast.flight import land, take_off
from simcore.engine.fast.lanes import drop_first, find_lane, join_lane
from simcore.engine.fast.state import (
    BEGINS,
    BUSY_AT,
    CHUNK_MASK,
    CHUNKS,
    CLASS,
    DIMENSION,
    DIMENSIONS,
    END_AT,
    ENTRY_PHASE,
    ENTRY_TASK,
    FLIGHT_AT,
    FLIGHT_PHASE,
    FLIGHT_TASK,
    FLYING,
    FOLLOWER,
    HEAD,
    HEADS,
    HEADS_END,
    HELD,
    ISSUE_SHIFT,
    ISSUE_WEIGHT,
    ISSUED,
    KEY,
    LANDS,
    LANES,
    LATENCY,
    LEFT,
    LEVELS_AT,
    LISTED,
    MORE,
    NEVER,
    NOW,
    OUTSTANDING,
    PENDING,
    PHASE,
    PHASE_BITS,
    PHASE_MASK,
    PHASE_SIZE,
    READY,
    READY_AT,
    SERIALIZATION,
    SLOTS,
    SOLO_CLASS,
    SOLO_END_AT,
    SOLO_TYPE,
    TASK,
    TYPE,
    USES,
    Ints,
    locate_chunk,
    locate_issue,
    locate_lanes,
    locate_serving,
    locate_solo,
    locate_type,
)


@inlined
def pick_soon(state: Ints, d: int) -> None:
    """Note that dimension `d` may be able to pick a task."""
    listed = locate_serving(state, d) + LISTED
    if state[listed] == 0:
        state[listed] = 1
        state[state[READY_AT] + state[READY]] = d
        state[READY] += 1


@inlined
def arrive(net: Ints, state: Ints, phase: int, task: int) -> None:
    """A task joins the queue of its dimension."""
    d = net[phase + DIMENSION]
    lane = find_lane(state, d, net[phase + KEY] + net[ISSUE_WEIGHT] * (task >> ISSUE_SHIFT))
    join_lane(state, lane, task, phase)
    pick_soon(state, d)


@inlined
def count(net: Ints, state: Ints, kind: int, group: int, more: int) -> None:
    """Count `more` outstanding collectives of type `kind` and class `group`."""
    state[OUTSTANDING] += more
    state[PENDING + group] += more
    busy, uses = state[BUSY_AT], net[locate_type(net, kind) + USES]
    while uses > 0:
        state[busy] += more * (uses & 1)
        busy, uses = busy + 1, uses >> 1


@inlined
def is_alone(net: Ints, state: Ints, kind: int) -> bool:
    """Whether no dimension that a collective of type `kind` uses has one outstanding."""
    busy, uses, found = state[BUSY_AT], net[locate_type(net, kind) + USES], 0
    while uses > 0:
        found += state[busy] * (uses & 1)
        busy, uses = busy + 1, uses >> 1
    return bool(found == 0)


@inlined
def issue(net: Ints, state: Ints, kind: int, group: int) -> None:
    """All chunks of a collective arrive at their first dimension now."""
    if state[OUTSTANDING] == 0:
        state[ISSUED] = 0
    number = state[ISSUED]
    state[ISSUED] += 1
    count(net, state, kind, group, 1)
    its = locate_type(net, kind)
    part = locate_issue(state, number)
    state[part + TYPE], state[part + CLASS], state[part + LEFT] = kind, group, net[its + CHUNKS]
    for head in range(net[its + HEADS], net[its + HEADS_END]):
        chunk = net[head]
        first_phase = net[locate_chunk(net, its, chunk) + BEGINS]
        arrive(net, state, first_phase, (number << ISSUE_SHIFT) | (chunk << PHASE_BITS))


@inlined
def can_pick(net: Ints, state: Ints, d: int) -> bool:
    """Whether dimension `d` is idle, has something to serve, and has room for it."""
    serving = locate_serving(state, d)
    free = net[SLOTS] == 0 or state[serving + HELD] < net[SLOTS]
    return bool(state[state[END_AT] + d] == NEVER and state[serving + LANES] > 0 and free)


@inlined
def turn_into_follower(net: Ints, state: Ints, entry: int) -> bool:
    """Let the entry of a chunk that begins here stand for the next one that does; False where there is none."""
    task = state[entry + ENTRY_TASK]
    follower = -1
    if task & PHASE_MASK == 0:
        its = locate_type(net, state[locate_issue(state, task >> ISSUE_SHIFT) + TYPE])
        chunk = (task >> PHASE_BITS) & CHUNK_MASK
        follower = net[locate_chunk(net, its, chunk) + FOLLOWER]
        if follower >= 0:
            state[entry + ENTRY_TASK] = task + ((follower - chunk) << PHASE_BITS)
            state[entry + ENTRY_PHASE] = net[locate_chunk(net, its, follower) + BEGINS]
    return bool(follower >= 0)


@inlined
def pick(net: Ints, state: Ints, d: int) -> None:
    """Dimension `d` begins to serve the next task of its queue."""
    entry = state[locate_lanes(state, d) + HEAD]
    task, phase = state[entry + ENTRY_TASK], state[entry + ENTRY_PHASE]
    if not turn_into_follower(net, state, entry):
        drop_first(state, d)
    state[state[END_AT] + d] = state[NOW] + net[phase + SERIALIZATION]
    serving = locate_serving(state, d)
    state[serving + TASK], state[serving + PHASE] = task, phase
    state[serving + HELD] += 1


@inlined
def pick_all(net: Ints, state: Ints) -> int:
    """Let every idle dimension pick its next task; the time of the next event."""
    for i in range(state[READY]):
        d = state[state[READY_AT] + i]
        state[locate_serving(state, d) + LISTED] = 0
        if can_pick(net, state, d):
            pick(net, state, d)
    state[READY] = 0
    time = state[state[FLIGHT_AT] + LANDS] if state[FLYING] > 0 else NEVER
    for end in range(state[END_AT], state[END_AT] + 2 * net[DIMENSIONS]):  # of services, then of solos
        time = min(time, state[end])
    return int(time)


@inlined
def find_level(net: Ints, state: Ints) -> int:
    """The level of the largest slowdown of the dimensions that serve what is played."""
    level = 0
    for d in range(net[DIMENSIONS]):
        if state[state[END_AT] + d] != NEVER:
            level = max(level, net[net[LEVELS_AT] + d])
    return int(level)


@inlined
def _end(net: Ints, state: Ints, d: int) -> None:
    """Dimension `d` has served its task now, which flies on."""
    serving = locate_serving(state, d)
    phase = state[serving + PHASE]
    state[state[END_AT] + d] = NEVER
    pick_soon(state, d)
    take_off(state, state[NOW] + net[phase + LATENCY], state[serving + TASK], phase)


@inlined
def leave(net: Ints, state: Ints, d: int) -> None:
    """A chunk gives back its slot."""
    state[locate_serving(state, d) + HELD] -= 1
    if net[SLOTS] > 0:
        pick_soon(state, d)


@inlined
def enter(net: Ints, state: Ints, task: int, phase: int) -> None:
    """A chunk that has left a phase arrives at the next one, or, after its last one, where it belongs."""
    if net[phase + MORE]:
        arrive(net, state, phase + PHASE_SIZE, task + 1)
        return
    part = locate_issue(state, task >> ISSUE_SHIFT)
    state[part + LEFT] -= 1
    if state[part + LEFT] == 0:
        count(net, state, state[part + TYPE], state[part + CLASS], -1)


@inlined
def end_solo(net: Ints, state: Ints, least: int) -> None:
    """A solo is over, or is one no longer."""
    solo = locate_solo(state, least)
    state[state[SOLO_END_AT] + least] = NEVER
    count(net, state, state[solo + SOLO_TYPE], state[solo + SOLO_CLASS], -1)


@inlined
def happen(net: Ints, state: Ints, time: int) -> None:
    """Everything that happens at `time`: services that end, then chunks that arrive, then solos that end."""
    state[NOW] = time
    for d in range(net[DIMENSIONS]):
        if state[state[END_AT] + d] == time:
            _end(net, state, d)
    while state[FLYING] > 0 and state[state[FLIGHT_AT] + LANDS] == time:
        first = state[FLIGHT_AT]
        task, phase = state[first + FLIGHT_TASK], state[first + FLIGHT_PHASE]
        land(state)
        leave(net, state, net[phase + DIMENSION])
        enter(net, state, task, phase)
    for least in range(net[DIMENSIONS]):
        if state[state[SOLO_END_AT] + least] == time:
            end_solo(net, state, least)


@borrowing
def advance(net: Ints, state: Ints, until: int) -> None:
    """Let the network run up to and including what happens at `until`, but no queue picks at `until` yet."""
    while state[NOW] < until:
        if state[OUTSTANDING] == 0:
            state[NOW] = until
            return
        time = pick_all(net, state)
        if time > until:
            state[NOW] = until
            return
        happen(net, state, time)


@borrowing
def wait(net: Ints, state: Ints, group: int) -> None:
    """Let the network run until no collective of class `group` is outstanding."""
    while state[PENDING + group] > 0:
        happen(net, state, pick_all(net, state))
