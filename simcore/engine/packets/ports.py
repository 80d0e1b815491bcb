"""Output ports of switches: a queue in order of arrival, marks as packets leave it, and the link behind it."""

from __future__ import annotations

import math

from simcore.compiled import inlined
from simcore.engine.packets.buffers import release
from simcore.engine.packets.heap import push
from simcore.engine.packets.layout import (
    AREA,
    ARRIVE,
    ARRIVES,
    BINS,
    BUSY,
    CLOCK,
    DELAY,
    FLY_HEAD,
    FLY_TAIL,
    FREE_AT,
    HEAD,
    HOP_AT,
    HOPPED,
    HOPS,
    HOPS_KEPT,
    ITS_WAY,
    LINKS,
    MARK,
    MARK_HIGH,
    MARK_LOW,
    MARK_MOST,
    MARKS,
    MOST_QUEUED,
    NEXT,
    NOW,
    PACE_OF,
    PACKETS,
    PAUSED,
    PAUSED_AT,
    PAUSED_TIME,
    PAUSES,
    QUEUED,
    QUEUED_AT,
    QUEUES,
    RANDOM,
    RATE_OF,
    RATES,
    SENT_BYTES,
    SENT_PACKETS,
    SIZE,
    STEPS_AN_OCTAVE,
    TAIL,
    TELEMETRY,
    UNIT,
    VICTIM_AT,
    VICTIM_TIME,
    WAKE,
    WAKING,
    WAYS,
    Ints,
    Reals,
)
from simcore.policy.control.base import LEFT_AT, PORT_RATE, QUEUE, SENT_BEFORE
from simcore.system.phase import PICOSECONDS


@inlined
def link_at(w: Ints, way: int, hop: int) -> int:
    """The link of a way after `hop` others."""
    return int(w[WAYS][way, 1 + hop])


@inlined
def wake(w: Ints, link: int) -> None:
    """Let a port look for what to send as soon as it is free."""
    if not w[LINKS][link, WAKING]:
        w[LINKS][link, WAKING] = 1
        push(w, max(w[CLOCK][0, NOW], w[LINKS][link, FREE_AT]), WAKE, link)


@inlined
def transmit(w: Ints, f: Reals, link: int, packet: int) -> None:
    """A packet leaves by a port that is free."""
    links, packets, now = w[LINKS], w[PACKETS], w[CLOCK][0, NOW]
    size = packets[packet, SIZE]
    time = int(size * f[RATES][link, PACE_OF] + 0.5)
    links[link, FREE_AT] = now + time
    links[link, BUSY] += time
    links[link, SENT_PACKETS] += 1
    links[link, SENT_BYTES] += size
    w[CLOCK][0, HOPPED] += 1
    packets[packet, ARRIVES] = now + time + links[link, DELAY]
    packets[packet, NEXT] = -1
    if links[link, FLY_HEAD] < 0:
        links[link, FLY_HEAD] = packet
        push(w, packets[packet, ARRIVES], ARRIVE, link)
    else:
        packets[links[link, FLY_TAIL], NEXT] = packet
    links[link, FLY_TAIL] = packet


@inlined
def bin_of(queued: int) -> int:
    """Where a queue of so many bytes is counted."""
    if queued == 0:
        return 0
    return min(BINS - 1, 1 + int(STEPS_AN_OCTAVE * math.log2(1.0 + queued / UNIT)))


@inlined
def count_queue(w: Ints, f: Reals, link: int) -> None:
    """The queue of a port has been as long as it is until now."""
    links, now = w[LINKS], w[CLOCK][0, NOW]
    passed = now - links[link, QUEUED_AT]
    if passed > 0:
        queued = links[link, QUEUED]
        w[QUEUES][link, bin_of(queued)] += passed
        f[RATES][link, AREA] += float(queued) * float(passed)
        links[link, QUEUED_AT] = now


@inlined
def enqueue(w: Ints, f: Reals, link: int, packet: int) -> None:
    """A packet waits for a port."""
    links, packets = w[LINKS], w[PACKETS]
    count_queue(w, f, link)
    packets[packet, NEXT] = -1
    if links[link, HEAD] < 0:
        links[link, HEAD] = packet
    else:
        packets[links[link, TAIL], NEXT] = packet
    links[link, TAIL] = packet
    links[link, QUEUED] += packets[packet, SIZE]
    links[link, MOST_QUEUED] = max(links[link, MOST_QUEUED], links[link, QUEUED])
    if links[link, PAUSED] > 0 and links[link, VICTIM_AT] < 0 and _could_go_on(w, packet):
        links[link, VICTIM_AT] = w[CLOCK][0, NOW]


