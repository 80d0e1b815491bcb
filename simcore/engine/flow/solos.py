"""Collectives over shared links that nobody is slowed by: noted as solos of the fast engine until somebody may be.

Alone in its component, such a collective takes the time that it takes alone while what all need of its links fits on
them. So it claims what it needs (`claims`), its end is an event, and nothing of it is played. If another stream comes
to be with which it might not fit, or another collective of its own class, it is played from its beginning up to now,
which nobody has felt, and goes on being played.
"""

from __future__ import annotations

from simcore.compiled import borrowing, inlined
from simcore.engine.fast.queues import end_solo
from simcore.engine.fast.solo import join
from simcore.engine.fast.state import (
    DIMENSIONS,
    END_AT,
    NEVER,
    PHASE,
    PHASE_SIZE,
    SERIALIZATION,
    SOLO_END_AT,
    SOLO_TYPE,
    Ints,
    locate_serving,
    locate_solo,
)
from simcore.engine.flow.claims import count_paid, count_users, is_met, pays, uses_link
from simcore.engine.flow.rates import begin_stream
from simcore.engine.flow.tables import (
    BEGAN,
    FROM,
    ITS_STREAM,
    JOB,
    PRIVATE_AT,
    RECORDED,
    REMAINING,
    REPLAYED,
    REPLAYS,
    SKIPPED,
    SKIPPERS,
    SOLO_UNMET,
    STREAM,
    World,
    locate_class,
    locate_collective,
    locate_notes,
    locate_service,
    locate_way,
    touch,
)


@inlined
def _is_claimed(plan: Ints, its: int, kind: int) -> bool:
    """Whether a collective of the class at `its` claims something while it is a solo."""
    return bool(plan[plan[its + PRIVATE_AT] + kind] == SOLO_UNMET)


@inlined
def claim(world: World, c: int, kind: int, now: int) -> bool:
    """Claim what a collective needs that begins now; False where it has to be played."""
    _, _, _, _, plan, play, _, _, _ = world
    its = locate_class(plan, c)
    if not _is_claimed(plan, its, kind) or play[REPLAYS] > 0 or play[locate_notes(play, c) + RECORDED] > 0:
        return False
    collective = locate_collective(plan, play, its, kind)
    if not pays(play, collective) or is_met(world, its, collective, now):
        return False
    count_users(world, c, collective, 1)
    play[SKIPPERS] += 1
    return True


@inlined
def _drop_claim(world: World, c: int, kind: int, paid: int) -> None:
    """Claim nothing any more for a collective; 1 if that has `paid`, -1 if it was played after all."""
    plan, play = world[4], world[5]
    collective = locate_collective(plan, play, locate_class(plan, c), kind)
    count_users(world, c, collective, -1)
    play[SKIPPERS] -= 1
    count_paid(play, collective, paid)


@inlined
def finish_solo(world: World, c: int, component: int) -> None:
    """The solo of a component is over, which met nobody."""
    nets, states, _, _, plan, play, _, _, _ = world
    its, state = locate_class(plan, c), states[c]
    kind = state[locate_solo(state, component) + SOLO_TYPE]
    if _is_claimed(plan, its, kind):
        _drop_claim(world, c, kind, 1)
        play[SKIPPED] += 1
    end_solo(nets[plan[its + JOB]], state, component)


@borrowing
def play_solo(world: World, c: int, component: int) -> None:
    """Play the solo of a component up to now; its streams are in service from then on."""
    nets, states, _, _, plan, play, _, flows, numbers = world
    its, state = locate_class(plan, c), states[c]
    net, kind = nets[plan[its + JOB]], state[locate_solo(state, component) + SOLO_TYPE]
    join(net, state, component)
    if not _is_claimed(plan, its, kind):
        return
    _drop_claim(world, c, kind, -1)
    play[REPLAYED] += 1
    for d in range(net[DIMENSIONS]):
        service = locate_service(plan, play, c, d)
        end = state[state[END_AT] + d]
        if end == NEVER or play[service + ITS_STREAM] >= 0:
            continue
        phase = state[locate_serving(state, d) + PHASE]
        stream = plan[locate_way(plan, its, phase, PHASE_SIZE) + STREAM]
        if stream >= 0:
            play[service + ITS_STREAM], play[service + REMAINING] = stream, net[phase + SERIALIZATION]
            play[service + FROM] = play[service + BEGAN] = end - net[phase + SERIALIZATION]
            begin_stream(flows, numbers, stream, c, d)
    touch(play, c)


@borrowing
def play_met(world: World, c: int, link: int) -> bool:
    """Play the solos of a class up to now that use a link; whether there are any."""
    nets, states, _, _, plan, play, _, _, _ = world
    its, state = locate_class(plan, c), states[c]
    found = False
    for component in range(nets[plan[its + JOB], DIMENSIONS]):
        if state[state[SOLO_END_AT] + component] == NEVER:
            continue
        kind = state[locate_solo(state, component) + SOLO_TYPE]
        if _is_claimed(plan, its, kind) and uses_link(world, its, locate_collective(plan, play, its, kind), link):
            play_solo(world, c, component)
            found = True
    return found
