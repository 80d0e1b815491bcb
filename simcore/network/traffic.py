"""What packets went through on their way: pauses, marks, drops, queues, of a fabric and of its busiest ports."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class PortTraffic:
    """One port: the sending end of a link, with its queue."""

    port: str
    utilization: float
    """Share of the time in which it sends data."""
    bytes: float
    """Sent, headers included [B]."""
    packets: int
    marked: int
    dropped: int
    """Packets that it sent and the switch at its other end had no room for."""
    pauses: int
    paused_s: float
    head_of_line_s: float
    """The part of `paused_s` in which a packet waited whose next port was idle."""
    queue_mean_bytes: float
    queue_p50_bytes: float
    queue_p99_bytes: float
    queue_p999_bytes: float
    """Lengths that its queue had for at most 50, 1 and 0.1 % of the time or was above, within 19 % [B]."""
    queue_max_bytes: float


@dataclass(frozen=True, slots=True)
class Traffic:
    """A whole run."""

    packets: int
    """Packets that left their senders, those sent again among them."""
    packet_hops: int
    """Links that they passed, together."""
    retransmitted: int
    dropped: int
    out_of_order: int
    """Thrown away by receivers, because one before them was missing."""
    marked: int
    acknowledgements: int
    notifications: int
    pauses: int
    paused_s: float
    """Time for which ports were paused, of all together."""
    head_of_line_s: float
    fairness: float
    """Jain's index of the rates of queue pairs that share a port, at the port where it is least; 1: all have the same.

    (sum x)^2 / (n sum x^2) of n queue pairs (Jain, Chiu, Hawe 1984); x is a pair's bytes over the time in which it has
    any message under way.
    """
    ports: tuple[PortTraffic, ...]
    """The 8 with the longest queues, then those that were paused longest; at most 16."""

    @property
    def counters(self) -> dict[str, float]:
        """All of it by name but the ports."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "ports"}
