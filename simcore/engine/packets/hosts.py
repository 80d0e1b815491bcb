"""Queue pairs of NPUs: what they send and when, what they receive, and how they begin again after a loss.

The port of an NPU takes packets of its queue pairs in turn. A queue pair sends its messages one after the other, no
faster than its control lets it. A receiver takes packets in order alone: what comes out of order is thrown away and
asked for once, and the sender begins again there (go-back-N). Where ways alternate (`spray`) it takes any order.
"""

from __future__ import annotations

from simcore.compiled import inlined
from simcore.engine.packets.buffers import interject
from simcore.engine.packets.heap import push
from simcore.engine.packets.layout import (
    ACK,
    ACK_EVERY,
    ACK_HEAD,
    ACK_SIZE,
    ACK_TAIL,
    ACKED_TO,
    ACKNOWLEDGED,
    ACKS,
    AMOUNT,
    ARRIVED,
    ARRIVES,
    ASKED,
    ASKS,
    BACK_TIME,
    BACK_WAY,
    BEGUN,
    CLOCK,
    CNP,
    CNP_INTERVAL,
    CONTROL,
    CURRENT,
    DEADLINE,
    DEADLINE_EVENT,
    DEADLINE_OVER,
    DELIVERED,
    DISCARDED,
    ECHO,
    EXPECTED,
    FLOW,
    FLOWS,
    FREE,
    FREE_AT,
    FREE_COUNT,
    HEADER,
    HELD,
    HOP_AT,
    HOPS,
    HOPS_KEPT,
    IDLE,
    INJECTED,
    ITS_WAY,
    LAST,
    LEFT,
    LINKS,
    MARK,
    MOST_SENT,
    NEVER,
    NEWEST,
    NEXT,
    NEXT_READY,
    NEXT_SEND,
    NEXT_WAY,
    NEXT_WORK,
    NOTIFICATIONS,
    NOTIFIED_AT,
    NOTIFIES,
    NOW,
    OF,
    OLDEST,
    OPEN,
    OPEN_AT,
    OPEN_TIME,
    ORDER,
    PACE,
    PACED,
    PACKETS,
    PARAMETERS,
    PAUSED,
    PAYLOAD_HERE,
    PAYLOAD_SIZE,
    PFC,
    PLACE,
    PORT_OF,
    READY,
    REPEATED,
    RESENT,
    SENT_AT,
    SENT_TO,
    SIZE,
    SPRAYS,
    STANDS,
    START,
    TABLE,
    TELEMETRY,
    TIMEOUT,
    TIMER_EVENT,
    TIMER_OVER,
    UNANSWERED,
    UPLINK,
    VICTIM_AT,
    WAY,
    WAY_COUNT,
    WAY_SIZE,
    WAYS,
    WHERE,
    WORK,
    Ints,
    Reals,
)
from simcore.engine.packets.layout import HEAD as FIRST_READY
from simcore.engine.packets.layout import TAIL as LAST_READY
from simcore.engine.packets.ports import is_idle, link_at, transmit, wake
from simcore.engine.packets.processor import serve_more
from simcore.policy.control import base
from simcore.policy.control.dispatch import begin, on_ack, on_cnp, on_send, on_timer

_SECOND = 1e12
_FAR = 1e6
"""Longest time that a control's timer is set for [s]."""


@inlined
def free_packet(w: Ints, packet: int) -> None:
    """A packet is no more."""
    w[PACKETS][packet, NEXT] = w[CLOCK][0, FREE]
    w[CLOCK][0, FREE] = packet
    w[CLOCK][0, FREE_COUNT] += 1


@inlined
def _new_packet(w: Ints) -> int:
    packet = w[CLOCK][0, FREE]
    w[CLOCK][0, FREE] = w[PACKETS][packet, NEXT]
    w[CLOCK][0, FREE_COUNT] -= 1
    return int(packet)


@inlined
def begin_flow(w: Ints, f: Reals, flow: int) -> None:
    """A queue pair is opened."""
    begin(w[CLOCK][0, CONTROL], f[TABLE][flow], f[PARAMETERS][0])


@inlined
def _is_active(w: Ints, flow: int) -> bool:
    """Whether a queue pair has something to send, or waits for an acknowledgement."""
    flows = w[FLOWS]
    return bool(flows[flow, CURRENT] >= 0 or (w[CLOCK][0, ACKS] and flows[flow, ACKED_TO] < flows[flow, SENT_TO]))


@inlined
def _set_row(w: Ints, f: Reals, flow: int) -> None:
    """What a control sees of a queue pair."""
    row, flows = f[TABLE][flow], w[FLOWS]
    row[base.NOW] = w[CLOCK][0, NOW] / _SECOND
    row[base.SENT] = flows[flow, SENT_TO]
    row[base.ACKED] = flows[flow, ACKED_TO]


