"""How a document spells memory beyond an NPU's own: expanded, pooled, what is offloaded to it; and the margin kept."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from simcore.design.pool import PoolLevel
from simcore.document.field import Count, Flag, Frozen
from simcore.document.quantity import Bandwidth, Size, Time


class ExpandedMemory(Frozen):
    """Memory that NPUs reach over a link of their own, or share as a pool."""

    capacity: Annotated[Size, Field(gt=0)]
    """Total capacity, shared by all NPUs that use it [B]."""
    bandwidth: Annotated[Bandwidth, Field(gt=0)]
    """Bandwidth of its link or port, of all its memory nodes together, each direction [B/s]."""
    latency: Annotated[Time, Field(ge=0)] = 0.0
    """Latency before a transfer begins [s]."""
    shared_by: Count = 1
    """NPUs that share capacity and bandwidth: 1 is a memory of each NPU, the NPUs of a node or all of them a pool."""
    edge: Flag = False
    """Its controllers sit along the edge of the mesh of the first two dimensions, and each reaches all NPUs over it."""
    fabric: tuple[PoolLevel, ...] = ()
    """What leads from the NPUs that share it to its memory nodes, level by level; unless given nothing that limits."""
    in_network: Flag = False
    """The fabric copies what NPUs have in common on its way to them, and adds up their gradients on the way back."""
    place: Annotated[tuple[Literal["spill", "optimizer", "activations", "weights"], ...], Field(min_length=1)] = (
        "spill",
    )
    """`[spill]`: what the NPU's own memory cannot hold; or the parts that lie here, moved while the NPU computes.
    `[weights, optimizer]`: ZeRO-3's shards lie here. Each layer's weights stream in before their use, its gradients
    leave."""
    updates: Flag = False
    """Compute of its own updates the weights that lie here, as fast as gradients arrive; else the NPUs do, and the
    optimizer's states cross its link."""

    @property
    def spills(self) -> bool:
        """Whether it takes what the NPU's own memory cannot hold."""
        return "spill" in self.place

    @property
    def streams(self) -> bool:
        """Whether weights stream in from it, and gradients leave for it."""
        return "weights" in self.place

    @property
    def share(self) -> float:
        """Capacity of one NPU [B]."""
        return self.capacity / self.shared_by

    @property
    def rate(self) -> float:
        """Bandwidth of one NPU while all that share do the same [B/s]."""
        return self.bandwidth / self.shared_by


class ClusterMemory(Frozen):
    """Memory of each NPU beyond what the NPU's entry says."""

    capacity: Annotated[Size, Field(gt=0)] | None = None
    """The NPU's own memory [B], at least that of its entry, whose bandwidth it keeps; what is more is priced."""
    fragmentation: Annotated[float, Field(strict=True, ge=0, lt=1)] | None = None
    """Share of the NPU's usable memory that the allocator loses, in place of the software stack's slack."""
    expanded: ExpandedMemory | None = None
    """Further memory, beside that of the NPU."""
