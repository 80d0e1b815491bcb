"""How messages travel as packets: queue pairs, switch buffers, pauses, marks. Only engine `packets` plays it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from simcore.document.field import Count, Flag, Frozen, Natural, Share
from simcore.document.member import MemberOf
from simcore.document.quantity import Size, Time
from simcore.engine.packets.control import CONTROLS

Positive = Annotated[float, Field(strict=True, gt=0)]


class Marks(Frozen):
    """Marking (ECN, RED): packets that leave a queue are marked, never below `low` [B], always above `high` [B]."""

    low: Size
    """The queue below which no packet is marked [B]."""
    high: Size
    """The queue above which each packet is marked [B]; equal to `low`: a step."""
    most: Share = 1.0
    """The probability that is reached at `high`."""


class Transport(Frozen):
    """Packets of the outermost dimension: senders and switches."""

    control: Annotated[str, MemberOf(CONTROLS)] = "none"
    """Congestion control of the senders; `none`: line rate, and pauses."""
    parameters: dict[str, float] = Field(default_factory=dict)
    """Parameters of the control that are not its usual ones, in seconds, bytes and bytes/s."""
    payload: Count = 1000
    """Bytes of a message in a full packet."""
    header: Natural = 82
    """What each packet adds on the wire [B]: Ethernet 18, IPv4 20, UDP 8, BTH 12, ICRC 4, preamble and gap 20."""
    acknowledgement: Natural = 86
    """An acknowledgement on the wire [B]: the header and its AETH."""
    acknowledge_every: Count = 1
    """Packets that one acknowledgement speaks for; the last of a message, and what is out of order, at once."""
    seed: Natural = 0
    """Of what is random: which packets are marked."""
    buffer: Size = 32e6
    """Memory that all ports of a switch share [B]."""
    pfc: Flag = True
    """Whether switches pause senders (priority flow control); else full buffers drop packets."""
    alpha: Positive = 0.125
    """Dynamic threshold: share of the free shared buffer that packets from one port may take before it is paused."""
    threshold: Size | None = None
    """Static threshold instead: bytes that packets from one port may take [B]."""
    reserve: Size = 4096.0
    """Bytes that each port has to itself [B]."""
    resume_gap: Size = 3072.0
    """How far below the threshold a port is resumed [B]."""
    marking: Marks | None = None
    """When packets are marked; unless given, what the control takes."""
    cnp_interval: Time = 50e-6
    """Least time between two congestion notifications to one sender [s]."""
    timeout: Time = 500e-6
    """After which a sender without acknowledgement begins again, where packets can be dropped [s]."""