@inlined
def _set_timer(w: Ints, f: Reals, flow: int) -> None:
    """See that the control's timer goes off in time."""
    seconds, now = f[TABLE][flow, base.TIMER], w[CLOCK][0, NOW]
    if seconds < _FAR:
        time = max(now, int(seconds * _SECOND + 0.5))
        if time < w[FLOWS][flow, TIMER_EVENT]:
            w[FLOWS][flow, TIMER_EVENT] = time
            push(w, time, TIMER_OVER, flow)


@inlined
def _may_send(w: Ints, f: Reals, flow: int) -> bool:
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
    elif not _may_send(w, f, flow):
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
        watch_victims(w, link)
    else:
        wake(w, link)


@inlined
def watch_victims(w: Ints, link: int) -> None:
    """Note since when a pause holds back a queue pair of an NPU whose packets could go on after its port."""
    if w[LINKS][link, VICTIM_AT] >= 0:
        return
    flow = w[LINKS][link, FIRST_READY]
    while flow >= 0:
        way = w[FLOWS][flow, WAY] + w[FLOWS][flow, NEXT_WAY] * w[FLOWS][flow, WAY_SIZE]
        if w[WAYS][way, 0] > 1 and is_idle(w, link_at(w, way, 1)):
            w[LINKS][link, VICTIM_AT] = w[CLOCK][0, NOW]
            return
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
        _set_timer(w, f, flow)
    flows[flow, OPEN] += 1
    offer(w, f, flow)


@inlined
def _fill_packet(w: Ints, flow: int) -> int:
    """The next packet of a queue pair."""
    its, flows, packets, clock = w[WORK], w[FLOWS], w[PACKETS], w[CLOCK]
    message = flows[flow, CURRENT]
    if its[message, START] < 0:
        its[message, START] = flows[flow, SENT_TO]
        flows[flow, BEGUN] = message
    left = its[message, START] + its[message, AMOUNT] - flows[flow, SENT_TO]
    payload = min(left, clock[0, PAYLOAD_SIZE])
    packet = _new_packet(w)
    packets[packet, FLOW], packets[packet, OF], packets[packet, PLACE] = flow, message, flows[flow, SENT_TO]
    packets[packet, PAYLOAD_HERE], packets[packet, SIZE] = payload, payload + clock[0, HEADER]
    packets[packet, LAST] = 1 if payload == left else 0
    packets[packet, MARK] = packets[packet, ASKS] = packets[packet, HOP_AT] = packets[packet, HOPS] = 0
    packets[packet, SENT_AT] = clock[0, NOW]
    packets[packet, ITS_WAY] = flows[flow, WAY] + flows[flow, NEXT_WAY] * flows[flow, WAY_SIZE]
    if clock[0, SPRAYS]:
        flows[flow, NEXT_WAY] = (flows[flow, NEXT_WAY] + 1) % flows[flow, WAY_COUNT]
    flows[flow, SENT_TO] += payload
    clock[0, INJECTED] += 1
    if flows[flow, SENT_TO] <= flows[flow, MOST_SENT]:
        clock[0, RESENT] += 1
    flows[flow, MOST_SENT] = max(flows[flow, MOST_SENT], flows[flow, SENT_TO])
    if payload == left:
        flows[flow, CURRENT] = its[message, NEXT_WORK]
    return packet


@inlined
def _await_answer(w: Ints, flow: int) -> None:
    """From now on an acknowledgement is due within the timeout, where packets can be lost."""
    flows, clock = w[FLOWS], w[CLOCK]
    if clock[0, PFC] or not clock[0, ACKS]:
        return
    flows[flow, DEADLINE] = clock[0, NOW] + clock[0, TIMEOUT]
    if flows[flow, DEADLINE_EVENT] == NEVER:
        flows[flow, DEADLINE_EVENT] = flows[flow, DEADLINE]
        push(w, flows[flow, DEADLINE], DEADLINE_OVER, flow)


