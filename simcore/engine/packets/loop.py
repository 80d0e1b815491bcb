"""The event loop: what happens next, until all is done, or the time is up, or nothing can happen any more."""

from __future__ import annotations

from simcore.compiled import borrowing, inlined
from simcore.engine.packets.buffers import admit
from simcore.engine.packets.heap import pop, postpone
from simcore.engine.packets.layout import (
    ACK,
    ALL,
    ARRIVE,
    ARRIVES,
    BEGIN,
    CLOCK,
    CNP,
    CODE,
    CODE_MASK,
    CODE_SHIFT,
    DEADLINE_OVER,
    DONE,
    ENDS_AT,
    EVENTS,
    FLOWS,
    FLY_HEAD,
    FREE_COUNT,
    FROM,
    GATE,
    HOP_AT,
    HOPPED,
    IDLE,
    ITS_WAY,
    KIND,
    LINKS,
    LIVE,
    NEXT,
    NOW,
    PACE,
    PACKETS,
    PAUSE,
    PAUSED,
    RESOURCES,
    RESUME,
    SIZE,
    STANDS,
    TASK_OVER,
    TIME,
    TO,
    WAITING,
    WAKE,
    WAKING,
    WORK,
    Ints,
    Reals,
)
from simcore.engine.packets.pairs import begin_flow, offer, watch_victims
from simcore.engine.packets.pool import free_packet
from simcore.engine.packets.ports import enqueue, link_at, pause, resume, serve
from simcore.engine.packets.receivers import deliver
from simcore.engine.packets.senders import acknowledge, notice, send, tick, time_out
from simcore.engine.packets.work import end_task, finish, pick, start

FINISHED, TIME_UP, ROOM_UP, STUCK, SLICE_UP = range(5)
"""Why the loop ends: all is done; the time is up; arrays are full; nothing can happen any more; a slice is over."""
SLICE = 1_000_000
"""Packet-hops after which the loop ends so that others may have a look, and a user may interrupt it."""


@inlined
def _land(w: Ints, link: int) -> int:
    """The first packet on a link arrives, which takes its event away; the packet."""
    links, packets = w[LINKS], w[PACKETS]
    packet = links[link, FLY_HEAD]
    following = packets[packet, NEXT]
    links[link, FLY_HEAD] = following
    if following >= 0:
        postpone(w, packets[following, ARRIVES])
    else:
        pop(w)
    return int(packet)


@inlined
def _arrive(w: Ints, f: Reals, link: int) -> int:
    """A packet arrives at the end of a link; the message that is whole with it, else -1."""
    packets = w[PACKETS]
    packet = _land(w, link)
    if w[LINKS][link, TO] < 0:
        return int(deliver(w, f, packet))
    if not admit(w, f, link, packets[packet, SIZE]):
        free_packet(w, packet)
        return -1
    packets[packet, HOP_AT] += 1
    onward = link_at(w, packets[packet, ITS_WAY], packets[packet, HOP_AT])
    enqueue(w, f, onward, packet)
    if not w[LINKS][onward, WAKING]:
        serve(w, f, onward)
    return -1


@borrowing
def _happen_to_link(w: Ints, f: Reals, what: int, link: int) -> None:
    """A port is free, or told to pause or to go on."""
    of_switch = w[LINKS][link, FROM] >= 0
    if what == WAKE:
        w[LINKS][link, WAKING] = 0
        if of_switch:
            serve(w, f, link)
        else:
            send(w, f, link)
    elif what == PAUSE:
        pause(w, link, of_switch)
        if not of_switch and w[LINKS][link, PAUSED] == 1:
            watch_victims(w, link)
    else:
        resume(w, link)


@borrowing
def _happen_to_flow(w: Ints, f: Reals, what: int, flow: int, time: int) -> None:
    """Something reaches a sender."""
    if what == ACK:
        acknowledge(w, f, flow)
    elif what == PACE:
        w[FLOWS][flow, STANDS] = IDLE
        offer(w, f, flow)
    elif what == CNP:
        notice(w, f, flow)
    elif what == DEADLINE_OVER:
        time_out(w, f, flow)
    else:
        tick(w, f, flow, time)


@borrowing
def _finish(w: Ints, f: Reals, work: int) -> None:
    finish(w, f, work)


@borrowing
def _begin(w: Ints, f: Reals, work: int) -> None:
    """The lag of a piece of work is over, or a resource (-1 - work) looks for a task."""
    if work < 0:
        pick(w, -1 - work)
    elif w[WORK][work, KIND] == GATE:
        _finish(w, f, work)
    else:
        start(w, f, work)


@borrowing
def open_flows(w: Ints, f: Reals) -> None:
    """Begin the control of every queue pair."""
    for flow in range(w[FLOWS].shape[0]):
        begin_flow(w, f, flow)


@borrowing
def run(w: Ints, f: Reals, until: int, margin: int) -> int:
    """Play what happens before `until` [ps] and while the heap has room for `margin` events more; why it ends."""
    clock, events = w[CLOCK], w[EVENTS]
    enough = clock[0, HOPPED] + SLICE
    room = events.shape[0] - margin
    while clock[0, DONE] < clock[0, ALL]:
        if clock[0, LIVE] == 0:
            return STUCK
        if clock[0, HOPPED] >= enough:
            return SLICE_UP
        if clock[0, FREE_COUNT] == 0 or clock[0, WAITING] > room:
            return ROOM_UP
        time, code = events[0, TIME], events[0, CODE]
        if time >= until:
            clock[0, NOW] = until
            return TIME_UP
        clock[0, NOW] = time
        what, index = code & CODE_MASK, code >> CODE_SHIFT
        if what == ARRIVE:
            whole = _arrive(w, f, index)
            if whole >= 0:
                _finish(w, f, whole)
            continue
        pop(w)
        if what in (WAKE, PAUSE, RESUME):
            _happen_to_link(w, f, what, index)
        elif what == BEGIN:
            _begin(w, f, index)
        elif what == TASK_OVER:
            if w[RESOURCES][index, ENDS_AT] == time:
                _finish(w, f, end_task(w, index))
        else:
            _happen_to_flow(w, f, what, index, time)
    return FINISHED
