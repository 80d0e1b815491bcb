"""Senders: the next packet of a queue pair, and what comes back for it.

Where packets may be lost, a sender begins again after what is acknowledged when its receiver asks for it, or when
nothing has come back for some time (go-back-N).
"""

from __future__ import annotations

from simcore.compiled import inlined
from simcore.engine.packets.heap import push
from simcore.engine.packets.layout import (
    ACK,
    ACK_HEAD,
    ACKED_TO,
    ACKS,
    AMOUNT,
    ARRIVES,
    ASKS,
    BEGUN,
    CLOCK,
    CONTROL,
    CURRENT,
    DEADLINE,
    DEADLINE_EVENT,
    DEADLINE_OVER,
    FLOW,
    FLOWS,
    FREE_AT,
    HEADER,
    HOP_AT,
    HOPS,
    HOPS_KEPT,
    IDLE,
    INJECTED,
    ITS_WAY,
    LAST,
    LINKS,
    MARK,
    MOST_SENT,
    NEVER,
    NEXT,
    NEXT_READY,
    NEXT_SEND,
    NEXT_WAY,
    NEXT_WORK,
    NOW,
    OF,
    OLDEST,
    PACKETS,
    PARAMETERS,
    PAUSED,
    PAYLOAD_HERE,
    PAYLOAD_SIZE,
    PFC,
    PLACE,
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
    WAY,
    WAY_COUNT,
    WAY_SIZE,
    WORK,
    Ints,
    Reals,
)
from simcore.engine.packets.layout import HEAD as FIRST_READY
from simcore.engine.packets.pairs import is_active, may_send, offer, set_row, set_timer
from simcore.engine.packets.pool import free_packet, new_packet
from simcore.engine.packets.ports import transmit, wake
from simcore.policy.control import base
from simcore.policy.control.dispatch import NONE, on_ack, on_cnp, on_send, on_timer
from simcore.system.phase import PICOSECONDS


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
    packet = new_packet(w)
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
    if flows[flow, CURRENT] >= 0 and may_send(w, f, flow):
        quiet = flows[flow, SENT_TO] == flows[flow, ACKED_TO]
        packet = _fill_packet(w, flow)
        size = w[PACKETS][packet, SIZE]
        transmit(w, f, link, packet)
        if quiet:
            _await_answer(w, flow)
        if w[CLOCK][0, CONTROL] != NONE:
            _tell_sent(w, f, flow, size)
    offer(w, f, flow)
    if links[link, FIRST_READY] >= 0:
        wake(w, link)


@inlined
def _tell_sent(w: Ints, f: Reals, flow: int, size: int) -> None:
    """A control hears of a packet, and says when the next one may leave."""
    set_row(w, f, flow)
    row = f[TABLE][flow]
    on_send(w[CLOCK][0, CONTROL], row, f[PARAMETERS][0], size)
    set_timer(w, f, flow)
    gap = int(size / row[base.RATE] * PICOSECONDS + 0.5)
    w[FLOWS][flow, NEXT_SEND] = w[CLOCK][0, NOW] + gap if row[base.RATE] < row[base.LINE] else 0


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
    row[base.RTT] = (clock[0, NOW] - packets[packet, SENT_AT]) / PICOSECONDS
    set_row(w, f, flow)
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
    set_timer(w, f, flow)
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
    set_row(w, f, flow)
    on_cnp(w[CLOCK][0, CONTROL], f[TABLE][flow], f[PARAMETERS][0])
    set_timer(w, f, flow)


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
    if is_active(w, flow):
        set_row(w, f, flow)
        on_timer(w[CLOCK][0, CONTROL], f[TABLE][flow], f[PARAMETERS][0])
        set_timer(w, f, flow)
        offer(w, f, flow)
