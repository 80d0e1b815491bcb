"""How collectives go on a network, kept from design to design: many designs of a search have the same network.

What the phases of a collective are follows from the dimensions, the algorithms on them, the chunks and their order
(`Network`), and not from the job, but for the sizes of its collectives and the groups that do them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from simcore.design.design import Design
from simcore.design.dimension import Dimension
from simcore.design.library import Kernel, Library
from simcore.design.once import once
from simcore.design.usual_library import npus_library
from simcore.system.phase import Chunks
from simcore.system.phase_cost import PhaseCost
from simcore.system.placement import GroupSlice

_NETWORKS = 128
"""Networks whose collectives are kept."""
_COLLECTIVES = 512
"""Collectives that are kept of a network, a few KB each; then all of them are forgotten."""


class Way(NamedTuple):
    """What the phases of a kind on a group's slice of a dimension share, whatever their size."""

    cost: PhaseCost
    dimension: Dimension
    rate: float
    """See `Chunker.rate_reached`."""
    latency: int
    """Latency of a phase [ps]."""
    kernel: Kernel | None
    """What the dimension's library adds."""
    in_a_row: int
    """See `PhaseCost.in_a_row`."""
    elsewhere: float | None
    """See `PhaseCost.elsewhere_of`; None where that depends on the size."""


@dataclass(frozen=True)
class Network:
    """Collectives of the same kind, size and group go the same on networks that are equal in these."""

    dimensions: tuple[Dimension, ...]
    algorithms: tuple[str, ...]
    library: Library | None
    """Library of the NPUs, for dimensions that name none."""
    computes: bool
    transport: float
    """Share of its rate that the outermost dimension reaches."""
    chunks: int
    inter_dimension: str
    reduction: str
    flat_rate: float


@dataclass(frozen=True, eq=False)
class KnownPhases:
    """What is known of a network: nobody changes what he finds here."""

    ways: dict[tuple[str, GroupSlice, bool], Way] = field(default_factory=dict)
    """By kind, place, and whether the phase is one of two."""
    collectives: dict[Any, Chunks] = field(default_factory=dict)
    """How they go, by kind, group and size."""

    def keep(self, key: Any, found: Chunks) -> Chunks:
        """A collective that was not known."""
        if len(self.collectives) >= _COLLECTIVES:
            self.collectives.clear()
        self.collectives[key] = found
        return found


@once
def known_phases(design: Design) -> KnownPhases:
    """What is known of the network of a design, for all designs that have it.

    Where a switch has a number of trees, which groups have one is the whole job's to say; users' own algorithms, and
    memories that weights stream in from, are not among what tells networks apart. There nothing is shared.
    """
    its = network_of(design)
    return KnownPhases() if its is None else _known(its)


@once
def network_of(design: Design) -> Network | None:
    """What tells the network of a design from others; None where nothing is shared (see `known_phases`)."""
    cluster, system = design.cluster, design.system
    if system.algorithms or design.streamed is not None or any(d.trees is not None for d in cluster.dimensions):
        return None
    return Network(
        cluster.dimensions,
        design.algorithms,
        npus_library(cluster.npu),
        design.workload.computes,
        cluster.transport_share(cluster.dimensions[-1]),
        system.chunks,
        system.inter_dimension,
        system.reduction,
        design.software.flat_rate,
    )


@lru_cache(maxsize=_NETWORKS)
def _known(network: Network) -> KnownPhases:
    return KnownPhases()
