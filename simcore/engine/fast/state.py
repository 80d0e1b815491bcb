"""The arrays of the compiled event loop: what does not change of a network (`pack`), and what does (`new_state`).

Each is one flat int64 array with a header that says where its tables lie: passing tuples of arrays around costs a
compiled loop twenty times its own work in reference counts. `locate_…` says where a row begins, and the names of its
columns are added to that: `state[locate_serving(state, d) + HELD]`. The arrays of a program are read in the same way
(`simcore.engine.fast.tables`).
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from simcore.compiled import inlined

Ints = NDArray[np.int64]

CHUNK_BITS, PHASE_BITS = 20, 8
MAX_CHUNKS, MAX_PHASES = 1 << CHUNK_BITS, 1 << PHASE_BITS
CHUNK_MASK, PHASE_MASK = MAX_CHUNKS - 1, MAX_PHASES - 1
ISSUE_SHIFT = CHUNK_BITS + PHASE_BITS
NEVER = 1 << 62

# Header of the network: number of dimensions; what each issue adds to the policy key (-1: newest first); most chunks
# in a dimension until they leave it (0: only serialization occupies it); number of policy keys; number of different
# slowdowns of computation above 0; where the tables start.
DIMENSIONS, ISSUE_WEIGHT, SLOTS, KEYS, LEVELS, TYPES_AT, CHUNKS_AT, LEVELS_AT, SLOWDOWNS_AT, NET_HEADER = range(10)
# Levels, by dimension: the number of its slowdown among all, the smallest first; level 0 is no slowdown. Slowdowns, by
# level, in thousandths (`simcore.engine.interference`).
# Types: first chunk of each, its number of chunks, where its heads lie and end (the first chunks of its entries), and
# the dimensions that it uses, as bits, and the least of them; the time it takes alone (`solo.rehearse`); where the
# profile lies of what it does to computation meanwhile (0: nothing, or there is none beside it).
FIRST, CHUNKS, HEADS, HEADS_END, USES, LEAST, ALONE, PROFILE, TYPE_SIZE = range(9)
# Profiles list intervals from the start of a collective alone to its end: until when [ps], and the level meanwhile.
UNTIL, LEVEL, PROFILE_SIZE = range(3)
# Chunks: where their first phase lies, which chunk begins in the same queue after this one (-1: none).
BEGINS, FOLLOWER, CHUNK_SIZE = range(3)
# Phases: dimension, times, policy key, whether another phase follows.
DIMENSION, SERIALIZATION, LATENCY, KEY, MORE, PHASE_SIZE = range(6)

# Header of a stage's state: number of the stage; time; collectives issued since it was last idle; outstanding ones;
# chunks between two phases; dimensions that may be able to pick; entries of the pool ever used, and the first that is
# free again (-1: none); room for lanes; where the tables start; outstanding collectives by class.
STAGE, NOW, ISSUED, OUTSTANDING, FLYING, READY, USED, FREE, LANE_ROOM = range(9)
END_AT, SOLO_END_AT, READY_AT, BUSY_AT, SERVING_AT, SOLO_AT, CARRY_AT = range(9, 16)
ISSUES_AT, FLIGHT_AT, POOL_AT, LANES_AT = range(16, 20)
PENDING = 20
CLASSES = 6
# By dimension: end of service (`NEVER`: idle); end of the solo of which it is the least dimension (`NEVER`: none),
# which lies right after that as both are read in one go; dimensions that may be able to pick; outstanding collectives
# that use it.
# Serving, per dimension: task in service, where its phase lies, chunks that hold a slot, number of lanes, whether it is
# listed as ready.
TASK, PHASE, HELD, LANES, LISTED, SERVING_SIZE = range(6)
# Solos, by the least dimension that they use: type, class, when it started, where it is in its profile; whether it
# claims something of links (`simcore.engine.flow.solos`).
SOLO_TYPE, SOLO_CLASS, SOLO_BEGIN, SOLO_PROFILE, SOLO_CLAIMS, SOLO_SIZE = range(6)
# Carries, per level, of the operator that is computed (`simcore.engine.interference`).
# Issues, per issued collective: type, class, chunks left.
TYPE, CLASS, LEFT, ISSUE_SIZE = range(4)
# A queue is a few lanes by policy key, the smallest first: key, first and last entry. The entries of a lane are linked
# by arrival, then task: who comes later goes to the end, but for ties.
LANE_KEY, HEAD, TAIL, LANE_SIZE = range(4)
ARRIVAL, ENTRY_TASK, ENTRY_PHASE, NEXT, PREVIOUS, ENTRY_SIZE = range(6)
# Flight is a heap of (when it lands, task, where its phase lies), by the first alone: together means together.
LANDS, FLIGHT_TASK, FLIGHT_PHASE, FLIGHT_SIZE = range(4)


@inlined
def locate_type(net: Ints, kind: int) -> int:
    """Where a type of collective lies."""
    return int(net[TYPES_AT] + kind * TYPE_SIZE)


@inlined
def locate_chunk(net: Ints, its: int, chunk: int) -> int:
    """Where a chunk lies of the type of collective that lies at `its`."""
    return int(net[CHUNKS_AT] + (net[its + FIRST] + chunk) * CHUNK_SIZE)


@inlined
def locate_serving(state: Ints, d: int) -> int:
    """Where it lies what dimension `d` serves."""
    return int(state[SERVING_AT] + d * SERVING_SIZE)


@inlined
def locate_lanes(state: Ints, d: int) -> int:
    """Where the first lane of the queue of dimension `d` lies."""
    return int(state[LANES_AT] + d * state[LANE_ROOM] * LANE_SIZE)


@inlined
def locate_solo(state: Ints, least: int) -> int:
    """Where the solo lies that uses dimension `least` and none before it."""
    return int(state[SOLO_AT] + least * SOLO_SIZE)


@inlined
def locate_issue(state: Ints, number: int) -> int:
    """Where the issued collective of this number lies."""
    return int(state[ISSUES_AT] + number * ISSUE_SIZE)


@inlined
def locate_flight(state: Ints, place: int) -> int:
    """Where the chunk at this place of the heap of flying chunks lies."""
    return int(state[FLIGHT_AT] + place * FLIGHT_SIZE)


Paths = list[list[tuple[int, int, int, int]]]


def pack(
    types: list[tuple[Paths, list[int]]],
    dimensions: int,
    issue_weight: int,
    slots: int,
    slowdowns: Sequence[int] = (),
    beside: Set[int] = frozenset(),
) -> Ints:
    """The network: for each type of collective its paths and which of them each chunk takes.

    A path lists its phases as (dimension, serialization [ps], latency [ps], policy key). `slowdowns` are those of
    computation while each dimension serves, in thousandths (none: no dimension slows it), and `beside` the types that
    have computation beside them.
    """
    pace = sorted({0, *slowdowns})
    levels = [pace.index(slowdown) for slowdown in slowdowns] or [0] * dimensions
    room = 0
    phases: list[tuple[int, ...]] = []
    heads: list[int] = []
    rows: list[tuple[int, ...]] = []
    chunks = np.empty((sum(len(chosen) for _, chosen in types), CHUNK_SIZE), np.int64)
    first = 0
    for kind, (paths, chosen) in enumerate(types):
        begins = []
        for path in paths:
            begins.append(len(phases))
            phases += [(*phase, int(i < len(path))) for i, phase in enumerate(path, 1)]
        entries = chunks[first : first + len(chosen)]
        entries[:, BEGINS] = begins[0] if len(paths) == 1 else np.array(begins)[chosen]
        entries[:, FOLLOWER], own_heads = _followers(paths, chosen)
        alone = 0 if slots else _in_a_row(paths, len(chosen))
        profile = 0
        if kind in beside and any(levels[phase[DIMENSION]] for path in paths for phase in path):
            profile = 1 + room
            room += _profile_room(paths, chosen)
        used = {phase[DIMENSION] for path in paths for phase in path}
        uses = sum(1 << d for d in used), min(used)
        rows.append((first, len(chosen), len(heads), len(heads) + len(own_heads), *uses, alone, profile))
        heads += own_heads
        first += len(chosen)
    table = np.array(rows, np.int64).reshape(-1, TYPE_SIZE)
    chunks_at = NET_HEADER + table.size
    heads_at = chunks_at + chunks.size
    phases_at = heads_at + len(heads)
    table[:, HEADS : HEADS_END + 1] += heads_at
    chunks[:, BEGINS] *= PHASE_SIZE
    chunks[:, BEGINS] += phases_at
    keys = len({phase[KEY] for phase in phases})
    levels_at = phases_at + len(phases) * PHASE_SIZE
    slowdowns_at = levels_at + dimensions
    profiled = table[:, PROFILE] > 0
    table[profiled, PROFILE] += slowdowns_at + len(pace) - 1
    starts = (NET_HEADER, chunks_at, levels_at, slowdowns_at)
    header = np.array([dimensions, issue_weight, slots, keys, len(pace) - 1, *starts], np.int64)
    flat, interference = flatten(phases), np.array([*levels, *pace], np.int64)
    profiles = np.zeros(room, np.int64)
    return np.concatenate(
        [header, table.reshape(-1), chunks.reshape(-1), np.array(heads, np.int64), flat, interference, profiles]
    )


def _followers(paths: Paths, chosen: list[int]) -> tuple[Ints, list[int]]:
    """Which chunk of a type follows each in the queue that it begins in, and the first of each queue."""
    queues = tuple((path[0][DIMENSION], path[0][KEY]) for path in paths)
    return _one_entry(len(chosen)) if len(set(queues)) == 1 else _entries(queues, tuple(chosen))


def _profile_room(paths: Paths, chosen: list[int]) -> int:
    """Most room that the profile of a type takes: the level changes at most where a service begins or ends."""
    return (2 * len(chosen) * max(map(len, paths)) + 1) * PROFILE_SIZE


def _in_a_row(paths: Paths, chunks: int) -> int:
    """Time of equal chunks that pass the same queues in a row, alone [ps]; 0 where chunks take several ways.

    Each queue serves them in their order, so all but the last are over when the slowest queue has served them; the last
    one passes it once more, and the others once. A path that visits a dimension twice is no row: its chunks get into
    each other's way.
    """
    path = paths[0]
    if len(paths) > 1 or len({phase[DIMENSION] for phase in path}) < len(path):
        return 0
    once = sum(phase[SERIALIZATION] + phase[LATENCY] for phase in path)
    return once + (chunks - 1) * max(phase[SERIALIZATION] for phase in path)


def flatten(rows: Sequence[tuple[int, ...]]) -> Ints:
    """The numbers of equally long rows one after the other (in half the time that numpy takes to look at each row)."""
    return np.fromiter(chain.from_iterable(rows), np.int64)


@lru_cache(maxsize=64)
def _one_entry(chunks: int) -> tuple[Ints, list[int]]:
    """Which chunk follows each in the queue that all of them begin in, and the first."""
    follower = np.arange(1, chunks + 1)
    follower[-1] = -1
    follower.flags.writeable = False
    return follower, [0]


@lru_cache(maxsize=256)
def _entries(queues: tuple[tuple[int, int], ...], chosen: tuple[int, ...]) -> tuple[Ints, list[int]]:
    """Which chunk follows each in the queue that it begins in, and the first of each queue."""
    follower = np.full(len(chosen), -1, np.int64)
    latest: dict[tuple[int, int], int] = {}
    heads = []
    for chunk, path in enumerate(chosen):
        before = latest.get(queues[path], -1)
        if before < 0:
            heads.append(chunk)
        else:
            follower[before] = chunk
        latest[queues[path]] = chunk
    follower.flags.writeable = False
    return follower, heads


def new_state(net: Ints, stages: int, issues: int, outstanding: int, chunks: int, classes: int = CLASSES) -> Ints:
    """Idle networks at time 0, `[stages, width]`.

    With room for `issues` collectives from idle to idle, of `classes`, of which `outstanding` of `chunks` each at the
    same time.
    """
    dimensions = int(net[DIMENSIONS])
    room = outstanding * chunks
    lanes = int(net[KEYS]) * (outstanding if net[ISSUE_WEIGHT] else 1)
    end_at = PENDING + classes
    solo_end_at = end_at + dimensions
    ready_at = solo_end_at + dimensions
    busy_at = ready_at + dimensions
    serving_at = busy_at + dimensions
    solo_at = serving_at + dimensions * SERVING_SIZE
    carry_at = solo_at + dimensions * SOLO_SIZE
    issues_at = carry_at + int(net[LEVELS]) + 1
    flight_at = issues_at + issues * ISSUE_SIZE
    pool_at = flight_at + room * FLIGHT_SIZE
    lanes_at = pool_at + room * ENTRY_SIZE
    state = np.empty((stages, lanes_at + dimensions * lanes * LANE_SIZE), np.int64)
    state[:, :issues_at] = 0
    state[:, end_at:ready_at] = NEVER
    state[:, STAGE] = range(stages)
    state[:, FREE:PENDING] = (
        -1,
        lanes,
        end_at,
        solo_end_at,
        ready_at,
        busy_at,
        serving_at,
        solo_at,
        carry_at,
        issues_at,
        flight_at,
        pool_at,
        lanes_at,
    )
    return state
