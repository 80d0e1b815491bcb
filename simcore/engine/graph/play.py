"""The compiled event loop over graphs: nodes that begin, networks that go on, nodes that end.

At one picosecond all networks' events happen first, then nodes end, then those that are ready begin, the lowest number
first, and only then queues pick. An NPU computes one node at a time, its host and its memory link do so, too; whatever
is ready for the network goes there at once, whose queues say what is served when. Computation beside collectives is
slowed as in `simcore.engine.fast.computation`.
"""

from __future__ import annotations

from simcore.compiled import compiled, inlined
from simcore.engine.fast.queues import find_level, happen, pick_all
from simcore.engine.fast.solo import look_at_solos, rehearse, start
from simcore.engine.fast.state import (
    CARRY_AT,
    LEVELS,
    NEVER,
    NOW,
    OUTSTANDING,
    PENDING,
    SLOWDOWNS_AT,
    Ints,
)
from simcore.engine.graph.ready import sort_fresh, take_lowest
from simcore.engine.graph.tables import (
    ACTION,
    ARGUMENT,
    ARRIVED,
    AT_HOST,
    AT_MEMORY,
    AT_NPU,
    BEGAN,
    CHILDREN,
    CLASS,
    CLASSES,
    COMPUTE,
    DONE,
    ENDED,
    FINISH,
    FRESH,
    FRESH_AT,
    FULL,
    HOST,
    HOST_UNTIL,
    LEFT,
    LEVEL,
    MEMORY,
    MEMORY_UNTIL,
    MISSING,
    NEXT,
    NODES,
    NOTHING,
    NUMBER,
    OTHER,
    OUT_AT,
    RECEIVE,
    RECEIVER,
    RECEIVING,
    SEND,
    SENDING,
    STUCK,
    WAITED,
    WORK,
    first_node,
    locate_class,
    locate_node,
    locate_state,
)
from simcore.engine.interference import time_left_over, time_needed, work_done

_time_needed, _work_done, _time_left_over = inlined(time_needed), inlined(work_done), inlined(time_left_over)


@inlined
def _become_ready(graph: Ints, play: Ints, node: int) -> None:
    """A node waits for no other."""
    number = graph[locate_node(graph, node) + CLASS]
    its = locate_class(play, number)
    play[play[FRESH_AT] + first_node(graph, number) + play[its + FRESH]] = node
    play[its + FRESH] += 1


@inlined
def _end(graph: Ints, play: Ints, node: int, now: int) -> None:
    """A node ends now, and those that waited for it alone become ready."""
    its = locate_node(graph, node)
    play[locate_state(play, node) + ENDED] = now
    own = locate_class(play, graph[its + CLASS])
    play[own + LEFT] -= 1
    if play[own + LEFT] == 0:
        play[own + FINISH] = now
    for at in range(graph[its + CHILDREN], graph[locate_node(graph, node + 1) + CHILDREN]):
        missing = locate_state(play, graph[at]) + MISSING
        play[missing] -= 1
        if play[missing] == 0:
            _become_ready(graph, play, graph[at])


@inlined
def _begin(net: Ints, state: Ints, graph: Ints, play: Ints, node: int) -> None:
    """A node begins now; what takes no time ends as well."""
    its, now = locate_node(graph, node), state[NOW]
    action, argument, own = graph[its + ACTION], graph[its + ARGUMENT], locate_class(play, graph[its + CLASS])
    play[locate_state(play, node) + BEGAN] = now
    ends = action == NOTHING
    if action == COMPUTE:
        play[own + AT_NPU], play[own + WORK] = node, argument
        for level in range(net[LEVELS] + 1):
            state[state[CARRY_AT] + level] = 0
    elif action == HOST:
        play[own + AT_HOST], play[own + HOST_UNTIL] = node, now + argument
    elif action == MEMORY:
        play[own + AT_MEMORY], play[own + MEMORY_UNTIL] = node, now + argument
    elif action == RECEIVE:
        play[own + RECEIVING] += 1
        ends = play[locate_state(play, node) + ARRIVED] >= 0
        if ends:
            play[own + RECEIVING] -= 1
    elif not ends:
        start(net, state, argument, graph[its + NUMBER])
        play[play[OUT_AT] + first_node(graph, graph[its + CLASS]) + play[own + SENDING]] = node
        play[own + SENDING] += 1
    if ends:
        _end(graph, play, node, now)


@inlined
def _begin_all(net: Ints, state: Ints, graph: Ints, play: Ints, number: int, room: int) -> bool:
    """All nodes of a class that can begin do; False where there is no room for what they send."""
    sort_fresh(graph, play, number)
    node = take_lowest(graph, play, number)
    while node >= 0:
        if state[OUTSTANDING] >= room:
            return False
        _begin(net, state, graph, play, node)
        sort_fresh(graph, play, number)
        node = take_lowest(graph, play, number)
    return True


