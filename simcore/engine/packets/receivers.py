"""Receivers: what arrives, and what they answer.

A receiver takes packets in order alone: what comes out of order is thrown away and asked for once (go-back-N). Where
packets are sprayed over several ways it takes any order.
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
    ACKNOWLEDGED,
    ACKS,
    ARRIVED,
    ARRIVES,
    ASKED,
    ASKS,
    BACK_TIME,
    BACK_WAY,
    CLOCK,
    CNP,
    CNP_INTERVAL,
    DELIVERED,
    DISCARDED,
    ECHO,
    EXPECTED,
    FLOW,
    FLOWS,
    LAST,
    LEFT,
    MARK,
    NEXT,
    NOTIFICATIONS,
    NOTIFIED_AT,
    NOTIFIES,
    NOW,
    OF,
    OPEN,
    OPEN_AT,
    OPEN_TIME,
    PACKETS,
    PAYLOAD_HERE,
    PLACE,
    PORT_OF,
    REPEATED,
    SPRAYS,
    UNANSWERED,
    WAYS,
    WORK,
    Ints,
    Reals,
)
from simcore.engine.packets.pool import free_packet
from simcore.engine.packets.ports import link_at
from simcore.engine.packets.processor import serve_more


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
