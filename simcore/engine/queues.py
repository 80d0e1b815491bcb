"""The network of one NPU as a compiled event loop: one queue per dimension, chunks that flow through phases.

A *task* is one phase of one chunk of one issued collective, packed into an int64 as (issue, chunk, phase) so that
its order is the order in which ties are broken. A task waits in its dimension's queue by (policy key, arrival, task),
occupies the dimension for its serialization time, flies for its latency, and arrives at its next phase. At any one
picosecond, arrivals come before the program's own moves, and those before any queue picks its next task; so the
outcome depends on no processing order.

What does not change (`pack`) and what does (`new_state`) are one flat int64 array each, with a header that says where
things lie: passing tuples of arrays around costs a compiled loop twenty times its own work in reference counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcore.compiled import compiled, inlined

Ints = NDArray[np.int64]

CHUNK_BITS, PHASE_BITS = 20, 8
MAX_CHUNKS, MAX_PHASES = 1 << CHUNK_BITS, 1 << PHASE_BITS
ISSUE_SHIFT = CHUNK_BITS + PHASE_BITS

# Header of the network: number of dimensions; what each issue adds to the policy key (-1: newest first); most chunks
# in a dimension until they leave it (0: only serialization occupies it); where the tables start.
DIMENSIONS, ISSUE_WEIGHT, SLOTS, TYPES_AT, CHUNKS_AT, COMPONENTS_AT, NET_HEADER = range(7)
# Types: first chunk of each. Chunks: where their first phase lies. Components: of each type, the set of dimensions that
# it shares with no other set. Phases: dimension, times, policy key, whether another phase follows.
DIMENSION, SERIALIZATION, LATENCY, KEY, MORE, PHASE_SIZE = range(6)

# Header of a stage's state: time; collectives issued since it was last idle; outstanding ones; chunks between two
# phases; capacity of the heaps; where the tables start; outstanding collectives by component and by class.
NOW, ISSUED, OUTSTANDING, FLYING, ROOM, BUSY_AT, SERVING_AT, ISSUES_AT, FLIGHT_AT, QUEUES_AT, PENDING = range(11)
CLASSES = 4
STATE_HEADER = PENDING + CLASSES
# Serving, per dimension: end of service (-1: idle), task, where its phase lies, chunks that hold a slot, tasks waiting.
END, TASK, PHASE, HELD, WAITING, SERVING_SIZE = range(6)
# Issues, per issued collective: type, class, chunks left.
TYPE, CLASS, LEFT, ISSUE_SIZE = range(4)
# Flight and queues are heaps of (key, arrival, task, where its phase lies), in flight of (arrival, 0, task, …).
ENTRY = 4


Paths = list[list[tuple[int, int, int, int]]]


def pack(types: list[tuple[Paths, list[int]]], dimensions: int, issue_weight: int, slots: int) -> Ints:
    """The network: for each type of collective its paths and which of them each chunk takes.

    A path lists its phases as (dimension, serialization [ps], latency [ps], policy key).
    """
    phases: list[tuple[int, ...]] = []
    chunk_phase: list[int] = []
    type_chunk = [0]
    for paths, chosen in types:
        first = []
        for path in paths:
            first.append(len(phases))
            phases += [(*phase, int(i < len(path))) for i, phase in enumerate(path, 1)]
        chunk_phase += [first[path] for path in chosen]
        type_chunk.append(len(chunk_phase))
    components_at = NET_HEADER + len(type_chunk)
    chunks_at = components_at + len(types)
    phases_at = chunks_at + len(chunk_phase)
    net = np.empty(phases_at + len(phases) * PHASE_SIZE, np.int64)
    net[:NET_HEADER] = dimensions, issue_weight, slots, NET_HEADER, chunks_at, components_at
    net[NET_HEADER:components_at] = type_chunk
    net[components_at:chunks_at] = components([{p[DIMENSION] for path in paths for p in path} for paths, _ in types])
    net[chunks_at:phases_at] = chunk_phase
    net[chunks_at:phases_at] *= PHASE_SIZE
    net[chunks_at:phases_at] += phases_at
    net[phases_at:] = np.array(phases, np.int64).reshape(-1)
    return net


def components(uses: list[set[int]]) -> list[int]:
    """For each set of dimensions the least dimension of its component: sets that share a dimension are in one."""
    merged: list[set[int]] = []
    for use in uses:
        apart = [group for group in merged if not group & use]
        merged = [*apart, use.union(*(group for group in merged if group & use))]
    least = {dimension: min(group) for group in merged for dimension in group}
    return [least[min(use)] for use in uses]


def new_state(stages: int, dimensions: int, issues: int, room: int) -> Ints:
    """Idle networks at time 0, `[stages, width]`, with room for `issues` collectives and `room` chunks each."""
    busy_at = STATE_HEADER
    serving_at = busy_at + dimensions
    issues_at = serving_at + dimensions * SERVING_SIZE
    flight_at = issues_at + issues * ISSUE_SIZE
    queues_at = flight_at + room * ENTRY
    state = np.empty((stages, queues_at + dimensions * room * ENTRY), np.int64)
    state[:, :issues_at] = 0
    state[:, serving_at + END : issues_at : SERVING_SIZE] = -1
    state[:, ROOM:PENDING] = room, busy_at, serving_at, issues_at, flight_at, queues_at
    return state


@inlined
def _push(heap: Ints, base: int, length: int, key: int, arrival: int, task: int, phase: int) -> None:
    """Add an entry to the heap of `length` entries that starts at `base`."""
    i = length
    while i > 0:
        parent = (i - 1) >> 1
        at = base + ENTRY * parent
        if heap[at] < key or (
            heap[at] == key and (heap[at + 1] < arrival or (heap[at + 1] == arrival and heap[at + 2] < task))
        ):
            break
        here = base + ENTRY * i
        for column in range(ENTRY):
            heap[here + column] = heap[at + column]
        i = parent
    here = base + ENTRY * i
    heap[here], heap[here + 1], heap[here + 2], heap[here + 3] = key, arrival, task, phase


@inlined
def _pop(heap: Ints, base: int, length: int) -> tuple[int, int]:
    """Take the smallest entry out of the heap of `length` entries; its task and phase."""
    first, its_phase = heap[base + 2], heap[base + 3]
    last = base + ENTRY * (length - 1)
    key, arrival, task, phase = heap[last], heap[last + 1], heap[last + 2], heap[last + 3]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= length - 1:
            break
        at = base + ENTRY * child
        if child + 1 < length - 1:
            other = at + ENTRY
            k, t = heap[other], heap[other + 1]
            if k < heap[at] or (
                k == heap[at] and (t < heap[at + 1] or (t == heap[at + 1] and heap[other + 2] < heap[at + 2]))
            ):
                child += 1
                at = other
        if key < heap[at] or (
            key == heap[at] and (arrival < heap[at + 1] or (arrival == heap[at + 1] and task < heap[at + 2]))
        ):
            break
        here = base + ENTRY * i
        for column in range(ENTRY):
            heap[here + column] = heap[at + column]
        i = child
    here = base + ENTRY * i
    heap[here], heap[here + 1], heap[here + 2], heap[here + 3] = key, arrival, task, phase
    return int(first), int(its_phase)


@inlined
def _enqueue(net: Ints, state: Ints, phase: int, task: int) -> None:
    d = net[phase + DIMENSION]
    serving = state[SERVING_AT] + d * SERVING_SIZE
    base = state[QUEUES_AT] + d * state[ROOM] * ENTRY
    key = net[phase + KEY] + net[ISSUE_WEIGHT] * (task >> ISSUE_SHIFT)
    _push(state, base, state[serving + WAITING], key, state[NOW], task, phase)
    state[serving + WAITING] += 1


@compiled
def start(net: Ints, state: Ints, kind: int, group: int) -> None:
    """Issue a collective of type `kind` and class `group`: all its chunks arrive at their first dimension now."""
    if state[OUTSTANDING] == 0:
        state[ISSUED] = 0
    issue = state[ISSUED]
    first = net[net[TYPES_AT] + kind]
    chunks = net[net[TYPES_AT] + kind + 1] - first
    state[ISSUED] += 1
    state[OUTSTANDING] += 1
    state[state[BUSY_AT] + net[net[COMPONENTS_AT] + kind]] += 1
    state[PENDING + group] += 1
    row = state[ISSUES_AT] + issue * ISSUE_SIZE
    state[row + TYPE] = kind
    state[row + CLASS] = group
    state[row + LEFT] = chunks
    for chunk in range(chunks):
        _enqueue(net, state, net[net[CHUNKS_AT] + first + chunk], (issue << ISSUE_SHIFT) | (chunk << PHASE_BITS))


@inlined
def _serve(net: Ints, state: Ints) -> None:
    """Let every idle dimension pick its next task."""
    for d in range(net[DIMENSIONS]):
        serving = state[SERVING_AT] + d * SERVING_SIZE
        waiting = state[serving + WAITING]
        if state[serving + END] >= 0 or waiting == 0:
            continue
        if net[SLOTS] > 0 and state[serving + HELD] >= net[SLOTS]:
            continue
        task, phase = _pop(state, state[QUEUES_AT] + d * state[ROOM] * ENTRY, waiting)
        state[serving + WAITING] = waiting - 1
        state[serving + END] = state[NOW] + net[phase + SERIALIZATION]
        state[serving + TASK] = task
        state[serving + PHASE] = phase
        state[serving + HELD] += 1


@inlined
def _next_event(net: Ints, state: Ints) -> int:
    time = state[state[FLIGHT_AT]] if state[FLYING] > 0 else -1
    for d in range(net[DIMENSIONS]):
        end = state[state[SERVING_AT] + d * SERVING_SIZE + END]
        if end >= 0 and (time < 0 or end < time):
            time = end
    return int(time)


@inlined
def _arrive(net: Ints, state: Ints, task: int, phase: int) -> None:
    """A chunk has left a phase: on to the next one, or done."""
    state[state[SERVING_AT] + net[phase + DIMENSION] * SERVING_SIZE + HELD] -= 1
    if net[phase + MORE]:
        _enqueue(net, state, phase + PHASE_SIZE, task + 1)
        return
    row = state[ISSUES_AT] + (task >> ISSUE_SHIFT) * ISSUE_SIZE
    state[row + LEFT] -= 1
    if state[row + LEFT] == 0:
        state[OUTSTANDING] -= 1
        state[state[BUSY_AT] + net[net[COMPONENTS_AT] + state[row + TYPE]]] -= 1
        state[PENDING + state[row + CLASS]] -= 1


@inlined
def _happen(net: Ints, state: Ints, time: int) -> None:
    """Everything that happens at `time`: services that end, then chunks that arrive."""
    state[NOW] = time
    flight = state[FLIGHT_AT]
    for d in range(net[DIMENSIONS]):
        serving = state[SERVING_AT] + d * SERVING_SIZE
        if state[serving + END] == time:
            phase = state[serving + PHASE]
            state[serving + END] = -1
            _push(state, flight, state[FLYING], time + net[phase + LATENCY], 0, state[serving + TASK], phase)
            state[FLYING] += 1
    while state[FLYING] > 0 and state[flight] == time:
        task, phase = _pop(state, flight, state[FLYING])
        state[FLYING] -= 1
        _arrive(net, state, task, phase)


@compiled
def advance(net: Ints, state: Ints, until: int) -> None:
    """Let the network run up to and including what happens at `until`, but no queue picks at `until` yet."""
    while state[NOW] < until:
        if state[OUTSTANDING] == 0:
            state[NOW] = until
            return
        _serve(net, state)
        time = _next_event(net, state)
        if time > until:
            state[NOW] = until
            return
        _happen(net, state, time)


@compiled
def wait(net: Ints, state: Ints, group: int) -> None:
    """Let the network run until no collective of class `group` is outstanding."""
    while state[PENDING + group] > 0:
        _serve(net, state)
        _happen(net, state, _next_event(net, state))


@inlined
def unhindered(net: Ints, state: Ints, kind: int) -> bool:
    """Whether nothing outstanding shares a dimension, directly or through others, with a collective of type `kind`."""
    return bool(state[state[BUSY_AT] + net[net[COMPONENTS_AT] + kind]] == 0)


@compiled
def normalized(net: Ints, state: Ints, out: Ints) -> int:
    """Write what the future of the network depends on into `out`, with times from now and issues from the latest.

    Equal contents (of equal length, which is returned) mean equal futures.
    """
    now, latest = state[NOW], state[ISSUED]
    oldest = latest
    n = 0
    for d in range(net[DIMENSIONS]):
        serving = state[SERVING_AT] + d * SERVING_SIZE
        busy = state[serving + END] >= 0
        out[n] = state[serving + END] - now if busy else -1
        out[n + 1] = state[serving + TASK] - (latest << ISSUE_SHIFT) if busy else 0
        out[n + 2] = state[serving + HELD]
        out[n + 3] = state[serving + WAITING]
        n += 4
        if busy:
            oldest = min(oldest, state[serving + TASK] >> ISSUE_SHIFT)
    for heap in range(net[DIMENSIONS] + 1):
        base, length, column = state[FLIGHT_AT], state[FLYING], 0
        if heap > 0:
            base = state[QUEUES_AT] + (heap - 1) * state[ROOM] * ENTRY
            length, column = state[state[SERVING_AT] + (heap - 1) * SERVING_SIZE + WAITING], 1
        for i in range(length):
            entry = base + i * ENTRY
            out[n] = state[entry] - (net[ISSUE_WEIGHT] * latest if heap > 0 else 0)
            out[n + 1] = state[entry + 1]
            out[n + column] -= now
            out[n + 2] = state[entry + 2] - (latest << ISSUE_SHIFT)
            out[n + 3] = state[entry + 3]
            n += ENTRY
            oldest = min(oldest, state[entry + 2] >> ISSUE_SHIFT)
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
        serving = state[SERVING_AT] + d * SERVING_SIZE
        if state[serving + END] >= 0:
            state[serving + END] += by
        base = state[QUEUES_AT] + d * state[ROOM] * ENTRY
        for i in range(state[serving + WAITING]):
            state[base + i * ENTRY + 1] += by
    for i in range(state[FLYING]):
        state[state[FLIGHT_AT] + i * ENTRY] += by