@inlined
def _look_ahead(net: Ints, state: Ints, play: Ints, number: int) -> int:
    """When something happens next in a class."""
    own = locate_class(play, number)
    time = NEVER
    if state[OUTSTANDING] > 0:
        time = pick_all(net, state)
    play[own + NEXT] = time
    if play[own + AT_NPU] >= 0:
        level, until = 0, time
        if net[LEVELS] > 0 and state[OUTSTANDING] > 0:
            level, until = look_at_solos(net, state, find_level(net, state), time)
        play[own + LEVEL] = level
        slowdown, carry = net[net[SLOWDOWNS_AT] + level], state[state[CARRY_AT] + level]
        time = min(until, state[NOW] + _time_needed(play[own + WORK], carry, slowdown))
    if play[own + AT_HOST] >= 0:
        time = min(time, play[own + HOST_UNTIL])
    if play[own + AT_MEMORY] >= 0:
        time = min(time, play[own + MEMORY_UNTIL])
    return int(time)


@inlined
def _compute(net: Ints, state: Ints, graph: Ints, play: Ints, own: int, passed: int) -> None:
    """The NPU of a class has computed for a time `passed` that ends now."""
    slowdown, carry = net[net[SLOWDOWNS_AT] + play[own + LEVEL]], state[CARRY_AT] + play[own + LEVEL]
    before = state[carry]
    play[own + WORK] -= _work_done(passed, before, slowdown)
    state[carry] = _time_left_over(passed, before, slowdown)
    if play[own + WORK] <= 0:
        node = play[own + AT_NPU]
        play[own + AT_NPU] = -1
        _end(graph, play, node, state[NOW])


@inlined
def _arrive(graph: Ints, play: Ints, node: int, now: int) -> None:
    """The message that a node receives arrives now, whether or not it waits for it yet."""
    state = locate_state(play, node)
    play[state + ARRIVED] = now
    if play[state + BEGAN] >= 0:
        play[locate_class(play, graph[locate_node(graph, node) + CLASS]) + RECEIVING] -= 1
        _end(graph, play, node, now)


@inlined
def _end_sent(state: Ints, graph: Ints, play: Ints, number: int) -> None:
    """What the network of a class has done ends, and its messages arrive."""
    own, out = locate_class(play, number), play[OUT_AT] + first_node(graph, number)
    if state[OUTSTANDING] == play[own + SENDING]:
        return  # nothing is over
    kept = 0
    for i in range(play[own + SENDING]):
        node = play[out + i]
        its = locate_node(graph, node)
        if state[PENDING + graph[its + NUMBER]] > 0:
            play[out + kept] = node
            kept += 1
            continue
        _end(graph, play, node, state[NOW])
        if graph[its + ACTION] == SEND:
            _arrive(graph, play, graph[its + RECEIVER], state[NOW])
    play[own + SENDING] = kept


@inlined
def _pass_time(net: Ints, state: Ints, graph: Ints, play: Ints, number: int, until: int) -> None:
    """A class goes on until the next thing happens to any of them; what its NPU and its host are at may end then."""
    own, passed = locate_class(play, number), until - state[NOW]
    if play[own + AT_NPU] < 0 and play[own + LEFT] > 0:
        play[own + (WAITED if play[own + SENDING] + play[own + RECEIVING] > 0 else OTHER)] += passed
    if play[own + NEXT] == until:
        happen(net, state, until)
    state[NOW] = until
    if play[own + AT_NPU] >= 0:
        _compute(net, state, graph, play, own, passed)
    if play[own + AT_HOST] >= 0 and play[own + HOST_UNTIL] == until:
        node = play[own + AT_HOST]
        play[own + AT_HOST] = -1
        _end(graph, play, node, until)
    if play[own + AT_MEMORY] >= 0 and play[own + MEMORY_UNTIL] == until:
        node = play[own + AT_MEMORY]
        play[own + AT_MEMORY] = -1
        _end(graph, play, node, until)


@compiled
def run(net: Ints, states: Ints, graph: Ints, play: Ints, room: int) -> int:
    """Play a graph from its beginning; `states` are idle networks of all classes, with `room` for collectives."""
    rehearse(net, states[0])
    for node in range(graph[NODES]):
        if play[locate_state(play, node) + MISSING] == 0:
            _become_ready(graph, play, node)
    while True:
        until = NEVER
        for number in range(graph[CLASSES]):
            if not _begin_all(net, states[number], graph, play, number, room):
                return int(FULL)
            until = min(until, _look_ahead(net, states[number], play, number))
        if until == NEVER:
            break
        for number in range(graph[CLASSES]):
            _pass_time(net, states[number], graph, play, number, until)
        for number in range(graph[CLASSES]):
            _end_sent(states[number], graph, play, number)
    for number in range(graph[CLASSES]):
        if play[locate_class(play, number) + LEFT] > 0:
            return int(STUCK)
    return int(DONE)
