"""How a document spells the fabric between NPUs and the memory nodes of a pool."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from simcore.design.dimension import Tier
from simcore.document.field import Count, Flag, Frozen
from simcore.document.quantity import Bandwidth, Time
from simcore.network import TOPOLOGIES, Block, block


class PoolLevel(Frozen):
    """Switches between NPUs and memory nodes, or a ring, a line or a torus of them."""

    topology: Literal["switch", "ring", "mesh", "torus"] = "switch"
    """How what it joins is linked; all levels but the outermost are switches."""
    size: Count
    """NPUs that each of its switches joins; further out, switches of the level before."""
    bandwidth: Annotated[Bandwidth, Field(gt=0)]
    """Bandwidth of each NPU, or each switch of the level before, towards this level, each direction [B/s]."""
    latency: Annotated[Time, Field(ge=0)] = 0.0
    """One step [s]."""
    tier: Tier = "node"
    """Where its links run, which decides their price."""
    sides: Annotated[tuple[Count, ...], Field(min_length=2, max_length=3)] | None = None
    """Sides of a torus, whose product is its size."""
    wrap: Annotated[tuple[Flag, ...], Field(min_length=2, max_length=3)] | None = None
    """Whether each side of a torus is closed (none is: a mesh); all are unless given."""

    @property
    def block(self) -> Block:
        """Its topology block."""
        given = {key: value for key in ("sides", "wrap") if (value := getattr(self, key)) is not None}
        return block(self.topology, None, 1.0, **given)

    @property
    def switched(self) -> bool:
        """Whether its ports meet at a switch, to which memory nodes are connected; else each has memory nodes."""
        return TOPOLOGIES[self.topology].switched
