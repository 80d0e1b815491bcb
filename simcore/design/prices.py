"""What NPUs, memory, the elements of a network and electricity cost."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from simcore.catalog.preset import named
from simcore.design.dimension import Tier
from simcore.document.field import Count, Factor, Flag, Frozen
from simcore.document.quantity import BandwidthPrice, CapacityPrice, Duration, EnergyPrice, Money


class TierPrices(Frozen):
    """Prices of the network elements of one tier [$ per B/s]; None where the tier has no such element."""

    link: Annotated[BandwidthPrice, Field(ge=0)] | None = None
    switch: Annotated[BandwidthPrice, Field(ge=0)] | None = None
    nic: Annotated[BandwidthPrice, Field(ge=0)] | None = None


class PriceList(Frozen):
    """What things cost."""

    name: str = ""
    network: dict[Tier, TierPrices]
    npu: dict[str, Annotated[Money, Field(ge=0)]] = {}
    free_npus: Flag = False
    """NPUs are not counted (the network alone)."""
    memory: Annotated[CapacityPrice, Field(ge=0)] = 8e-9
    electricity: Annotated[EnergyPrice, Field(ge=0)] = 0.1 / 3.6e6
    electricity_in_total: Flag = False
    """Whether `cost.total` counts the electricity of the whole lifetime, at the power of this design."""
    npus_per_rack: Count = 32
    pue: Factor = 1.2
    lifetime: Annotated[Duration, Field(gt=0)] = 4 * 365 * 86400.0
    sources: dict[str, str] = {}


NamedPrices = Annotated[PriceList, *named(PriceList, "prices")]
