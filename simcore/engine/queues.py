"""The network of one NPU as a compiled event loop: one queue per dimension, chunks that flow through phases.

A *task* is one phase of one chunk of one issued collective, packed into an int64 as (issue, chunk, phase) so that
its order is the order in which ties are broken. A task waits in its dimension's queue by (policy key, arrival, task),
occupies the dimension for its serialization time, flies for its latency, and arrives at its next phase. At any one
picosecond, arrivals come before the program's own moves, and those before any queue picks its next task; so the
outcome depends on no processing order.

All chunks of a collective arrive at their first phases together, so those that begin in the same queue stand there as
one entry, the earliest chunk's, which turns into the next one's when it is served: nothing can come between two.

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
CHUNK_MASK, PHASE_MASK = MAX_CHUNKS - 1, MAX_PHASES - 1
ISSUE_SHIFT = CHUNK_BITS + PHASE_BITS
NEVER = 1 << 62

# Header of the network: number of dimensions; what each issue adds to the policy key (-1: newest first); most chunks
# in a dimension until they leave it (0: only serialization occupies it); where the tables start.
DIMENSIONS, ISSUE_WEIGHT, SLOTS, TYPES_AT, CHUNKS_AT, NET_HEADER = range(6)
# Types: first chunk of each, its number of chunks, where its heads lie and end (the first chunks of its entries), and
# its component: the set of dimensions that it shares with no other set.
FIRST, CHUNKS, HEADS, HEADS_END, COMPONENT, TYPE_SIZE = range(6)
# Chunks: where their first phase lies, which chunk begins in the same queue after this one (-1: none).
BEGINS, FOLLOWER, CHUNK_SIZE = range(3)
# Phases: dimension, times, policy key, whether another phase follows.
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
    chunks: list[Ints] = []
    heads: list[int] = []
    table = np.empty((len(types), TYPE_SIZE), np.int64)
    table[:, COMPONENT] = components([{p[DIMENSION] for path in paths for p in path} for paths, _ in types])
    first = 0
    for row, (paths, chosen) in zip(table, types, strict=True):
        begins = []
        for path in paths:
            begins.append(len(phases))
            phases += [(*phase, int(i < len(path))) for i, phase in enumerate(path, 1)]
        row[FIRST], row[CHUNKS], row[HEADS] = first, len(chosen), len(heads)
        entries, own_heads = _entries(paths, chosen)
        entries[:, BEGINS] = np.array(begins)[chosen]
        chunks.append(entries)
        heads += own_heads
        row[HEADS_END] = len(heads)
        first += len(chosen)
    types_at = NET_HEADER
    chunks_at = types_at + table.size
    heads_at = chunks_at + first * CHUNK_SIZE
    phases_at = heads_at + len(heads)
    table[:, HEADS : HEADS_END + 1] += heads_at
    chunk_table = np.concatenate(chunks) if chunks else np.empty((0, CHUNK_SIZE), np.int64)
    chunk_table[:, BEGINS] *= PHASE_SIZE
    chunk_table[:, BEGINS] += phases_at
    header = np.array([dimensions, issue_weight, slots, types_at, chunks_at], np.int64)
    flat = np.array(phases, np.int64).reshape(-1)
    return np.concatenate([header, table.reshape(-1), chunk_table.reshape(-1), np.array(heads, np.int64), flat])


def _entries(paths: Paths, chosen: list[int]) -> tuple[Ints, list[int]]:
    """The chunk table of a type with its FOLLOWER column filled, and the first chunk of each entry."""
    count = len(chosen)
    entries = np.empty((count, CHUNK_SIZE), np.int64)
    queues = [(path[0][DIMENSION], path[0][KEY]) for path in paths]
    if len(set(queues)) == 1:
        entries[:, FOLLOWER] = np.arange(1, count + 1)
        entries[-1, FOLLOWER] = -1
        return entries, [0]
    latest: dict[tuple[int, int], int] = {}
    heads = []
    for chunk, path in enumerate(chosen):
        before = latest.get(queues[path])
        if before is None:
            heads.append(chunk)
        else:
            entries[before, FOLLOWER] = chunk
        latest[queues[path]] = chunk
        entries[chunk, FOLLOWER] = -1
    return entries, heads


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
def _pop(heap: Ints, base: int, length: int) -> None:
    """Take the smallest entry, which stands at `base`, out of the heap of `length` entries."""
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
    its = net[TYPES_AT] + kind * TYPE_SIZE
    chunks_at = net[CHUNKS_AT] + net[its + FIRST] * CHUNK_SIZE
    state[ISSUED] += 1
    state[OUTSTANDING] += 1
    state[state[BUSY_AT] + net[its + COMPONENT]] += 1
    state[PENDING + group] += 1
    row = state[ISSUES_AT] + issue * ISSUE_SIZE
    state[row + TYPE] = kind
    state[row + CLASS] = group
    state[row + LEFT] = net[its + CHUNKS]
    for head in range(net[its + HEADS], net[its + HEADS_END]):
        chunk = net[head]
        begins = net[chunks_at + chunk * CHUNK_SIZE + BEGINS]
        _enqueue(net, state, begins, (issue << ISSUE_SHIFT) | (chunk << PHASE_BITS))


@inlined
def _pick(net: Ints, state: Ints, serving: int, base: int) -> tuple[int, int]:
    """Take the next task, and where its phase lies, out of a queue whose heap starts at `base`."""
    task, phase = state[base + 2], state[base + 3]
    follower = -1
    if task & PHASE_MASK == 0:
        kind = state[state[ISSUES_AT] + (task >> ISSUE_SHIFT) * ISSUE_SIZE + TYPE]
        chunks_at = net[CHUNKS_AT] + net[net[TYPES_AT] + kind * TYPE_SIZE + FIRST] * CHUNK_SIZE
        chunk = (task >> PHASE_BITS) & CHUNK_MASK
        follower = net[chunks_at + chunk * CHUNK_SIZE + FOLLOWER]
        if follower >= 0:
            state[base + 2] = task + ((follower - chunk) << PHASE_BITS)
            state[base + 3] = net[chunks_at + follower * CHUNK_SIZE + BEGINS]
    if follower < 0:
        _pop(state, base, state[serving + WAITING])
        state[serving + WAITING] -= 1
    return int(task), int(phase)


@inlined
def _serve(net: Ints, state: Ints) -> int:
    """Let every idle dimension pick its next task; the time of the next event."""
    time = state[state[FLIGHT_AT]] if state[FLYING] > 0 else NEVER
    for d in range(net[DIMENSIONS]):
        serving = state[SERVING_AT] + d * SERVING_SIZE
        end = state[serving + END]
        if end < 0:
            if state[serving + WAITING] == 0 or (net[SLOTS] > 0 and state[serving + HELD] >= net[SLOTS]):
                continue
            task, phase = _pick(net, state, serving, state[QUEUES_AT] + d * state[ROOM] * ENTRY)
            end = state[NOW] + net[phase + SERIALIZATION]
            state[serving + END] = end
            state[serving + TASK] = task
            state[serving + PHASE] = phase
            state[serving + HELD] += 1
        time = min(time, end)
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
        state[state[BUSY_AT] + net[net[TYPES_AT] + state[row + TYPE] * TYPE_SIZE + COMPONENT]] -= 1
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
            latency = net[phase + LATENCY]
            state[serving + END] = -1
            if latency == 0:
                _arrive(net, state, state[serving + TASK], phase)
            else:
                _push(state, flight, state[FLYING], time + latency, 0, state[serving + TASK], phase)
                state[FLYING] += 1
    while state[FLYING] > 0 and state[flight] == time:
        task, phase = state[flight + 2], state[flight + 3]
        _pop(state, flight, state[FLYING])
        state[FLYING] -= 1
        _arrive(net, state, task, phase)


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


@inlined
def unhindered(net: Ints, state: Ints, kind: int) -> bool:
    """Whether nothing outstanding shares a dimension, directly or through others, with a collective of type `kind`."""
    return bool(state[state[BUSY_AT] + net[net[TYPES_AT] + kind * TYPE_SIZE + COMPONENT]] == 0)


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
