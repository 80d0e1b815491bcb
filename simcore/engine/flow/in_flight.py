"""What a class has in flight: written down, so that it can be known again, and kept, so that it can be had again."""

from __future__ import annotations

from simcore.compiled import borrowing, inlined
from simcore.engine.fast.snapshot import pack_network, take_snapshot, unpack_network
from simcore.engine.fast.state import DIMENSIONS as NET_DIMENSIONS
from simcore.engine.fast.state import (
    END_AT,
    NEVER,
    NOW,
    OUTSTANDING,
    PHASE,
    PHASE_SIZE,
    SERIALIZATION,
    SOLO_CLAIMS,
    SOLO_END_AT,
    SOLO_TYPE,
    locate_serving,
    locate_solo,
)
from simcore.engine.flow.claims import count_users
from simcore.engine.flow.rates import begin_stream, end_stream, pace_of
from simcore.engine.flow.tables import (
    BEGAN,
    DIMENSIONS,
    FROM,
    ITS_STREAM,
    JOB,
    KEPT,
    KEPT_AT,
    REMAINING,
    SKIPPERS,
    WAY,
    Ints,
    World,
    locate_class,
    locate_collective,
    locate_service,
    locate_way,
    stream_of_way,
)


@inlined
def way_served(plan: Ints, state: Ints, c: int, d: int) -> int:
    """The way of what dimension `d` of a class serves."""
    phase = state[locate_serving(state, d) + PHASE]
    return int(plan[locate_way(plan, locate_class(plan, c), phase, PHASE_SIZE) + WAY])


@borrowing
def write_flight(world: World, c: int, out: Ints) -> int:
    """Write what the future of a class depends on, whatever its streams are called; the length of what is written."""
    nets, states, _, _, plan, play, _, _, _ = world
    state = states[c]
    n = take_snapshot(nets[plan[locate_class(plan, c) + JOB]], state, out)
    for d in range(plan[DIMENSIONS]):
        service = locate_service(plan, play, c, d)
        out[n] = -1
        n += 1
        if play[service + ITS_STREAM] >= 0:
            out[n - 1] = way_served(plan, state, c, d)
            out[n], out[n + 1] = play[service + REMAINING], play[service + FROM] - state[NOW]
            out[n + 2] = play[service + BEGAN] - state[NOW]
            n += 3
    return int(n)


@inlined
def is_slowed(world: World, c: int) -> bool:
    """Whether others slow what a class serves, or have slowed it."""
    _, states, _, _, plan, play, _, flows, numbers = world
    state, slowed = states[c], False
    for d in range(plan[DIMENSIONS]):
        service = locate_service(plan, play, c, d)
        if play[service + ITS_STREAM] >= 0 and state[OUTSTANDING] > 0:
            slowed = slowed or pace_of(flows, numbers, play[service + ITS_STREAM]) != 1.0
            serves = state[state[END_AT] + d] != NEVER
            slowed = slowed or (serves and play[service + FROM] != play[service + BEGAN])
    return slowed


@inlined
def set_streams(world: World, c: int, active: bool) -> None:
    """Let what a class serves be in service on its links, or not while it waits for what is not played."""
    plan, play, flows, numbers = world[4], world[5], world[7], world[8]
    for d in range(plan[DIMENSIONS]):
        stream = play[locate_service(plan, play, c, d) + ITS_STREAM]
        if stream >= 0 and active:
            begin_stream(flows, numbers, stream, c, d)
        elif stream >= 0:
            end_stream(flows, stream)


@inlined
def count_solos(world: World, c: int, sign: int) -> None:
    """Claim what the solos of a class claim that are in flight (1), or no more (-1)."""
    nets, states, _, _, plan, play, _, _, _ = world
    its, state = locate_class(plan, c), states[c]
    for least in range(nets[plan[its + JOB], NET_DIMENSIONS]):
        solo = locate_solo(state, least)
        if state[state[SOLO_END_AT] + least] != NEVER and state[solo + SOLO_CLAIMS]:
            count_users(world, c, locate_collective(plan, play, its, state[solo + SOLO_TYPE]), sign)
            play[SKIPPERS] += sign


@borrowing
def write_key(world: World, c: int) -> None:
    """Write what is in flight of a class, and how long that is, behind all that is kept; of nothing in flight, 0."""
    _, states, _, _, _, play, _, _, _ = world
    key = play[KEPT_AT] + play[KEPT]
    play[key] = write_flight(world, c, play[key + 1 :]) if states[c, OUTSTANDING] > 0 else 0


@borrowing
def keep_flight(world: World, c: int) -> int:
    """Keep the key that was written last, and behind it the network of a class, which nobody slows; where it lies."""
    nets, states, _, _, plan, play, _, _, _ = world
    state, kept = states[c], play[KEPT_AT] + play[KEPT]
    n = kept + 1 + play[kept]
    for d in range(plan[DIMENSIONS]):
        on_links = play[locate_service(plan, play, c, d) + ITS_STREAM] >= 0 and state[OUTSTANDING] > 0
        play[n] = way_served(plan, state, c, d) if on_links else -1
        n += 1
    n += pack_network(nets[plan[locate_class(plan, c) + JOB]], state, play[n:])
    play[KEPT] = n - play[KEPT_AT]
    return int(kept)


@borrowing
def have_again(world: World, c: int, kept: int, time: int) -> None:
    """Let a class have in flight at `time` what was kept; its streams are not in service yet."""
    nets, states, _, _, plan, play, _, _, _ = world
    its, state = locate_class(plan, c), states[c]
    net, ways = nets[plan[its + JOB]], kept + 1 + play[kept]
    unpack_network(net, play[ways + plan[DIMENSIONS] :], state, time)
    for d in range(plan[DIMENSIONS]):
        way, service = play[ways + d], locate_service(plan, play, c, d)
        play[service + ITS_STREAM] = stream_of_way(plan, its, way) if way >= 0 else -1
        end = state[state[END_AT] + d] if way >= 0 else NEVER
        if end != NEVER:
            serialization = net[state[locate_serving(state, d) + PHASE] + SERIALIZATION]
            play[service + REMAINING] = serialization
            play[service + FROM] = play[service + BEGAN] = end - serialization
