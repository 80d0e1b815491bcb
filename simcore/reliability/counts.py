"""How many pieces of a cluster can fail, and how often one of them does.

A job over pieces in series fails at the sum of their rates. Inside a node links count to the NPUs. Between nodes each
switched dimension has the NICs that its nodes are given, else one for each NPU, a link for each NIC, and a switch for
each `leaf` links of a fat tree, else for each `LINKS_OF_SWITCH` links; where NPUs are linked without switches, those of
one NPU fail as one. Bandwidths do not change counts, so a bound over bandwidths is exact in them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from simcore.design.cluster import Cluster
from simcore.design.design import Design
from simcore.design.node import node_of
from simcore.design.once import once
from simcore.design.reliability import FailureTimes
from simcore.network import TOPOLOGIES

LINKS_OF_SWITCH = 32
"""Half of the ports of a switch of 64: the others lead up."""
NPUS_OF_NODE = 8
"""Where nothing says what NPUs are bought in; fewer where the network inside the node joins fewer. Assumed."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Pieces of a cluster that can fail; by the names of `FailureTimes`; software counts by nodes."""

    npu: int
    node: int = 0
    nic: int = 0
    link: int = 0
    switch: int = 0


def counts_of(design: Design) -> Counts:
    """The pieces of a design's cluster."""
    return _count(design.cluster)


@once
def _count(cluster: Cluster) -> Counts:
    nics, links, switches, inside = 0, 0, 0, 1
    for dimension in cluster.dimensions:
        if dimension.tier == "pod":
            here = cluster.npus if dimension.nics is None else dimension.nics * (cluster.npus // inside)
            links += here
            if TOPOLOGIES[dimension.topology].switched:
                nics += here
                switches += -(-here // (dimension.leaf or LINKS_OF_SWITCH))
        inside *= dimension.size
    return Counts(cluster.npus, -(-cluster.npus // node_size(cluster)), nics, links, switches)


def node_size(cluster: Cluster) -> int:
    """NPUs of a node: of what they are bought in, where that is known."""
    if (node := node_of(cluster)) is not None:
        return node.size
    inside = math.prod(dimension.size for dimension in cluster.dimensions if dimension.tier != "pod")
    return min(inside, NPUS_OF_NODE) if inside > 1 else NPUS_OF_NODE


def failure_rate(mtbf: FailureTimes, counts: Counts) -> float:
    """Failures of all pieces that stop the job [1/s]."""
    hardware = sum(_rate(getattr(mtbf, piece.name), getattr(counts, piece.name)) for piece in fields(counts))
    return hardware + software_rate(mtbf, counts)


def software_rate(mtbf: FailureTimes, counts: Counts) -> float:
    """Rate of failures after which no node is missing [1/s]."""
    return _rate(mtbf.software, counts.node)


def _rate(between: float | None, pieces: int) -> float:
    return 0.0 if between is None else pieces / between


@once
def mtbf_of(design: Design) -> float | None:
    """Mean time between failures that stop a job on the whole cluster [s]; None where nothing fails."""
    rate = failure_rate(design.reliability.mtbf, counts_of(design))
    return 1.0 / rate if rate else None
