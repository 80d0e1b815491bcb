"""Rates of streams that share links: max-min fairness by progressive filling, each state of contention solved once.

All messages of the streams in service are raised together; those of a stream stop at its cap, which is what it gets
alone, or where a link of theirs is full (Bertsekas and Gallager, "Data Networks", section 6.5.2). Streams that no chain
of links connects do not feel each other, so each connected set is solved for itself, and remembered by the streams in
it. The pace of a stream is its rate over `Stream.rate`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simcore.compiled import borrowing, inlined
from simcore.engine.flow.shared import Stream
from simcore.engine.flow.tables import Floats, Ints, mix

# Header of the flows: numbers of streams, links and loads; where the tables lie; what a change has to look at; streams
# of a connected set; the memo: where its slots lie, how many they are, where its entries lie, room for them, room used,
# entries; states of contention solved, and met again; changes so far; the last change that looked at each link.
STREAMS, LINKS, LOADS, STREAMS_AT, LOADS_AT, HEADS_AT, CHANGED_AT, CHANGED, FOUND_AT, FOUND = range(10)
SLOTS_AT, SLOTS, ENTRIES_AT, ROOM, USED, ENTRIES, SOLVED, MET, STAMP, SEEN_AT, SLOWED_AT, SLOWED = range(10, 22)
# Where it lies where the classes begin whose streams load a link, for each link, and where the last ones end.
SERVERS_AT, FLOWS_HEADER = range(22, 24)
# Streams: where its loads lie, and end; whether it is in service; the class and the dimension that serve it; the last
# change that looked at it; whether it is listed as changed.
FIRST_LOAD, END_LOAD, ACTIVE, SERVER, SERVER_DIMENSION, LOOKED, LISTED, STREAM_SIZE = range(8)
# Loads of a stream on a link: link, stream, and its neighbours among the loads in service of the link.
LOAD_LINK, LOAD_STREAM, NEXT, PREVIOUS, LOAD_SIZE = range(5)
# Numbers of streams: rate of a message [B/s] at a pace of 1, pace alone, pace now; of loads: messages on the link; of
# links: capacity [B/s], then what a solution needs of it: capacity left, messages that still rise.
SLACK = 1e-9
"""Shares that differ by less are equal: sums of floats in different orders must not make streams slower than alone."""


def pack_flows(streams: Sequence[Stream], servers: Sequence[int], capacities: Sequence[float]) -> tuple[Ints, Floats]:
    """The arrays of streams, which these classes serve over links of these capacities [B/s]."""
    loads = [(link, s, count) for s, stream in enumerate(streams) for link, count in stream.links if count > 0.0]
    n, m, k = len(streams), len(capacities), len(loads)
    streams_at = FLOWS_HEADER
    loads_at = streams_at + n * STREAM_SIZE
    heads_at = loads_at + k * LOAD_SIZE
    changed_at = heads_at + m
    found_at = changed_at + n
    slowed_at = found_at + n + 1
    seen_at = slowed_at + n
    servers_at = seen_at + m
    by_link = [set[int]() for _ in range(m)]
    for link, s, _ in loads:
        by_link[link].add(servers[s])
    ends_of = np.cumsum([0, *map(len, by_link)]) + servers_at + m + 1
    slots_at, slots = int(ends_of[-1]), 1 << 12
    entries_at, room = slots_at + slots, max(1 << 16, 4 * n)
    ints = np.empty(entries_at + room, np.int64)
    ints[:streams_at] = 0
    ints[:SLOTS_AT] = (n, m, k, streams_at, loads_at, heads_at, changed_at, 0, found_at, 0)
    ints[SLOTS_AT:USED] = (slots_at, slots, entries_at, room)
    ints[SEEN_AT], ints[SLOWED_AT], ints[SERVERS_AT] = seen_at, slowed_at, servers_at
    ints[streams_at:loads_at] = 0
    ints[heads_at:changed_at] = -1
    ints[seen_at:servers_at] = 0
    ints[servers_at:slots_at] = [*ends_of, *(c for its in by_link for c in sorted(its))]
    ints[slots_at:entries_at] = -1
    table = ints[loads_at:heads_at].reshape(k, LOAD_SIZE)
    table[:] = -1
    table[:, LOAD_LINK] = [link for link, _, _ in loads]
    table[:, LOAD_STREAM] = [s for _, s, _ in loads]
    ends = np.searchsorted(table[:, LOAD_STREAM], np.arange(n + 1))
    rows = ints[streams_at:loads_at].reshape(n, STREAM_SIZE)
    rows[:, FIRST_LOAD], rows[:, END_LOAD] = ends[:-1], ends[1:]
    floats = np.empty(3 * n + k + 3 * m + room)
    floats[:n] = [stream.rate for stream in streams]
    floats[n : 3 * n] = 1.0
    floats[3 * n : 3 * n + k] = [count for _, _, count in loads]
    floats[3 * n + k : 3 * n + k + m] = capacities
    for s, (rate, its, fastest, _) in enumerate(streams):
        floats[n + s] = min([fastest, *(capacities[link] / (count * rate) for link, count in its if count > 0.0)])
    alone = floats[n : 2 * n]
    alone[np.abs(alone - 1.0) < SLACK] = 1.0
    return ints, floats


@inlined
def locate_stream(flows: Ints, s: int) -> int:
    """Where a stream lies."""
    return int(flows[STREAMS_AT] + s * STREAM_SIZE)


@inlined
def uses(flows: Ints, stream: int, link: int) -> bool:
    """Whether a stream, by its number, loads a link."""
    at, found = locate_stream(flows, stream), False
    for load in range(flows[at + FIRST_LOAD], flows[at + END_LOAD]):
        found = found or flows[flows[LOADS_AT] + load * LOAD_SIZE + LOAD_LINK] == link
    return found


@inlined
def pace_alone(flows: Ints, numbers: Floats, s: int) -> float:
    """The pace of a stream that meets no other."""
    return float(numbers[flows[STREAMS] + s])


@inlined
def pace_of(flows: Ints, numbers: Floats, s: int) -> float:
    """The pace of a stream in service."""
    return float(numbers[2 * flows[STREAMS] + s])


@inlined
def set_pace(flows: Ints, numbers: Floats, s: int, pace: float) -> None:
    """Note the pace of a stream in service."""
    numbers[2 * flows[STREAMS] + s] = pace


@inlined
def list_changed(flows: Ints, s: int) -> None:
    """Note that the pace of a stream may be another one now."""
    its = locate_stream(flows, s)
    if flows[its + LISTED] == 0:
        flows[its + LISTED] = 1
        flows[flows[CHANGED_AT] + flows[CHANGED]] = s
        flows[CHANGED] += 1


@inlined
def list_slowed(flows: Ints, s: int) -> None:
    """Note that a stream is in service for longer than it was thought."""
    flows[flows[SLOWED_AT] + flows[SLOWED]] = s
    flows[SLOWED] += 1


@inlined
def begin_stream(flows: Ints, numbers: Floats, s: int, server: int, dimension: int) -> None:
    """A dimension of a class begins to serve a stream."""
    its = locate_stream(flows, s)
    flows[its + ACTIVE], flows[its + SERVER], flows[its + SERVER_DIMENSION] = 1, server, dimension
    set_pace(flows, numbers, s, 1.0)
    for number in range(flows[its + FIRST_LOAD], flows[its + END_LOAD]):
        load = flows[LOADS_AT] + number * LOAD_SIZE
        head = flows[HEADS_AT] + flows[load + LOAD_LINK]
        first = flows[head]
        flows[load + NEXT], flows[load + PREVIOUS] = first, -1
        if first >= 0:
            flows[flows[LOADS_AT] + first * LOAD_SIZE + PREVIOUS] = number
        flows[head] = number
    list_changed(flows, s)


@inlined
def end_stream(flows: Ints, s: int) -> None:
    """A stream is over; those that met it may be faster now."""
    its = locate_stream(flows, s)
    flows[its + ACTIVE] = 0
    for number in range(flows[its + FIRST_LOAD], flows[its + END_LOAD]):
        load = flows[LOADS_AT] + number * LOAD_SIZE
        following, before = flows[load + NEXT], flows[load + PREVIOUS]
        if following >= 0:
            flows[flows[LOADS_AT] + following * LOAD_SIZE + PREVIOUS] = before
        if before >= 0:
            flows[flows[LOADS_AT] + before * LOAD_SIZE + NEXT] = following
        else:
            flows[flows[HEADS_AT] + flows[load + LOAD_LINK]] = following
        other = flows[flows[HEADS_AT] + flows[load + LOAD_LINK]]
        if other >= 0:  # whoever is reached from one of a link's streams is reached from all
            list_changed(flows, flows[flows[LOADS_AT] + other * LOAD_SIZE + LOAD_STREAM])


@borrowing
def find_connected(flows: Ints, s: int) -> None:
    """List the streams in service that links connect with stream `s`, in ascending order."""
    flows[STAMP] += 1
    stamp, found_at = flows[STAMP], flows[FOUND_AT]
    flows[found_at], count, at = s, 1, 0
    flows[locate_stream(flows, s) + LOOKED] = stamp
    while at < count:
        its = locate_stream(flows, flows[found_at + at])
        at += 1
        for number in range(flows[its + FIRST_LOAD], flows[its + END_LOAD]):
            link = flows[flows[LOADS_AT] + number * LOAD_SIZE + LOAD_LINK]
            if flows[flows[SEEN_AT] + link] == stamp:
                continue
            flows[flows[SEEN_AT] + link] = stamp
            other = flows[flows[HEADS_AT] + link]
            while other >= 0:
                load = flows[LOADS_AT] + other * LOAD_SIZE
                its_stream = flows[load + LOAD_STREAM]
                looked = locate_stream(flows, its_stream) + LOOKED
                if flows[looked] != stamp:
                    flows[looked] = stamp
                    flows[found_at + count] = its_stream
                    count += 1
                other = flows[load + NEXT]
    flows[FOUND] = count
    for i in range(1, count):  # a few, mostly
        value = flows[found_at + i]
        j = i - 1
        while j >= 0 and flows[found_at + j] > value:
            flows[found_at + j + 1] = flows[found_at + j]
            j -= 1
        flows[found_at + j + 1] = value


@borrowing
def fill(flows: Ints, numbers: Floats, paces: Floats) -> None:
    """Solve the streams that `find_connected` listed: `paces` in their order."""
    streams, loads, links = flows[STREAMS], flows[LOADS], flows[LINKS]
    counts_at = 3 * streams
    capacity_at = counts_at + loads
    left_at = capacity_at + links
    rising_at = left_at + links
    count, found_at = flows[FOUND], flows[FOUND_AT]
    for i in range(count):
        paces[i] = -1.0
        its = locate_stream(flows, flows[found_at + i])
        for number in range(flows[its + FIRST_LOAD], flows[its + END_LOAD]):
            link = flows[flows[LOADS_AT] + number * LOAD_SIZE + LOAD_LINK]
            numbers[left_at + link], numbers[rising_at + link] = numbers[capacity_at + link], 0.0
    for i in range(count):
        its = locate_stream(flows, flows[found_at + i])
        for number in range(flows[its + FIRST_LOAD], flows[its + END_LOAD]):
            link = flows[flows[LOADS_AT] + number * LOAD_SIZE + LOAD_LINK]
            numbers[rising_at + link] += numbers[counts_at + number]
    frozen = 0
    while frozen < count:
        level = np.inf
        for i in range(count):
            if paces[i] < 0.0:
                s = flows[found_at + i]
                level = min(level, numbers[s] * pace_alone(flows, numbers, s))
                its = locate_stream(flows, s)
                for number in range(flows[its + FIRST_LOAD], flows[its + END_LOAD]):
                    link = flows[flows[LOADS_AT] + number * LOAD_SIZE + LOAD_LINK]
                    level = min(level, max(numbers[left_at + link], 0.0) / numbers[rising_at + link])
        reached = level * (1.0 + SLACK)
        for i in range(count):  # first who is full, by what was left before anyone stopped in this round
            if paces[i] < 0.0:
                s = flows[found_at + i]
                its = locate_stream(flows, s)
                full = numbers[s] * pace_alone(flows, numbers, s) <= reached
                for number in range(flows[its + FIRST_LOAD], flows[its + END_LOAD]):
                    link = flows[flows[LOADS_AT] + number * LOAD_SIZE + LOAD_LINK]
                    full = full or max(numbers[left_at + link], 0.0) <= reached * numbers[rising_at + link]
                if full:
                    paces[i] = -2.0
        for i in range(count):
            if paces[i] == -2.0:
                s = flows[found_at + i]
                its = locate_stream(flows, s)
                alone = pace_alone(flows, numbers, s)
                cap = numbers[s] * alone
                paces[i] = alone if cap <= reached else level / numbers[s]
                frozen += 1
                rate = min(level, cap)
                for number in range(flows[its + FIRST_LOAD], flows[its + END_LOAD]):
                    link = flows[flows[LOADS_AT] + number * LOAD_SIZE + LOAD_LINK]
                    numbers[left_at + link] -= rate * numbers[counts_at + number]
                    numbers[rising_at + link] -= numbers[counts_at + number]


@inlined
def _hash_found(flows: Ints) -> int:
    """Where to look first for the listed streams among the slots of the memo."""
    key = 0
    for i in range(flows[FOUND]):
        key = mix(key, flows[flows[FOUND_AT] + i])
    return int(key & (flows[SLOTS] - 1))


@inlined
def _forget(flows: Ints) -> None:
    """Empty the memo, which is full."""
    flows[USED] = flows[ENTRIES] = 0
    for slot in range(flows[SLOTS]):
        flows[flows[SLOTS_AT] + slot] = -1


@borrowing
def recall(flows: Ints, numbers: Floats) -> int:
    """Where in the memo the paces of the listed streams lie, which are solved if this state is met for the first time.

    Its entries are a number of streams and these, and beside them in `numbers` the paces.
    """
    count, found_at, entries_at = flows[FOUND], flows[FOUND_AT], flows[ENTRIES_AT]
    slot = _hash_found(flows)
    while flows[flows[SLOTS_AT] + slot] >= 0:
        entry = flows[flows[SLOTS_AT] + slot]
        equal = flows[entries_at + entry] == count
        for i in range(count):
            if not equal:
                break
            equal = flows[entries_at + entry + 1 + i] == flows[found_at + i]
        if equal:
            flows[MET] += 1
            return int(entry + 1)
        slot = (slot + 1) & (flows[SLOTS] - 1)
    if flows[USED] + count + 1 > flows[ROOM] or 2 * flows[ENTRIES] >= flows[SLOTS]:
        _forget(flows)
        slot = _hash_found(flows)
    entry = flows[USED]
    flows[USED] += count + 1
    flows[ENTRIES] += 1
    flows[flows[SLOTS_AT] + slot] = entry
    flows[entries_at + entry] = count
    for i in range(count):
        flows[entries_at + entry + 1 + i] = flows[found_at + i]
    paces_at = 3 * flows[STREAMS] + flows[LOADS] + 3 * flows[LINKS]
    fill(flows, numbers, numbers[paces_at + entry + 1 : paces_at + entry + 1 + count])
    flows[SOLVED] += 1
    return int(entry + 1)
