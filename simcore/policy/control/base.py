"""A congestion control: at what rate, and with how much in flight, a queue pair sends.

A control is one file: a `Control` that says what it needs of the fabric, and compiled functions that change `row`, the
state of one queue pair (float64 `[ROW]`). The engine writes its first columns before each call, the control writes
`RATE`, `WINDOW` and `TIMER`, and uses the columns from `OWN` on as it likes (0 at first). All is in SI: seconds, bytes,
bytes/s. `p` are the control's parameters (`Control.parameters`), in their order.

    begin(row, p)               once, before the first packet
    on_send(row, p, size)       a packet of `size` bytes (headers included) leaves
    on_ack(row, p, hops)        an acknowledgement arrives; `hops[j]` is what the j-th switch on its packet's way wrote
                                as it left that switch (`[switches, HOP]`; none unless `Control.telemetry`)
    on_cnp(row, p)              a congestion notification arrives
    on_timer(row, p)            `TIMER` is reached

`simcore.policy.control.dispatch` calls the functions of a control by its `number`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Written by the engine: the time [s]; the rate of the sender's port [B/s]; the round trip of one full packet and its
# acknowledgement on an idle fabric [s]; payload of a full packet, and all of it with its headers [B]; payload sent
# (after losses: where it begins again) and acknowledged since the beginning, counted along the queue pair [B].
NOW, LINE, BASE_RTT, PAYLOAD, PACKET, SENT, ACKED = range(7)
# Of the acknowledgement: payload that it is the first to acknowledge [B]; whether a packet that it speaks for was
# marked (0, 1); time since the newest such packet left [s].
NEWLY, MARKED, RTT = range(7, 10)
# Written by the control: rate of packets, headers included [B/s]; most payload in flight [B] (inf: any); when
# `on_timer` is to be called [s] (inf: never), which must move it on.
RATE, WINDOW, TIMER = range(10, 13)
OWN = 13
"""First column that is the control's own."""
ROW = 40
"""Columns of a row."""

# A hop: bytes left in the queue behind the packet [B]; bytes that the port had sent before it [B]; when it left [s];
# rate of the port [B/s].
QUEUE, SENT_BEFORE, LEFT_AT, PORT_RATE, HOP = range(5)


class Marking(NamedTuple):
    """When a packet is marked that leaves a queue of q bytes behind (RED, as RoCE switches do it: no average of q).

    With probability 0 up to `low`, from there rising to `most` at `high`, 1 above; `low == high` is a step.
    """

    low: float
    high: float
    most: float


class Reached(NamedTuple):
    """Share of the links' rate that collectives reach under load, over what max-min fair flows would: docs/roce.md."""

    point: float
    low: float
    """The lowest share of the cases that it was fitted to."""
    high: float
    """The highest."""


class Control(ABC):
    """A member of the family; has no state."""

    number: ClassVar[int]
    """By which compiled code knows it."""
    notified: ClassVar[bool] = False
    """Whether receivers answer marks with notifications (`on_cnp`), at most one in `Transport.cnp_interval`."""
    acknowledged: ClassVar[bool] = True
    """Whether it listens to acknowledgements (`on_ack`)."""
    telemetry: ClassVar[bool] = False
    """Whether packets collect `hops`, which makes their headers longer."""
    reached: ClassVar[Reached]
    """What engines without packets take from it."""
    quantities: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """What those parameters are that are no plain numbers, as `simcore.document.quantity.KINDS` has it."""

    @abstractmethod
    def parameters(self, line: float, rtt: float) -> dict[str, float]:
        """The usual parameters for ports of `line` [B/s] and a base round trip of `rtt` [s], in the order of `p`."""

    @abstractmethod
    def marking(self, rate: float, rtt: float) -> Marking | None:
        """When a port of `rate` [B/s] marks packets, unless the design says; None: never."""