@inlined
def send(w: Ints, f: Reals, link: int) -> None:
    """The port of an NPU takes the next packet, unless it is paused or busy."""
    flows, links = w[FLOWS], w[LINKS]
    if links[link, PAUSED] > 0 or links[link, FIRST_READY] < 0:
        return
    if links[link, FREE_AT] > w[CLOCK][0, NOW]:
        wake(w, link)
        return
    flow = links[link, FIRST_READY]
    links[link, FIRST_READY] = flows[flow, NEXT_READY]
    flows[flow, STANDS] = IDLE
    if flows[flow, CURRENT] >= 0 and _may_send(w, f, flow):
        quiet = flows[flow, SENT_TO] == flows[flow, ACKED_TO]
        packet = _fill_packet(w, flow)
        size = w[PACKETS][packet, SIZE]
        transmit(w, f, link, packet)
        if quiet:
            _await_answer(w, flow)
        _set_row(w, f, flow)
        row = f[TABLE][flow]
        on_send(w[CLOCK][0, CONTROL], row, f[PARAMETERS][0], size)
        _set_timer(w, f, flow)
        gap = int(size / row[base.RATE] * _SECOND + 0.5)
        flows[flow, NEXT_SEND] = w[CLOCK][0, NOW] + gap if row[base.RATE] < row[base.LINE] else 0
    offer(w, f, flow)
    if links[link, FIRST_READY] >= 0:
        wake(w, link)


@inlined
def deliver(w: Ints, f: Reals, packet: int) -> int:
    """A packet arrives at its receiver, which answers; the message that is whole with it, else -1."""
    flows, packets, clock, its = w[FLOWS], w[PACKETS], w[CLOCK], w[WORK]
    flow, payload, message = packets[packet, FLOW], packets[packet, PAYLOAD_HERE], packets[packet, OF]
    whole, at_once = -1, packets[packet, LAST] == 1
    asks = 0
    if packets[packet, PLACE] == flows[flow, EXPECTED] or clock[0, SPRAYS]:
        flows[flow, EXPECTED] += payload
        flows[flow, ARRIVED] += payload
        flows[flow, ASKED] = 0
        clock[0, DELIVERED] += 1
        its[message, LEFT] -= payload
        if its[message, LEFT] == 0:
            whole = message
            flows[flow, OPEN] -= 1
            if flows[flow, OPEN] == 0:
                flows[flow, OPEN_TIME] += clock[0, NOW] - flows[flow, OPEN_AT]
                serve_more(w, flows[flow, PORT_OF], -1)
    elif packets[packet, PLACE] > flows[flow, EXPECTED]:
        clock[0, DISCARDED] += 1
        if flows[flow, ASKED]:
            free_packet(w, packet)
            return -1
        flows[flow, ASKED] = asks = 1
        at_once = True
    else:
        clock[0, REPEATED] += 1
        at_once = True
    if packets[packet, MARK]:
        flows[flow, ECHO] = 1
        _notify(w, f, flow)
    flows[flow, UNANSWERED] += 1
    if at_once or flows[flow, UNANSWERED] >= clock[0, ACK_EVERY]:
        packets[packet, ASKS] = asks
        _answer(w, f, packet)
    else:
        free_packet(w, packet)
    return whole


@inlined
def _charge(w: Ints, f: Reals, flow: int) -> None:
    """What goes back to a sender takes its time on each link of its way, before all data."""
    way = w[FLOWS][flow, BACK_WAY]
    for hop in range(w[WAYS][way, 0]):
        interject(w, f, link_at(w, way, hop), w[CLOCK][0, ACK_SIZE])


@inlined
def _notify(w: Ints, f: Reals, flow: int) -> None:
    """Answer a mark with a notification, unless there was one a short time ago."""
    flows, clock = w[FLOWS], w[CLOCK]
    if clock[0, NOTIFIES] and clock[0, NOW] - flows[flow, NOTIFIED_AT] >= clock[0, CNP_INTERVAL]:
        flows[flow, NOTIFIED_AT] = clock[0, NOW]
        clock[0, NOTIFICATIONS] += 1
        _charge(w, f, flow)
        push(w, clock[0, NOW] + flows[flow, BACK_TIME], CNP, flow)


@inlined
def _answer(w: Ints, f: Reals, packet: int) -> None:
    """A packet becomes the acknowledgement of all that has arrived."""
    flows, packets, clock, flow = w[FLOWS], w[PACKETS], w[CLOCK], w[PACKETS][packet, FLOW]
    _charge(w, f, flow)
    clock[0, ACKNOWLEDGED] += 1
    echo, flows[flow, ECHO], flows[flow, UNANSWERED] = flows[flow, ECHO], 0, 0
    if not clock[0, ACKS]:
        free_packet(w, packet)
        return
    packets[packet, MARK], packets[packet, PLACE] = echo, flows[flow, EXPECTED]
    packets[packet, ARRIVES], packets[packet, NEXT] = clock[0, NOW] + flows[flow, BACK_TIME], -1
    if flows[flow, ACK_HEAD] < 0:
        flows[flow, ACK_HEAD] = packet
        push(w, packets[packet, ARRIVES], ACK, flow)
    else:
        packets[flows[flow, ACK_TAIL], NEXT] = packet
    flows[flow, ACK_TAIL] = packet


