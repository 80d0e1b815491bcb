"""Packets that are not under way, in a list from which the next one is taken."""

from __future__ import annotations

from simcore.compiled import inlined
from simcore.engine.packets.layout import (
    CLOCK,
    FREE,
    FREE_COUNT,
    NEXT,
    PACKETS,
    Ints,
)


@inlined
def free_packet(w: Ints, packet: int) -> None:
    """A packet is no more."""
    w[PACKETS][packet, NEXT] = w[CLOCK][0, FREE]
    w[CLOCK][0, FREE] = packet
    w[CLOCK][0, FREE_COUNT] += 1


@inlined
def new_packet(w: Ints) -> int:
    """A packet that was free; the event loop sees to it that there is one."""
    packet = w[CLOCK][0, FREE]
    w[CLOCK][0, FREE] = w[PACKETS][packet, NEXT]
    w[CLOCK][0, FREE_COUNT] -= 1
    return int(packet)
