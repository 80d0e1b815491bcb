"""Queue pairs: whether they may send, and the messages that wait in them.

The port of an NPU takes packets of its queue pairs in turn. A queue pair sends its messages one after the other, no
faster than its control lets it.
"""

from __future__ import annotations

from simcore.compiled import inlined
from simcore.engine.packets.heap import push
from simcore.engine.packets.layout import (
    ACKED_TO,
    ACKS,
    AMOUNT,
    BEGUN,
    CLOCK,
    CONTROL,
    CURRENT,
    FLOWS,
    FREE_AT,
    HELD,
    IDLE,
    LEFT,
    LINKS,
    NEWEST,
    NEXT_READY,
    NEXT_SEND,
    NEXT_WAY,
    NEXT_WORK,
    NOW,
    OLDEST,
    OPEN,
    OPEN_AT,
    ORDER,
    PACE,
    PACED,
    PARAMETERS,
    PAUSED,
    PORT_OF,
    READY,
    SENT_TO,
    STANDS,
    START,
    TABLE,
    TIMER_EVENT,
    TIMER_OVER,
    UPLINK,
    VICTIM_AT,
    WAY,
    WAY_SIZE,
    WAYS,
    WHERE,
    WORK,
    Ints,
    Reals,
)
from simcore.engine.packets.layout import HEAD as FIRST_READY
from simcore.engine.packets.layout import TAIL as LAST_READY
from simcore.engine.packets.ports import is_idle, link_at, wake
from simcore.engine.packets.processor import serve_more
from simcore.policy.control import base
from simcore.policy.control.dispatch import begin
from simcore.system.phase import PICOSECONDS

_FAR = 1e6
"""Longest time that a control's timer is set for [s]."""


@inlined
def begin_flow(w: Ints, f: Reals, flow: int) -> None:
    """A queue pair is opened."""
    begin(w[CLOCK][0, CONTROL], f[TABLE][flow], f[PARAMETERS][0])


@inlined
def is_active(w: Ints, flow: int) -> bool:
    """Whether a queue pair has something to send, or waits for an acknowledgement."""
    flows = w[FLOWS]
    return bool(flows[flow, CURRENT] >= 0 or (w[CLOCK][0, ACKS] and flows[flow, ACKED_TO] < flows[flow, SENT_TO]))


@inlined
def set_row(w: Ints, f: Reals, flow: int) -> None:
    """What a control sees of a queue pair."""
    row, flows = f[TABLE][flow], w[FLOWS]
    row[base.NOW] = w[CLOCK][0, NOW] / PICOSECONDS
    row[base.SENT] = flows[flow, SENT_TO]
    row[base.ACKED] = flows[flow, ACKED_TO]


@inlined
def set_timer(w: Ints, f: Reals, flow: int) -> None:
    """See that the control's timer goes off in time."""
    seconds, now = f[TABLE][flow, base.TIMER], w[CLOCK][0, NOW]
    if seconds < _FAR:
        time = max(now, int(seconds * PICOSECONDS + 0.5))
        if time < w[FLOWS][flow, TIMER_EVENT]:
            w[FLOWS][flow, TIMER_EVENT] = time
            push(w, time, TIMER_OVER, flow)


@inlined
def may_send(w: Ints, f: Reals, flow: int) -> bool:
    """Whether the window leaves room; one packet may always be under way."""
    flying = w[FLOWS][flow, SENT_TO] - w[FLOWS][flow, ACKED_TO]
    return bool(not w[CLOCK][0, ACKS] or flying <= 0 or flying < f[TABLE][flow, base.WINDOW])


@inlined
def offer(w: Ints, f: Reals, flow: int) -> None:
    """A queue pair may have become able to send."""
    flows, links = w[FLOWS], w[LINKS]
    if flows[flow, STANDS] == READY or flows[flow, STANDS] == PACED:
        return
    if flows[flow, CURRENT] < 0:
        flows[flow, STANDS] = IDLE
    elif not may_send(w, f, flow):
        flows[flow, STANDS] = HELD
    elif flows[flow, NEXT_SEND] > max(w[CLOCK][0, NOW], links[flows[flow, UPLINK], FREE_AT]):
        flows[flow, STANDS] = PACED
        push(w, flows[flow, NEXT_SEND], PACE, flow)
    else:
        _line_up(w, flow)


@inlined
def _line_up(w: Ints, flow: int) -> None:
    """A queue pair waits for its turn at its NPU's port."""
    flows, links, link = w[FLOWS], w[LINKS], w[FLOWS][flow, UPLINK]
    flows[flow, STANDS], flows[flow, NEXT_READY] = READY, -1
    if links[link, FIRST_READY] < 0:
        links[link, FIRST_READY] = flow
    else:
        flows[links[link, LAST_READY], NEXT_READY] = flow
    links[link, LAST_READY] = flow
    if links[link, PAUSED] > 0:
        _watch_victim(w, link, flow)
    else:
        wake(w, link)


@inlined
def _watch_victim(w: Ints, link: int, flow: int) -> None:
    """Note since when a pause holds back a queue pair of an NPU whose packets could go on after its port."""
    way = w[FLOWS][flow, WAY] + w[FLOWS][flow, NEXT_WAY] * w[FLOWS][flow, WAY_SIZE]
    if w[LINKS][link, VICTIM_AT] < 0 and w[WAYS][way, 0] > 1 and is_idle(w, link_at(w, way, 1)):
        w[LINKS][link, VICTIM_AT] = w[CLOCK][0, NOW]


@inlined
def watch_victims(w: Ints, link: int) -> None:
    """Look at all queue pairs that a pause of an NPU's port holds back."""
    flow = w[LINKS][link, FIRST_READY]
    while flow >= 0 and w[LINKS][link, VICTIM_AT] < 0:
        _watch_victim(w, link, flow)
        flow = w[FLOWS][flow, NEXT_READY]


@inlined
def add_message(w: Ints, f: Reals, work: int) -> None:
    """A message joins its queue pair: before those of a higher order that have not begun."""
    its, flow = w[WORK], w[WORK][work, WHERE]
    flows = w[FLOWS]
    before = flows[flow, BEGUN]
    after = flows[flow, CURRENT] if before < 0 else its[before, NEXT_WORK]
    newest = flows[flow, NEWEST]
    if after >= 0 and its[newest, ORDER] <= its[work, ORDER]:
        before, after = newest, -1
    while after >= 0 and its[after, ORDER] <= its[work, ORDER]:
        before, after = after, its[after, NEXT_WORK]
    its[work, NEXT_WORK], its[work, START], its[work, LEFT] = after, -1, its[work, AMOUNT]
    if before >= 0:
        its[before, NEXT_WORK] = work
    if after < 0:
        flows[flow, NEWEST] = work
    if flows[flow, CURRENT] == after:
        flows[flow, CURRENT] = work
    if flows[flow, OLDEST] < 0 or flows[flow, OLDEST] == after:
        flows[flow, OLDEST] = work
    if flows[flow, OPEN] == 0:
        flows[flow, OPEN_AT] = w[CLOCK][0, NOW]
        serve_more(w, flows[flow, PORT_OF], 1)
        set_timer(w, f, flow)
    flows[flow, OPEN] += 1
    offer(w, f, flow)
