"""Collectives over shared links that nobody is slowed by: noted as solos of the fast engine until somebody may be.

Alone on its dimensions, such a collective takes the time that it takes alone while what all need of its links fits on
them. So it claims what it needs (`claims`), its end is an event, and nothing of it is played. If another stream comes
to be with which it might not fit, or another collective of its own class, it is played from its beginning up to now,
which nobody has felt, and goes on being played.
"""

from __future__ import annotations

from simcore.compiled import borrowing, inlined
from simcore.engine.fast.queues import end_solo
from simcore.engine.fast.solo import join
from simcore.engine.fast.state import (
    ALONE,
    DIMENSIONS,
    END_AT,
    NEVER,
    NOW,
    PHASE,
    PHASE_SIZE,
    SERIALIZATION,
    SOLO_CLAIMS,
    SOLO_END_AT,
    SOLO_TYPE,
    Ints,
    locate_serving,
    locate_solo,
    locate_type,
)
from simcore.engine.flow.claims import count_users, is_met, uses_link
from simcore.engine.flow.rates import begin_stream
from simcore.engine.flow.tables import (
    BEGAN,
    FROM,
    ITS_STREAM,
    JOB,
    PRIVATE_AT,
    RECORDED,
    REMAINING,
    REPLAY_TO,
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
def is_past(world: World, c: int, kind: int) -> bool:
    """Whether a collective that begins now is over when what is played again has caught up: nobody has met it."""
    nets, states, _, _, plan, play, _, _, _ = world
    its = locate_class(plan, c)
    alone = nets[plan[its + JOB], locate_type(nets[plan[its + JOB]], kind) + ALONE]
    return bool(_is_claimed(plan, its, kind) and play[REPLAYS] > 0 and states[c, NOW] + alone <= play[REPLAY_TO])


@inlined
def claim(world: World, c: int, kind: int) -> bool:
    """Claim what a collective needs that begins now; False where it claims nothing, or has to be played."""
    nets, states, _, _, plan, play, _, _, _ = world
    its = locate_class(plan, c)
    if not _is_claimed(plan, its, kind) or play[REPLAYS] > 0 or play[locate_notes(play, c) + RECORDED] > 0:
        return False
    collective, net = locate_collective(plan, play, its, kind), nets[plan[its + JOB]]
    alone = net[locate_type(net, kind) + ALONE]
    if is_met(world, its, collective, states[c, NOW], alone):
        return False
    count_users(world, c, collective, 1)
    play[SKIPPERS] += 1
    return True


@inlined
def _drop_claim(world: World, c: int, kind: int) -> None:
    """Claim nothing any more for a collective."""
    plan, play = world[4], world[5]
    collective = locate_collective(plan, play, locate_class(plan, c), kind)
    count_users(world, c, collective, -1)
    play[SKIPPERS] -= 1


@inlined
def finish_solo(world: World, c: int, least: int) -> None:
    """A solo is over, which met nobody."""
    nets, states, _, _, plan, play, _, _, _ = world
    state, solo = states[c], locate_solo(states[c], least)
    if state[solo + SOLO_CLAIMS]:
        _drop_claim(world, c, state[solo + SOLO_TYPE])
        play[SKIPPED] += 1
    end_solo(nets[plan[locate_class(plan, c) + JOB]], state, least)


@borrowing
def play_solo(world: World, c: int, least: int) -> None:
    """Play a solo up to now; its streams are in service from then on."""
    nets, states, _, _, plan, play, _, flows, numbers = world
    its, state = locate_class(plan, c), states[c]
    net, solo = nets[plan[its + JOB]], locate_solo(state, least)
    kind, claims = state[solo + SOLO_TYPE], state[solo + SOLO_CLAIMS]
    join(net, state, least)
    if not _is_claimed(plan, its, kind):
        return
    if claims:
        _drop_claim(world, c, kind)
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
            if play[REPLAYS] == 0:  # else its streams begin when all is played again up to now
                begin_stream(flows, numbers, stream, c, d)
    touch(play, c)


@borrowing
def play_met(world: World, c: int, link: int) -> bool:
    """Play the solos of a class up to now that use a link; whether there are any."""
    nets, states, _, _, plan, play, _, _, _ = world
    its, state = locate_class(plan, c), states[c]
    found = False
    for least in range(nets[plan[its + JOB], DIMENSIONS]):
        if state[state[SOLO_END_AT] + least] == NEVER:
            continue
        kind = state[locate_solo(state, least) + SOLO_TYPE]
        if _is_claimed(plan, its, kind) and uses_link(world, its, locate_collective(plan, play, its, kind), link):
            play_solo(world, c, least)
            found = True
    return found
