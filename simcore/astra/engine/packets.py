"""What ring, direct and halving-doubling have in common: the exchange of numbered packets.

A phase starts by preparing `window` packets. Preparing costs the endpoint delay d; a prepared packet is
sent, and the receive of the same number posted at that instant; every receive prepares the next packet,
which costs d again and, when it reduces, R of the *new* packet's size. The phase ends when all `sends`
are out and `window` prepared packets are left over.

Which packets reduce follows a counter: `window` that never do, then `reducing` that may, and so on in
turns (reduce-scatter in every turn, all-reduce in every other one).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum


class ReductionTurns(Enum):
    """In which turns of the packet counter the reducing group reduces."""

    NEVER = 0
    EVERY_TURN = 1
    EVERY_OTHER_TURN = 2


@dataclass(frozen=True)
class PacketPlan:
    """One phase of one chunk, the same on every NPU of a team.

    `distances` and `sizes` [B] are indexed by packet number, modulo their length. A distance counts
    positions along the ring; with `exchange` set, the partner is position XOR distance instead.
    """

    sends: int
    window: int
    reducing: int
    reduces: ReductionTurns
    distances: tuple[int, ...]
    sizes: tuple[int, ...]
    exchange: bool = False
    barrier: int = 0  # receives that must be in before the last `barrier` sends may go

    def distance(self, packet: int) -> int:
        """Return how far packet number `packet` goes."""
        return self.distances[packet % len(self.distances)]

    def size(self, packet: int) -> int:
        """Return the bytes of packet number `packet`."""
        return self.sizes[packet % len(self.sizes)]

    def is_reduced(self, packet: int) -> bool:
        """Return whether preparing packet number `packet` includes a reduction."""
        turn, place = divmod(packet, self.window + self.reducing)
        if place < self.window or self.reduces is ReductionTurns.NEVER:
            return False
        return self.reduces is ReductionTurns.EVERY_TURN or turn % 2 == 0

    def count_reduced_before(self, packet: int) -> int:
        """Return how many packets below number `packet` are reduced, in constant time."""
        if self.reduces is ReductionTurns.NEVER:
            return 0
        turns, rest = divmod(packet, self.window + self.reducing)
        partial = rest - self.window if rest > self.window and self.is_reduced(packet - 1) else 0
        full = turns if self.reduces is ReductionTurns.EVERY_TURN else (turns + 1) // 2
        return full * self.reducing + partial


@dataclass(frozen=True)
class PhaseTime:
    """Length of a phase [ns], and how long before its end the last three events were registered.

    Events of one instant run in the order they were registered, so `lags` decides ties.
    """

    duration: int
    lags: tuple[int, int, int]


def time_lone_phase(
    plan: PacketPlan,
    delay: Callable[[int], int],
    endpoint: int,
    reduction: Callable[[int], int],
    alike: bool = False,
) -> PhaseTime:
    """Return the time of a phase on a team of identical NPUs that start together.

    Parameters
    ----------
    plan
        The packets.
    delay
        Message time of a packet number [ns].
    endpoint
        Endpoint delay d [ns].
    reduction
        Time to reduce a number of bytes [ns].
    alike
        Whether every packet is known to take the same time.

    Notes
    -----
    What an NPU receives is the mirror image of what it sends, so one NPU is enough.
    """
    if plan.window == 1 and len(plan.distances) == 1:
        return _time_steady(plan, delay(0), endpoint, reduction(plan.size(0)))
    if alike and plan.window == len(plan.distances):
        return _time_bursts(plan, delay(0), endpoint, reduction(plan.size(0)))
    if plan.window == 1:
        return _time_sequential(plan, delay, endpoint, reduction)
    return _time_windowed(plan, delay, endpoint, reduction)


def _event_lags(plan: PacketPlan, last_delay: int, endpoint: int, last_reduction: int) -> tuple[int, int, int]:
    if plan.is_reduced(plan.sends):
        return last_reduction, endpoint, last_delay
    return endpoint, last_delay, endpoint


def _time_steady(plan: PacketPlan, delay: int, endpoint: int, reduction: int) -> PhaseTime:
    """One packet after the other, all alike."""
    reduced = plan.count_reduced_before(plan.sends + 1)
    duration = endpoint + plan.sends * (delay + endpoint) + reduced * reduction
    return PhaseTime(duration, _event_lags(plan, delay, endpoint, reduction))


def _time_bursts(plan: PacketPlan, delay: int, endpoint: int, reduction: int) -> PhaseTime:
    """All partners at once, all alike: once, or for all-reduce twice."""
    bursts = plan.sends // plan.window
    reduced = sum(plan.is_reduced(burst * plan.window) for burst in range(1, bursts + 1))
    duration = endpoint + bursts * (delay + endpoint) + reduced * reduction
    return PhaseTime(duration, _event_lags(plan, delay, endpoint, reduction))


def _time_sequential(
    plan: PacketPlan, delay: Callable[[int], int], endpoint: int, reduction: Callable[[int], int]
) -> PhaseTime:
    """One packet after the other, of different sizes and distances."""
    duration = endpoint
    for packet in range(plan.sends):
        duration += delay(packet) + endpoint
        if plan.is_reduced(packet + 1):
            duration += reduction(plan.size(packet + 1))
    return PhaseTime(duration, _event_lags(plan, delay(plan.sends - 1), endpoint, reduction(plan.size(plan.sends))))


def _time_windowed(
    plan: PacketPlan, delay: Callable[[int], int], endpoint: int, reduction: Callable[[int], int]
) -> PhaseTime:
    """Several packets at once: play the events of one NPU."""
    receive, prepare, prepared = 0, 1, 2
    # (time, order, what, packet, times at which this event and the two before it were registered)
    events = [(endpoint, packet, prepared, packet, (0, 0)) for packet in range(plan.window)]
    order = inserted = plan.window
    sent = received = free = 0
    now, history = 0, (0, 0)
    while sent < plan.sends or free < plan.window:
        now, _, what, packet, history = heapq.heappop(events)
        trail = (now, history[0])
        if what == receive:
            received += 1
            step = prepare if plan.is_reduced(inserted) else prepared
            heapq.heappush(events, (now + endpoint, order, step, inserted, trail))
            inserted, order = inserted + 1, order + 1
            continue
        if what == prepare:
            heapq.heappush(events, (now + reduction(plan.size(packet)), order, prepared, packet, trail))
            order += 1
            continue
        free += 1
        held = plan.barrier and plan.sends - sent <= plan.barrier
        if held and received < plan.barrier:
            continue
        for _ in range(plan.window if held else 1):
            if sent == inserted or sent == plan.sends or free == 0:
                break
            heapq.heappush(events, (now + delay(sent), order, receive, sent, trail))
            sent, free, order = sent + 1, free - 1, order + 1
    return PhaseTime(now, (now - history[0], history[0] - history[1], endpoint))
