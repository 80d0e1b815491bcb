"""What an NPU is bought in: a server or a tray with its host, its inner network, its NICs and its power."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from simcore.catalog.preset import named
from simcore.design.dimension import Topology
from simcore.document.field import Count, Frozen
from simcore.document.quantity import Bandwidth, Power, Size


class ScaleUp(Frozen):
    """The network inside a node or a domain of nodes, as it is sold."""

    topology: tuple[Topology, ...] = Field(min_length=1)
    """Topologies that a design may give its dimensions inside the domain."""
    bandwidth: tuple[Annotated[Bandwidth, Field(gt=0)], ...] = Field(min_length=1)
    """Of one NPU over all its links, each direction [B/s]."""
    domains: tuple[Count, ...] = Field(min_length=1)
    """NPUs that it joins; a job may leave a part of the largest empty."""


class NicsSold(Frozen):
    """NICs that a node is sold with."""

    count: tuple[Count, ...] = Field(min_length=1)
    """NICs of one node."""
    rate: Annotated[Bandwidth, Field(gt=0)]
    """Of one NIC, each direction [B/s]."""


class NodePower(Frozen):
    """What a node draws beside its NPUs, and what its label says of the whole [W]."""

    nameplate: Annotated[Power, Field(gt=0)]
    """Of the whole node, NPUs at their maximum included."""
    host: Annotated[Power, Field(ge=0)]
    """Processors, memory, inner switches, disks, fans and losses while a job runs; NPUs and NICs aside."""
    idle: Annotated[Power, Field(ge=0)]
    """The same without a job."""


class Node(Frozen):
    """A server or a tray of NPUs, as it is sold."""

    name: str = ""
    npu: tuple[str, ...] = Field(min_length=1)
    """Names of the NPUs of the catalogue that it is sold with."""
    size: Count
    """NPUs of one node."""
    scale_up: ScaleUp
    nics: tuple[NicsSold, ...] = ()
    """Choices of NICs; none where NPUs reach other nodes over their own links (a TPU pod)."""
    expanded: tuple[Annotated[Size, Field(gt=0)], ...] = ()
    """Memory beyond the NPUs' own that it is sold with [B for one NPU]."""
    power: NodePower
    per_rack: Count
    """Nodes that a rack of the list's power holds."""
    introduced: Annotated[int, Field(strict=True, ge=1990, lt=2100)]
    """Year of its introduction."""
    sources: dict[str, str] = {}


NamedNode = Annotated[Node, *named(Node, "nodes")]
