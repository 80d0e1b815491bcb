"""What is not played needs of links all the same: the claims of passages and of collectives that are waited for.

A passage claims of each link the most that it ever needs of it, for all classes to see, while it is waited for. As long
as what claims and the streams in service need of a link together fits on it, nobody is slowed, whatever is when.
"""

from __future__ import annotations

from simcore.compiled import borrowing, inlined
from simcore.engine.fast.state import END_AT, NEVER
from simcore.engine.flow.rates import (
    END_LOAD,
    FIRST_LOAD,
    HEADS_AT,
    LOAD_LINK,
    LOAD_SIZE,
    LOAD_STREAM,
    LOADS,
    LOADS_AT,
    NEXT,
    SERVER,
    SERVER_DIMENSION,
    SLACK,
    STREAMS,
    locate_stream,
    pace_alone,
    uses,
)
from simcore.engine.flow.tables import (
    P_FIRST,
    P_PAID,
    P_RUNS,
    P_SPANS,
    RUN_FROM,
    RUN_SIZE,
    RUN_WAY,
    RUNS_AT,
    STREAM,
    STREAMS_AT,
    USERS_AT,
    WAY_SIZE,
    Floats,
    Ints,
    World,
    locate_class,
)

FULL = 1 << 40
"""A whole link, in the parts in which shares are counted."""
FITS = int(FULL * (1 + SLACK / 2))
"""As much of a link as streams may need together without being slowed (see `rates.fill`)."""

PATIENCE = 4
"""What was played after all so much more often than not is always played from then on."""


@inlined
def pays(play: Ints, passage: int) -> bool:
    """Whether it is worth waiting for a passage."""
    return bool(play[passage + P_PAID] > -PATIENCE)


@inlined
def count_paid(play: Ints, passage: int, more: int) -> None:
    """Note that a passage was waited for (1), or played after all (-1)."""
    play[passage + P_PAID] = min(PATIENCE, play[passage + P_PAID] + more)


@inlined
def share_of(flows: Ints, numbers: Floats, load: int) -> int:
    """The share of its link that a load needs where it meets nobody, in parts of `FULL`."""
    at = flows[LOADS_AT] + load * LOAD_SIZE
    stream, capacity = flows[at + LOAD_STREAM], numbers[3 * flows[STREAMS] + flows[LOADS] + flows[at + LOAD_LINK]]
    alone = numbers[stream] * pace_alone(flows, numbers, stream)
    return int(numbers[3 * flows[STREAMS] + load] * alone / capacity * FULL + 0.5)


@inlined
def locate_span(play: Ints, passage: int, number: int) -> int:
    """Where a span of a passage lies."""
    return int(play[RUNS_AT] + (play[passage + P_FIRST] + play[passage + P_RUNS] + number) * RUN_SIZE)


@inlined
def stream_of(plan: Ints, play: Ints, its: int, run: int) -> int:
    """The stream of a run of the class at `its`."""
    return int(plan[plan[its + STREAMS_AT] + play[run + RUN_WAY] * WAY_SIZE + STREAM])


@inlined
def _most_before(world: World, its: int, passage: int, number: int, link: int) -> int:
    """The largest share of a link that the spans before one of them need."""
    _, _, _, _, plan, play, _, flows, numbers = world
    most = 0
    for earlier in range(number):
        s = stream_of(plan, play, its, locate_span(play, passage, earlier))
        if s < 0:
            continue
        stream = locate_stream(flows, s)
        for load in range(flows[stream + FIRST_LOAD], flows[stream + END_LOAD]):
            if flows[flows[LOADS_AT] + load * LOAD_SIZE + LOAD_LINK] == link:
                most = max(most, share_of(flows, numbers, load))
    return most


@borrowing
def count_users(world: World, c: int, passage: int, sign: int) -> None:
    """Add to what is needed of links the most that a passage of a class ever needs of each, or take it away."""
    _, _, _, _, plan, play, _, flows, numbers = world
    its = locate_class(plan, c)
    for number in range(play[passage + P_SPANS]):
        s = stream_of(plan, play, its, locate_span(play, passage, number))
        if s < 0:
            continue
        stream = locate_stream(flows, s)
        for load in range(flows[stream + FIRST_LOAD], flows[stream + END_LOAD]):
            link = flows[flows[LOADS_AT] + load * LOAD_SIZE + LOAD_LINK]
            more = share_of(flows, numbers, load) - _most_before(world, its, passage, number, link)
            play[play[USERS_AT] + link] += sign * max(0, more)


@inlined
def _share_in_service(world: World, link: int, begin: int) -> int:
    """What streams need of a link that are in service at `begin` or later, as far as is known."""
    _, states, _, _, _, _, _, flows, numbers = world
    together = 0
    other = flows[flows[HEADS_AT] + link]
    while other >= 0:
        load = flows[LOADS_AT] + other * LOAD_SIZE
        its = locate_stream(flows, flows[load + LOAD_STREAM])
        server = flows[its + SERVER]
        end = states[server, states[server, END_AT] + flows[its + SERVER_DIMENSION]]
        if end != NEVER and end > begin:
            together += share_of(flows, numbers, other)
        other = flows[load + NEXT]
    return together


@inlined
def _is_stream_met(world: World, stream: int, begin: int) -> bool:
    """Whether a stream at `begin` or later may need more of a link than others leave of it, as far as is known."""
    _, _, _, _, _, play, _, flows, numbers = world
    met = False
    for load in range(flows[stream + FIRST_LOAD], flows[stream + END_LOAD]):
        link = flows[flows[LOADS_AT] + load * LOAD_SIZE + LOAD_LINK]
        others = play[play[USERS_AT] + link] + _share_in_service(world, link, begin)
        met = met or (others > 0 and others + share_of(flows, numbers, load) > FITS)
    return met


@borrowing
def is_met(world: World, its: int, passage: int, now: int) -> bool:
    """Whether a passage of the class at `its` that begins now may be slowed, or slow somebody, as far as is known."""
    _, _, _, _, plan, play, _, flows, _ = world
    for number in range(play[passage + P_SPANS]):
        span = locate_span(play, passage, number)
        s = stream_of(plan, play, its, span)
        if s >= 0 and _is_stream_met(world, locate_stream(flows, s), now + play[span + RUN_FROM]):
            return True
    return False


@inlined
def uses_link(world: World, its: int, passage: int, link: int) -> bool:
    """Whether a passage of the class at `its` ever uses a link."""
    _, _, _, _, plan, play, _, flows, _ = world
    found = False
    for number in range(play[passage + P_SPANS]):
        s = stream_of(plan, play, its, locate_span(play, passage, number))
        found = found or (s >= 0 and uses(flows, s, link))
    return found


@inlined
def may_be_full(world: World, link: int) -> bool:
    """Whether the streams in service on a link and the passages that are waited for may need more than all of it."""
    play = world[5]
    waiting = play[play[USERS_AT] + link]
    return bool(waiting > 0 and waiting + _share_in_service(world, link, -1) > FITS)
