"""What is not played needs of links all the same: the claims of passages and of collectives that are waited for.

A passage claims of each link the most that it ever needs of it, for all classes to see, while it is waited for. As long
as what claims and the streams in service need of a link together fits on it, nobody is slowed, whatever is when.
"""

from __future__ import annotations

from simcore.compiled import borrowing, inlined
from simcore.engine.fast.state import DIMENSIONS as NET_DIMENSIONS
from simcore.engine.fast.state import END_AT, NEVER, SOLO_CLAIMS, SOLO_END_AT, SOLO_TYPE, locate_solo
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
    SERVERS_AT,
    SLACK,
    STREAMS,
    locate_stream,
    pace_alone,
    uses,
)
from simcore.engine.flow.tables import (
    ADDS,
    AWAITED_PASSAGE,
    BEGIN,
    JOB,
    MODE,
    P_FIRST,
    P_RUNS,
    P_SPANS,
    R_WAYS,
    RUN_FROM,
    RUN_REACH,
    RUN_SIZE,
    RUN_TO,
    RUN_WAY,
    RUNS_AT,
    SKIPS,
    USERS_AT,
    Floats,
    Ints,
    World,
    locate_class,
    locate_collective,
    locate_machine,
    locate_notes,
    locate_repeated,
    stream_of_way,
)

FULL = 1 << 40
"""A whole link, in the parts in which shares are counted."""
FITS = int(FULL * (1 + SLACK / 2))
"""As much of a link as streams may need together without being slowed (see `rates.fill`)."""


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
    return stream_of_way(plan, its, play[run + RUN_WAY])


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
def _share_on(flows: Ints, numbers: Floats, s: int, link: int) -> int:
    """The share of a link that a stream needs where it meets nobody; 0 of what is none (-1)."""
    if s < 0:
        return 0
    stream, found = locate_stream(flows, s), 0
    for load in range(flows[stream + FIRST_LOAD], flows[stream + END_LOAD]):
        if flows[flows[LOADS_AT] + load * LOAD_SIZE + LOAD_LINK] == link:
            found = share_of(flows, numbers, load)
    return found


@inlined
def _first_beyond(play: Ints, passage: int, time: int) -> int:
    """The first run of a passage that may last beyond `time` after its beginning."""
    low, high = play[passage + P_FIRST], play[passage + P_FIRST] + play[passage + P_RUNS]
    while low < high:
        middle = (low + high) // 2
        if play[play[RUNS_AT] + middle * RUN_SIZE + RUN_REACH] > time:
            high = middle
        else:
            low = middle + 1
    return int(low)


@borrowing
def share_in_passage(world: World, its: int, passage: int, link: int, since: int, until: int) -> int:
    """The most that a passage of the class at `its` needs of a link between two times after its beginning [ps]."""
    _, _, _, _, plan, play, _, flows, numbers = world
    bound = 0
    for number in range(play[passage + P_SPANS]):
        span = locate_span(play, passage, number)
        if play[span + RUN_FROM] < until and play[span + RUN_TO] > since:
            bound = max(bound, _share_on(flows, numbers, stream_of(plan, play, its, span), link))
    most = 0 if play[passage + P_RUNS] > 0 else bound
    number, end = _first_beyond(play, passage, since), play[passage + P_FIRST] + play[passage + P_RUNS]
    while most < bound and number < end:
        run = play[RUNS_AT] + number * RUN_SIZE
        if play[run + RUN_FROM] >= until:
            break
        if play[run + RUN_TO] > since:
            most = max(most, _share_on(flows, numbers, stream_of(plan, play, its, run), link))
        number += 1
    return int(most)


@inlined
def _share_of_repeats(world: World, c: int, link: int) -> int:
    """The most that the repeats which a class waits for need of a link."""
    _, _, _, _, plan, play, _, flows, numbers = world
    its, repeated, most = locate_class(plan, c), locate_repeated(play, c), 0
    for place in range(play[repeated + R_WAYS]):
        s = stream_of_way(plan, its, play[repeated + R_WAYS + 1 + place])
        most = max(most, _share_on(flows, numbers, s, link))
    return int(most)


@borrowing
def _share_waiting(world: World, link: int, begin: int, end: int) -> int:
    """The most that what is waited for needs of a link together at any time from `begin` to `end`."""
    nets, states, _, _, plan, play, _, flows, _ = world
    ends, together = flows[SERVERS_AT] + link, 0
    for place in range(flows[ends], flows[ends + 1]):
        c = flows[place]
        its, m, state = locate_class(plan, c), locate_machine(play, c), states[c]
        if play[m + MODE] == ADDS:  # solos in flight are among what repeats claim, and passages too
            together += _share_of_repeats(world, c, link)
            continue
        if play[m + MODE] == SKIPS:
            passage, since = play[locate_notes(play, c) + AWAITED_PASSAGE], play[m + BEGIN]
            together += share_in_passage(world, its, passage, link, begin - since, end - since)
            continue
        for least in range(nets[plan[its + JOB], NET_DIMENSIONS]):
            solo, over = locate_solo(state, least), state[state[SOLO_END_AT] + least]
            if over != NEVER and over > begin and state[solo + SOLO_CLAIMS]:
                collective = locate_collective(plan, play, its, state[solo + SOLO_TYPE])
                together += share_in_passage(world, its, collective, link, 0, NEVER)
    return int(together)


@inlined
def _is_stream_met(world: World, stream: int, begin: int, end: int) -> bool:
    """Whether a stream from `begin` to `end` may need more of a link than others leave of it, as far as is known."""
    _, _, _, _, _, play, _, flows, numbers = world
    for load in range(flows[stream + FIRST_LOAD], flows[stream + END_LOAD]):
        link = flows[flows[LOADS_AT] + load * LOAD_SIZE + LOAD_LINK]
        waiting, own = play[play[USERS_AT] + link], share_of(flows, numbers, load)
        served = _share_in_service(world, link, begin)
        if waiting + served > 0 and waiting + served + own > FITS:
            if waiting > 0:
                waiting = _share_waiting(world, link, begin, end)
            if waiting + served > 0 and waiting + served + own > FITS:
                return True
    return False


@borrowing
def is_met(world: World, its: int, passage: int, now: int, length: int) -> bool:
    """Whether a passage of the class at `its` that begins now may be slowed, or slow somebody, as far as is known.

    It lasts for `length` [ps], at most.
    """
    _, _, _, _, plan, play, _, flows, _ = world
    for number in range(play[passage + P_SPANS]):
        span = locate_span(play, passage, number)
        s = stream_of(plan, play, its, span)
        begin, end = now + play[span + RUN_FROM], now + min(play[span + RUN_TO], length)
        if s >= 0 and _is_stream_met(world, locate_stream(flows, s), begin, end):
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
def may_be_full(world: World, link: int, begin: int, end: int) -> bool:
    """Whether the streams in service on a link and what is waited for may need more than all of it until `end`."""
    play = world[5]
    waiting, served = play[play[USERS_AT] + link], _share_in_service(world, link, -1)
    if waiting == 0 or waiting + served <= FITS:
        return False
    return bool(served + _share_waiting(world, link, begin, end) > FITS)
