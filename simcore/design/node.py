"""What an NPU is bought in: a server or a tray with its host, its inner network, its NICs and its power."""

from __future__ import annotations

import math
from functools import cache
from typing import Annotated, Protocol

from pydantic import Field

from simcore import catalog
from simcore.catalog.preset import named, preset
from simcore.design.dimension import Dimension, Topology
from simcore.design.npu import Npu
from simcore.document.field import Count, Flag, Frozen, Name
from simcore.document.quantity import Bandwidth, Power, Size
from simcore.network import TOPOLOGIES


class TorusParts(Frozen):
    """Parts of a torus, by name: copper inside a rack, and fibres to circuit switches, which close its rings."""

    copper: str
    """Cable between NPUs of a rack."""
    circuit_switch: str | None = None
    """None where racks are joined by copper, too."""
    transceiver: str | None = None
    """At an end of a fibre."""
    fibre: str | None = None
    """Between a rack and a circuit switch."""


class ScaleUp(Frozen):
    """The network that joins NPUs without NICs, inside a node or a domain of nodes, as it is sold."""

    topology: tuple[Topology, ...] = Field(min_length=1)
    """Topologies that a design may give its dimensions inside the domain."""
    bandwidth: tuple[Annotated[Bandwidth, Field(gt=0)], ...] = Field(min_length=1)
    """Bandwidth of one NPU over all its links, each direction [B/s]."""
    domains: tuple[Count, ...] = Field(min_length=1)
    """NPUs that it joins; a job may leave a part of the largest empty."""
    axes: Count = 1
    """Dimensions that it has; of a torus each has its share of the links."""
    sides: tuple[Count, ...] = ()
    """Sizes that a dimension may have; unless given any."""
    cube: Count | None = None
    """Side of the cubes that larger domains are whole numbers of: these alone have links back to the first NPU."""
    in_network: Flag = False
    """Whether its switches can reduce."""
    trees: Count | None = None
    """Groups for which they do so at the same time; any number unless given."""
    parts: dict[str, Count] = {}
    """Parts of a domain that are not inside its nodes, by name, with their number."""
    torus: TorusParts | None = None
    """Parts of a torus over several nodes."""


class NicsSold(Frozen):
    """NICs that a node is sold with."""

    count: tuple[Count, ...] = Field(min_length=1)
    """NICs of one node."""
    rate: Annotated[Bandwidth, Field(gt=0)]
    """Rate of one NIC, each direction [B/s]."""


class ExpandedSold(Frozen):
    """Memory beyond the NPUs' own that a node is sold with, of one NPU; less of either can be had."""

    capacity: Annotated[Size, Field(gt=0)]
    """Most capacity for one NPU [B]."""
    bandwidth: Annotated[Bandwidth, Field(gt=0)]
    """Most bandwidth of one NPU, each direction, while all of its node read and write: the less of link and DRAM."""


class NodePower(Frozen):
    """What a node draws beside its NPUs, and what its label says of the whole [W]."""

    nameplate: Annotated[Power, Field(gt=0)]
    """Nameplate power of the whole node, NPUs at their maximum included."""
    host: Annotated[Power, Field(ge=0)]
    """Processors, memory, inner switches, disks, fans and losses while a job runs; NPUs and NICs aside."""
    idle: Annotated[Power, Field(ge=0)]
    """What they draw without a job."""
    full: dict[str, Annotated[Power, Field(gt=0)]] = {}
    """What of the host draws at full load, by part, where the nameplate is known: with NPUs and NICs about as much."""


class Node(Frozen):
    """A server or a tray of NPUs, as it is sold."""

    name: Name = ""
    npu: tuple[str, ...] = Field(min_length=1)
    """Names of the NPUs of the catalogue that it is sold with."""
    size: Count
    """NPUs of one node."""
    scale_up: ScaleUp
    """The network that joins NPUs without NICs."""
    nics: tuple[NicsSold, ...] = ()
    """Choices of NICs; none where nothing but the scale-up network leaves the node."""
    memory: tuple[Annotated[Size, Field(gt=0)], ...] = ()
    """Sizes of an NPU's own memory that are sold beside that of its entry [B]."""
    expanded: tuple[ExpandedSold, ...] = ()
    """Memory beyond the NPUs' own that it is sold with."""
    power: NodePower
    """What it draws."""
    per_rack: Count
    """Nodes that a rack of the list's power holds."""
    introduced: Annotated[int, Field(strict=True, ge=1990, lt=2100)]
    """Year of its introduction."""
    withdrawn: Annotated[int, Field(strict=True, ge=1990, lt=2100)] | None = None
    """Last year of its sale, where that has ended."""
    sources: dict[str, str] = {}

    def holds(self, dimensions: tuple[Dimension, ...]) -> bool:
        """Whether its domain can be what these inner dimensions are: their topologies, and no more NPUs."""
        mine = all(dimension.topology in self.scale_up.topology for dimension in dimensions)
        return mine and math.prod(dimension.size for dimension in dimensions) <= max(self.scale_up.domains)


NamedNode = Annotated[Node, *named(Node, "nodes")]


class Machine(Protocol):
    """What of a cluster says what its NPUs are bought in."""

    @property
    def npu(self) -> Npu:
        """The accelerator."""
        ...

    @property
    def node(self) -> Node | None:
        """What it says itself; None where that is left to the catalogue."""
        ...

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """The network, innermost dimension first."""
        ...


def inner_dimensions(dimensions: tuple[Dimension, ...]) -> tuple[Dimension, ...]:
    """Dimensions made by links of the NPUs themselves, without NICs: up to a switched one of tier `pod`."""
    outer = (i for i, d in enumerate(dimensions) if d.tier == "pod" and TOPOLOGIES[d.topology].switched)
    return dimensions[: next(outer, len(dimensions))]


def node_of(cluster: Machine) -> Node | None:
    """What the NPUs of a cluster are bought in: its node, else that of the catalogue which fits them best.

    Of those sold with its NPU it is the one with the least domain that holds the inner dimensions, the usual one where
    several have it; None where none does.
    """
    if cluster.node is not None:
        return cluster.node
    inner = inner_dimensions(cluster.dimensions)
    holding = (node for node in nodes_sold_with(cluster.npu.name) if node.holds(inner))
    return min(holding, key=lambda node: max(node.scale_up.domains), default=None)


@cache
def nodes_sold_with(npu: str) -> tuple[Node, ...]:
    """The nodes of the catalogue that an NPU, by name, is sold in; the usual one first."""
    nodes = (preset(Node, "nodes", name) for name in catalog.section("nodes"))
    return tuple(node for node in nodes if npu in node.npu)
