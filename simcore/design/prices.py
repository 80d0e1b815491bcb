"""What NPUs, memory, the elements of a network and electricity cost, and what it costs to own them."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from simcore.catalog.preset import named
from simcore.design.dimension import Tier
from simcore.design.part import PartPrice
from simcore.document.field import Count, Factor, Flag, Frozen, Name, Share
from simcore.document.problem import Refusal
from simcore.document.quantity import BandwidthPrice, CapacityPrice, Duration, EnergyPrice, Money, PowerPrice
from simcore.document.ranges import Ranges

Part = Annotated[float, Field(strict=True, ge=0, le=1)]
Rate = Annotated[float, Field(strict=True, ge=0, lt=1)]


class TierPrices(Frozen):
    """Prices of the network elements of one tier [$ per B/s]; None where the tier has no such element."""

    link: Annotated[BandwidthPrice, Field(ge=0)] | None = None
    """Price of a link, for each NPU [$ per B/s]."""
    switch: Annotated[BandwidthPrice, Field(ge=0)] | None = None
    """Price of a switch's port, for each NPU [$ per B/s]."""
    nic: Annotated[BandwidthPrice, Field(ge=0)] | None = None
    """Price of NICs, for each NPU [$ per B/s]."""


class PriceList(Frozen):
    """What things cost: a network by its bandwidth (`network`), or nodes and parts by the piece."""

    name: Name = ""
    network: dict[Tier, TierPrices] = {}
    """Network elements by tier; a list of parts has none."""
    nodes: dict[str, PartPrice] = {}
    """Nodes of the catalogue, with their NPUs, by name."""
    parts: dict[str, PartPrice] = {}
    """Parts of the catalogue by name; the first that does is the one that is bought where a design names none."""
    npu: dict[str, Annotated[Money, Field(ge=0)]] = {}
    """Price of one NPU by name [$]."""
    free_npus: Flag = False
    """NPUs are not counted (the network alone)."""
    memory: Annotated[CapacityPrice, Field(ge=0)] = 8e-9
    """Price of memory beyond the NPU's own [$ per B]."""
    electricity: Annotated[EnergyPrice, Field(ge=0)] = 0.1 / 3.6e6
    """Price of energy [$ per J]."""
    electricity_in_total: Flag = False
    """Whether `cost.total` counts the electricity of the whole lifetime, at the power of this design."""
    npus_per_rack: Count | None = None
    """NPUs that a rack holds, as whole nodes, for `racks` and `power.rack`: fewer where its power or cooling is short.

    Unless it is given, or is more, as many as its nodes are made for, 32 without a node. One node always stands in a
    rack, and what is sold by the rack stays whole."""
    pue: Factor = 1.2
    """Power of the building over that of the machines."""
    lifetime: Annotated[Duration, Field(gt=0)] = 4 * 365 * 86400.0
    """Time over which a cluster is written off [s]."""
    residual: Part = 0.0
    """Share of what the cluster cost that it is sold for at the end of its lifetime."""
    discount: Rate = 0.0
    """What money costs, as a share a year: later payments count for less."""
    utilization: Share = 1.0
    """Share of the lifetime in which jobs run."""
    building: Annotated[PowerPrice, Field(ge=0)] = 0.0
    """To build for what the machines draw at the most, without PUE, as building costs are quoted [$ per W]."""
    building_life: Annotated[Duration, Field(gt=0)] = 15 * 365 * 86400.0
    """Time over which the building is written off [s]."""
    support: Part = 0.0
    """Maintenance and support a year, as a share of what the cluster cost."""
    staff: Annotated[Money, Field(ge=0)] = 0.0
    """People, whatever the size of the cluster [$ a year]."""
    staff_per_npu: Annotated[Money, Field(ge=0)] = 0.0
    """People, for each NPU [$ a year]."""
    ranges: Ranges = {}
    """By key or dotted path: between which multiples of what is said nine of ten cases lie."""
    sources: dict[str, str] = {}

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> Self:
        if self.network and self.by_parts:
            both = ", ".join(["network", *(key for key in ("nodes", "parts") if getattr(self, key))])
            fix = "drop one of them; a list with a 'base' has what that one has"
            raise Refusal("prices of a network by its bandwidth, or of nodes and parts by the piece", both, fix)
        return self

    @property
    def by_parts(self) -> bool:
        """Whether it prices clusters by the piece."""
        return bool(self.nodes or self.parts)


NamedPrices = Annotated[PriceList, *named(PriceList, "prices")]