@inlined
def _begin_again(w: Ints, flow: int) -> None:
    """Send again from the first payload that is not acknowledged."""
    flows = w[FLOWS]
    if flows[flow, ACKED_TO] < flows[flow, SENT_TO]:
        flows[flow, SENT_TO] = flows[flow, ACKED_TO]
        flows[flow, CURRENT] = flows[flow, OLDEST]


@inlined
def _forget_acknowledged(w: Ints, flow: int) -> None:
    """Go on to the first message that is not acknowledged as a whole."""
    its, flows = w[WORK], w[FLOWS]
    oldest = flows[flow, OLDEST]
    while oldest >= 0 and its[oldest, START] >= 0:
        if its[oldest, START] + its[oldest, AMOUNT] > flows[flow, ACKED_TO]:
            break
        oldest = its[oldest, NEXT_WORK]
    flows[flow, OLDEST] = oldest


@inlined
def acknowledge(w: Ints, f: Reals, flow: int) -> None:
    """The first acknowledgement that is under way to a sender arrives."""
    flows, packets, clock = w[FLOWS], w[PACKETS], w[CLOCK]
    packet, row = flows[flow, ACK_HEAD], f[TABLE][flow]
    flows[flow, ACK_HEAD] = packets[packet, NEXT]
    if flows[flow, ACK_HEAD] >= 0:
        push(w, packets[flows[flow, ACK_HEAD], ARRIVES], ACK, flow)
    newly = max(0, packets[packet, PLACE] - flows[flow, ACKED_TO])
    flows[flow, ACKED_TO] += newly
    flows[flow, SENT_TO] = max(flows[flow, SENT_TO], flows[flow, ACKED_TO])
    _forget_acknowledged(w, flow)
    _skip_acknowledged(w, flow)
    row[base.NEWLY], row[base.MARKED] = newly, packets[packet, MARK]
    row[base.RTT] = (clock[0, NOW] - packets[packet, SENT_AT]) / _SECOND
    _set_row(w, f, flow)
    first = packet * clock[0, HOPS_KEPT]
    hops = f[TELEMETRY][first : first + packets[packet, HOPS]]
    on_ack(clock[0, CONTROL], row, f[PARAMETERS][0], hops)
    if packets[packet, ASKS]:
        _begin_again(w, flow)
    free_packet(w, packet)
    if newly > 0:
        flows[flow, DEADLINE] = NEVER
        if flows[flow, ACKED_TO] < flows[flow, SENT_TO]:
            _await_answer(w, flow)
    _set_timer(w, f, flow)
    offer(w, f, flow)


@inlined
def _skip_acknowledged(w: Ints, flow: int) -> None:
    """Nothing is sent again that was acknowledged after its sender had begun again."""
    its, flows = w[WORK], w[FLOWS]
    current = flows[flow, CURRENT]
    while current >= 0 and 0 <= its[current, START] <= flows[flow, SENT_TO] - its[current, AMOUNT]:
        current = its[current, NEXT_WORK]
    flows[flow, CURRENT] = current


@inlined
def notice(w: Ints, f: Reals, flow: int) -> None:
    """A congestion notification arrives at a sender."""
    _set_row(w, f, flow)
    on_cnp(w[CLOCK][0, CONTROL], f[TABLE][flow], f[PARAMETERS][0])
    _set_timer(w, f, flow)


@inlined
def time_out(w: Ints, f: Reals, flow: int) -> None:
    """A deadline may have passed without an acknowledgement."""
    flows, clock = w[FLOWS], w[CLOCK]
    flows[flow, DEADLINE_EVENT] = NEVER
    if flows[flow, DEADLINE] == NEVER:
        return
    if flows[flow, DEADLINE] > clock[0, NOW]:
        flows[flow, DEADLINE_EVENT] = flows[flow, DEADLINE]
        push(w, flows[flow, DEADLINE], DEADLINE_OVER, flow)
        return
    _begin_again(w, flow)
    _await_answer(w, flow)
    offer(w, f, flow)


@inlined
def tick(w: Ints, f: Reals, flow: int, time: int) -> None:
    """A control's timer goes off; it rests while there is nothing to send or to wait for."""
    if time != w[FLOWS][flow, TIMER_EVENT]:
        return
    w[FLOWS][flow, TIMER_EVENT] = NEVER
    if _is_active(w, flow):
        _set_row(w, f, flow)
        on_timer(w[CLOCK][0, CONTROL], f[TABLE][flow], f[PARAMETERS][0])
        _set_timer(w, f, flow)
        offer(w, f, flow)
