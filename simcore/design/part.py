"""What clusters are built of beside nodes: NICs, switches, transceivers, cables, racks, storage; what each costs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from simcore.document.field import Count, Flag, Frozen, Name
from simcore.document.problem import Refusal
from simcore.document.quantity import Bandwidth, Length, Money, Power

PartKind = Literal[
    "nic",
    "switch",
    "circuit_switch",
    "transceiver",
    "cable",
    "scale_up",
    "rack",
    "pdu",
    "storage",
    "management_switch",
    "server",
]


class PartPower(Frozen):
    """What one part draws [W]."""

    max: Annotated[Power, Field(ge=0)]
    """At the most."""
    typical: Annotated[Power, Field(ge=0)]
    """While a job runs."""


class Part(Frozen):
    """One kind of part of a cluster."""

    name: Name = ""
    kind: PartKind
    rate: Annotated[Bandwidth, Field(gt=0)] | None = None
    """Rate of one port, each direction [B/s]; of storage, what a whole appliance reads."""
    ports: Count = 1
    """Ports of a switch; links that a transceiver ends."""
    trees: Count | None = None
    """Groups for which a switch adds up and copies at the same time."""
    medium: Literal["copper", "active", "multimode", "single_mode"] | None = None
    """Medium of a cable or a transceiver: an active cable has its transceivers, fibres of the other two need some."""
    reach: Annotated[Length, Field(gt=0)] | None = None
    """Reach of a cable with its own ends, or of a transceiver [m]."""
    power: PartPower
    """Power of a switch without its transceivers."""
    source: str = ""


class PartPrice(Frozen):
    """What one part or node costs, and how sure that is."""

    price: Annotated[Money, Field(ge=0)]
    """[$]."""
    low: Annotated[Money, Field(ge=0)]
    """What it may cost at the least [$]."""
    high: Annotated[Money, Field(ge=0)]
    """What it may cost at the most [$]."""
    date: str
    """Date of the price: a year or a month."""
    source: str = Field(min_length=1)
    """Where it was read, or *assumed*."""
    with_nics: Flag = False
    """Whether a node's price includes its NICs."""

    @model_validator(mode="after")
    def _check_range(self) -> PartPrice:
        if not self.low <= self.price <= self.high:
            raise Refusal("a price between 'low' and 'high'", f"{self.price:g} of {self.low:g} to {self.high:g} $")
        return self
