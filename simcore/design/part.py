"""What clusters are built of beside nodes: NICs, switches, transceivers, cables, racks, storage, management."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from simcore.catalog.preset import named
from simcore.document.field import Count, Frozen
from simcore.document.quantity import Bandwidth, Power

PartKind = Literal["nic", "switch", "transceiver", "cable", "rack", "storage", "management"]


class PartPower(Frozen):
    """What one part draws [W]."""

    max: Annotated[Power, Field(ge=0)]
    """At the most."""
    typical: Annotated[Power, Field(ge=0)]
    """While a job runs."""


class Part(Frozen):
    """One kind of part of a cluster."""

    name: str = ""
    kind: PartKind
    rate: Annotated[Bandwidth, Field(gt=0)] | None = None
    """Of one port, each direction [B/s]; of storage, of the whole appliance."""
    ports: Count | None = None
    """Of a switch."""
    power: PartPower
    source: str = ""


NamedPart = Annotated[Part, *named(Part, "parts")]