@inlined
def is_idle(w: Ints, link: int) -> bool:
    """Whether a port would send what comes to it at once."""
    return bool(w[LINKS][link, PAUSED] <= 0 and w[LINKS][link, HEAD] < 0)


@inlined
def _could_go_on(w: Ints, packet: int) -> bool:
    """Whether nothing waits at the port after the one that a packet waits for."""
    way, hop = w[PACKETS][packet, ITS_WAY], w[PACKETS][packet, HOP_AT]
    return hop + 1 < w[WAYS][way, 0] and is_idle(w, link_at(w, way, hop + 1))


@inlined
def _mark(w: Ints, f: Reals, link: int, packet: int) -> None:
    """Mark a packet by what it leaves behind in the queue."""
    queued, rates = w[LINKS][link, QUEUED], f[RATES]
    if queued <= rates[link, MARK_LOW]:
        return
    if queued <= rates[link, MARK_HIGH]:
        share = (queued - rates[link, MARK_LOW]) / (rates[link, MARK_HIGH] - rates[link, MARK_LOW])
        random = w[CLOCK][0, RANDOM]
        random ^= (random << 13) & 0x7FFFFFFFFFFFFFFF
        random ^= random >> 7
        random ^= (random << 17) & 0x7FFFFFFFFFFFFFFF
        w[CLOCK][0, RANDOM] = random
        if (random >> 10) * 2.0**-53 >= share * rates[link, MARK_MOST]:
            return
    w[PACKETS][packet, MARK] = 1
    w[LINKS][link, MARKS] += 1


@inlined
def _tell_hop(w: Ints, f: Reals, link: int, packet: int) -> None:
    """Write the telemetry of a port into a packet that leaves it."""
    packets, kept = w[PACKETS], w[CLOCK][0, HOPS_KEPT]
    if packets[packet, HOPS] < kept:
        row = f[TELEMETRY][packet * kept + packets[packet, HOPS]]
        row[QUEUE] = w[LINKS][link, QUEUED]
        row[SENT_BEFORE] = w[LINKS][link, SENT_BYTES]
        row[LEFT_AT] = w[CLOCK][0, NOW] / PICOSECONDS
        row[PORT_RATE] = f[RATES][link, RATE_OF]
        packets[packet, HOPS] += 1


@inlined
def serve(w: Ints, f: Reals, link: int) -> None:
    """Send the first packet of a switch's port, unless it is paused or busy."""
    links, packets = w[LINKS], w[PACKETS]
    packet = links[link, HEAD]
    if packet < 0 or links[link, PAUSED] > 0:
        return
    if links[link, FREE_AT] > w[CLOCK][0, NOW]:
        wake(w, link)
        return
    count_queue(w, f, link)
    links[link, HEAD] = packets[packet, NEXT]
    links[link, QUEUED] -= packets[packet, SIZE]
    release(w, f, link_at(w, packets[packet, ITS_WAY], packets[packet, HOP_AT] - 1), packets[packet, SIZE])
    _mark(w, f, link, packet)
    _tell_hop(w, f, link, packet)
    transmit(w, f, link, packet)
    if links[link, HEAD] >= 0:
        wake(w, link)


@inlined
def _find_victim(w: Ints, link: int) -> bool:
    """Whether a packet waits at a switch's port that could go on after it."""
    packet = w[LINKS][link, HEAD]
    while packet >= 0:
        if _could_go_on(w, packet):
            return True
        packet = w[PACKETS][packet, NEXT]
    return False


@inlined
def pause(w: Ints, link: int, of_switch: bool) -> None:
    """A port is told to pause; what it is sending goes on."""
    links, now = w[LINKS], w[CLOCK][0, NOW]
    links[link, PAUSED] += 1
    if links[link, PAUSED] == 1:
        links[link, PAUSES] += 1
        links[link, PAUSED_AT] = now
        if of_switch and _find_victim(w, link):
            links[link, VICTIM_AT] = now


@inlined
def resume(w: Ints, link: int) -> None:
    """A port is told to go on."""
    links, now = w[LINKS], w[CLOCK][0, NOW]
    links[link, PAUSED] -= 1
    if links[link, PAUSED] == 0:
        links[link, PAUSED_TIME] += now - links[link, PAUSED_AT]
        if links[link, VICTIM_AT] >= 0:
            links[link, VICTIM_TIME] += now - links[link, VICTIM_AT]
            links[link, VICTIM_AT] = -1
        wake(w, link)
